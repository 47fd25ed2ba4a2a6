import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { parseSenderScript, type Senders } from '../../src/core/blob/sender.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { auditOf } from './audit-of.ts';
import { type CatalogSetup, HandClock, openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const SMALL_ONLY = new ArchiveRule({ maxBlobBytes: 1_000, allowed: null });
const large = sighting('large', { sizeBytes: 1_001 });
const small = sighting('small', { sizeBytes: 1_000 });
const name = { hashType: 'keccak256', versionHash: large.versionHash } as const;
const DOCUMENT = 'not-archived/0.json';

function open(setup: CatalogSetup = {}): Catalog {
  const catalog = openCatalog({ rule: SMALL_ONLY, ...setup });
  catalog.chain.recordStart(7);
  return catalog;
}

function blockAt(height: number, medianTimeSeconds: number, mined: readonly (typeof large)[], senders: Senders = null) {
  const occurrences = mined.map(({ versionHash, txid }, transactionIndex) => {
    if (txid === null) throw new Error('a sighting has a transaction');
    const place = { txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
    return { hashType: 'keccak256' as const, versionHash, senders, ...place };
  });
  const [hash, previousHash] = [parseBlockHash(`0${height}`.repeat(32)), parseBlockHash(`0${height - 1}`.repeat(32))];
  return { height, hash, previousHash, timeSeconds: 1, medianTimeSeconds, occurrences, unclear: [] };
}

/** Block 7 has these. */
function walk(catalog: Catalog, ...mined: readonly (typeof large)[]): void {
  catalog.chain.recordBlocks([blockAt(7, large.medianTimeSeconds, mined)], () => false);
}

const queued = (catalog: Catalog) => catalog.nextQueued(10).map(({ versionHash }) => versionHash);

describe('a blob that the rule leaves out', () => {
  test('is in no queue, and is neither missing, unsaved nor lost; so it is after a restart', async () => {
    const folder = temporaryFolder();
    const catalog = open({ folder });
    expect(catalog.noteListed([large, small])).toBe(1);
    walk(catalog, large, small);
    catalog.recordSpooled([spooled('small', 'keccak256', small)]);
    const [entry] = catalog.find(small.versionHash);
    if (entry === undefined) throw new Error('the catalog lost a row');
    catalog.recordProven('local', [entry]);
    const look = async (one: Catalog) => {
      const snapshot = one.snapshot();
      const blocks = [...snapshot.inventory(0, 100)].flat();
      snapshot.close();
      return {
        queued: queued(one),
        totals: one.totals(),
        unsaved: one.answers.firstUnsavedHeight(0),
        audit: await auditOf(one),
        held: blocks.map(({ occurrences }) => [occurrences.at(69), occurrences.at(139)]),
        leftOut: one.leftOut.find(large.versionHash),
        summary: one.leftOut.summary,
        lost: one.losses.count(),
      };
    };
    const seen = await look(catalog);
    expect(seen).toMatchObject({
      queued: [],
      totals: { seen: 0, spooled: 0, stored: 1 },
      unsaved: null,
      audit: { occurrences: { stored: 1, pending: 0, lost: 0, 'not-archived-by-rule': 1 }, findings: [] },
      // Codes of `HOLDINGS`: not archived by rule, and stored.
      held: [[5, 1]],
      leftOut: { sizeBytes: 1_001, rule: 'Only blobs of at most 1000 bytes are archived.' },
      summary: { count: 1 },
      lost: 0,
    });
    catalog.close();
    expect(await look(openCatalog({ folder, rule: SMALL_ONLY }))).toEqual(seen);
  });

  test('leaves the queue where a block named it before a list told its size, and is not asked for meanwhile', () => {
    const catalog = open();
    walk(catalog, large, small);
    expect(queued(catalog)).toEqual([]);
    catalog.noteListed([large, small]);
    expect(queued(catalog)).toEqual([small.versionHash]);
    expect(catalog.leftOut.has(large.versionHash)).toBe(true);
    expect(catalog.totals().seen).toBe(1);
  });

  test('is queued when the rule leaves it out no more and the node lists it still', () => {
    const folder = temporaryFolder();
    const catalog = open({ folder });
    catalog.noteListed([large]);
    walk(catalog, large);
    catalog.close();
    const loosened = openCatalog({ folder, rule: ArchiveRule.EVERYTHING });
    expect(queued(loosened)).toEqual([]);
    expect(loosened.leftOut.summary.count).toBe(1);
    expect(loosened.noteListed([large])).toBe(1);
    expect(loosened.nextQueued(10)).toMatchObject([{ versionHash: large.versionHash, hashType: 'keccak256' }]);
    expect(loosened.leftOut.summary).toEqual({ count: 0, sinceMs: null });
  });

  test('is archived when its bytes come all the same, and is never left out again', () => {
    const catalog = open();
    catalog.noteListed([large]);
    walk(catalog, large);
    catalog.recordSpooled([spooled('large', 'keccak256', large)]);
    expect(catalog.find(large.versionHash)).toMatchObject([{ state: 'spooled' }]);
    expect(catalog.leftOut.has(large.versionHash)).toBe(false);
    expect(catalog.evidence.find(DOCUMENT)).toMatchObject({ blobs: [] });
    // The last copy is gone: the blob was archived, and is fetched again whatever the rule says.
    catalog.recordDamaged('local', name);
    catalog.noteListed([large]);
    expect(queued(catalog)).toEqual([large.versionHash]);
  });

  test('cannot be recorded as lost', () => {
    const catalog = open();
    catalog.noteListed([large]);
    walk(catalog, large);
    catalog.losses.record([{ ...name, upToHeight: 7, deadlineSeconds: 1, answers: [] }]);
    expect([catalog.losses.count(), catalog.losses.find(name)]).toEqual([0, null]);
  });

  test('is not left out where an earlier catalog recorded it as lost, and is counted once', async () => {
    const before = open({ rule: ArchiveRule.EVERYTHING });
    walk(before, large);
    before.losses.record([{ ...name, upToHeight: 7, deadlineSeconds: 1, answers: [] }]);
    const documents = before.evidence.page('', 10);
    const after = open();
    after.noteListed([large]);
    walk(after, large);
    after.losses.adoptEvidence(documents);
    expect([after.losses.count(), after.leftOut.summary.count]).toEqual([1, 0]);
    expect((await auditOf(after)).occurrences).toMatchObject({ lost: 1, pending: 0, 'not-archived-by-rule': 0 });
  });

  test('is left out by a catalog that was made again, by the evidence of the one before', () => {
    const before = open();
    before.noteListed([large]);
    walk(before, large);
    const document = JSON.stringify(before.evidence.find(DOCUMENT));
    const after = open({ rule: ArchiveRule.EVERYTHING });
    walk(after, large);
    expect(queued(after)).toEqual([large.versionHash]);
    after.losses.adoptEvidence([{ path: DOCUMENT, document }]);
    expect([queued(after), after.leftOut.summary.count]).toEqual([[], 1]);
    expect(after.leftOut.find(large.versionHash)).toMatchObject({ sizeBytes: 1_001, rule: SMALL_ONLY.says });
  });

  test('is left out by such evidence also where the new catalog wrote of the same blocks before it was read', () => {
    const [first, second] = ['first', 'second'].map((label) => sighting(label, { sizeBytes: 2_000 }));
    if (first === undefined || second === undefined) throw new Error('there are two');
    const before = open();
    before.noteListed([first, second]);
    walk(before, first, second);
    const document = JSON.stringify(before.evidence.find(DOCUMENT));
    // The node lists only one of them still.
    const after = open();
    after.noteListed([second]);
    walk(after, first, second);
    expect(after.evidence.find(DOCUMENT)).toMatchObject({ blobs: [{ versionHash: second.versionHash }] });
    after.losses.adoptEvidence([{ path: DOCUMENT, document }]);
    expect([first, second].map(({ versionHash }) => after.leftOut.has(versionHash))).toEqual([true, true]);
    const named = JSON.stringify(after.evidence.find(DOCUMENT));
    expect([first, second].map(({ versionHash }) => named.includes(versionHash))).toEqual([true, true]);
  });

  test('is not taken from such evidence where the node lists it, and a looser rule archives it', () => {
    const before = open();
    before.noteListed([large]);
    walk(before, large);
    const document = JSON.stringify(before.evidence.find(DOCUMENT));
    const after = open({ rule: ArchiveRule.EVERYTHING });
    after.noteListed([large]);
    after.losses.adoptEvidence([{ path: DOCUMENT, document }]);
    expect([queued(after), after.leftOut.summary.count]).toEqual([[large.versionHash], 0]);
  });

  test('is none of which custom bytes are kept', () => {
    const catalog = open();
    catalog.custom.record({ versionHash: large.versionHash, keccak: small.versionHash }, 1_001, 'local');
    catalog.noteListed([large]);
    expect(catalog.leftOut.has(large.versionHash)).toBe(false);
  });

  test('is not taken from such evidence where its bytes are held by now', () => {
    const before = open();
    before.noteListed([large]);
    walk(before, large);
    const document = JSON.stringify(before.evidence.find(DOCUMENT));
    const after = open();
    after.recordSpooled([spooled('large', 'keccak256', large)]);
    after.losses.adoptEvidence([{ path: DOCUMENT, document }]);
    expect(after.leftOut.summary.count).toBe(0);
    expect(after.find(large.versionHash)).toMatchObject([{ state: 'spooled' }]);
  });

  test('is named in its document once, however many a list leaves out or lets in at once', () => {
    const folder = temporaryFolder();
    const many = Array.from({ length: 20 }, (_, index) => sighting(`many ${index}`, { sizeBytes: 2_000 }));
    const catalog = open({ folder });
    walk(catalog, ...many);
    const states = (one: Catalog) => one.evidence.page('', 10).map(({ sequence }) => sequence);
    expect(states(catalog)).toEqual([]);
    catalog.noteListed(many);
    expect(states(catalog)).toEqual([1]);
    expect(catalog.evidence.find(DOCUMENT)).toHaveProperty('blobs.length', 20);
    catalog.close();
    const loosened = openCatalog({ folder, rule: ArchiveRule.EVERYTHING });
    loosened.noteListed(many);
    expect(states(loosened)).toEqual([2]);
    expect(loosened.evidence.find(DOCUMENT)).toMatchObject({ blobs: [] });
  });

  test('is no spam that is forgotten when a block of history has it', () => {
    const catalog = open();
    walk(catalog);
    const old = sighting('old', { sizeBytes: 2_000, medianTimeSeconds: 1 });
    catalog.noteListed([old]);
    catalog.chain.recordHistory([blockAt(6, 1, [old])]);
    expect(catalog.bounded.enforce()['leftOutUnmined']).toBe(0);
    expect(catalog.leftOut.has(old.versionHash)).toBe(true);
    expect(catalog.evidence.find(DOCUMENT)).toMatchObject({ blobs: [{ versionHash: old.versionHash }] });
  });

  test('is forgotten when the only block that had it was taken back', () => {
    const catalog = open();
    catalog.noteListed([large]);
    walk(catalog, large);
    catalog.chain.takeBack(6);
    catalog.chain.recordBlocks([blockAt(7, large.medianTimeSeconds + 16 * 86_400, [])], () => false);
    expect(catalog.bounded.enforce()['leftOutUnmined']).toBe(1);
    expect(catalog.leftOut.summary.count).toBe(0);
  });

  test('is forgotten when no block ever had it, and kept when one has', () => {
    const catalog = open();
    const spam = sighting('spam', { sizeBytes: 2_000, medianTimeSeconds: 1 });
    catalog.noteListed([large, spam]);
    walk(catalog, large);
    expect(catalog.bounded.enforce()['leftOutUnmined']).toBe(1);
    expect([catalog.leftOut.has(spam.versionHash), catalog.leftOut.has(large.versionHash)]).toEqual([false, true]);
    expect(catalog.leftOut.summary.count).toBe(1);
  });
});

test('an allow-list is judged by the name alone: what a block names and no list does is left out too', () => {
  const rule = new ArchiveRule({ maxBlobBytes: null, allowed: new Set([small.versionHash]) });
  const catalog = open({ rule });
  walk(catalog, large, small);
  expect(queued(catalog)).toEqual([small.versionHash]);
  expect(catalog.leftOut.find(large.versionHash)).toMatchObject({ sizeBytes: null, txid: large.txid });
});

test('nothing is left out without a rule', () => {
  const catalog = open({ rule: ArchiveRule.EVERYTHING });
  expect(catalog.noteListed([large, small])).toBe(2);
  expect([catalog.leftOut.rule, catalog.leftOut.summary]).toEqual([null, { count: 0, sinceMs: null }]);
});

describe('a rule by sender', () => {
  const [ours, theirs] = [parseSenderScript('5101'), parseSenderScript('5102')];
  const BY_SENDER = new ArchiveRule({ maxBlobBytes: 1_000, allowed: null, senders: new Set([ours]) });
  const openBySender = () => open({ rule: BY_SENDER });
  const listed = { ...large, mayWait: true };
  const mine = (catalog: Catalog, height: number, senders: Senders, isPast = false) =>
    catalog.chain.recordBlocks([blockAt(height, large.medianTimeSeconds, [large], senders)], () => isPast);
  const leftOut = (catalog: Catalog) => catalog.leftOut.has(large.versionHash);

  test('lets a large blob wait ten minutes for its block, and a small one not', () => {
    const clock = new HandClock();
    const catalog = open({ rule: BY_SENDER, clock });
    expect(catalog.noteListed([listed, { ...small, mayWait: true }])).toBe(2);
    expect([queued(catalog), leftOut(catalog)]).toEqual([[small.versionHash], false]);
    // A list that names it again, with another time, neither begins the wait again nor ends it.
    clock.ms += 599_000;
    catalog.noteListed([{ ...listed, medianTimeSeconds: listed.medianTimeSeconds + 1 }]);
    expect(queued(catalog)).toEqual([small.versionHash]);
    clock.ms += 2_000;
    expect(queued(catalog)).toContain(large.versionHash);
  });

  test('does not let a blob wait that has little of its window left', () => {
    const catalog = openBySender();
    catalog.noteListed([large]);
    expect(queued(catalog)).toEqual([large.versionHash]);
  });

  test.each<[string, Senders]>([
    ['one of the senders', [theirs, ours]],
    ['an unknown sender', null],
  ])('asks at once for a blob that the block shows to be of %s', (_what, senders) => {
    const catalog = openBySender();
    catalog.noteListed([listed]);
    mine(catalog, 7, senders);
    expect([queued(catalog), leftOut(catalog)]).toEqual([[large.versionHash], false]);
    // The list names it once more, with the time of the block.
    catalog.noteListed([{ ...listed, medianTimeSeconds: listed.medianTimeSeconds + 1 }]);
    expect([queued(catalog), leftOut(catalog)]).toEqual([[large.versionHash], false]);
  });

  test('leaves out a blob of another sender, with its senders in the evidence', () => {
    const catalog = openBySender();
    catalog.noteListed([listed]);
    mine(catalog, 7, [theirs]);
    expect([queued(catalog), leftOut(catalog), catalog.totals().seen]).toEqual([[], true, 0]);
    expect(catalog.evidence.find(DOCUMENT)).toMatchObject({
      blobs: [{ versionHash: large.versionHash, sizeBytes: large.sizeBytes, senders: [theirs], rule: BY_SENDER.says }],
    });
    catalog.noteListed([{ ...listed, medianTimeSeconds: listed.medianTimeSeconds + 1 }]);
    expect(leftOut(catalog)).toBe(true);
  });

  test('judges by size what a block named before a list did', () => {
    const catalog = openBySender();
    mine(catalog, 7, [theirs]);
    expect([queued(catalog), leftOut(catalog)]).toEqual([[], false]);
    catalog.noteListed([listed]);
    expect(leftOut(catalog)).toBe(true);
  });

  test('takes in a blob that another sender brought first, once its own transaction is in a block', () => {
    const catalog = openBySender();
    catalog.noteListed([listed]);
    mine(catalog, 7, [theirs]);
    expect(leftOut(catalog)).toBe(true);
    mine(catalog, 8, [ours]);
    expect([queued(catalog), leftOut(catalog)]).toEqual([[large.versionHash], false]);
    expect(catalog.evidence.find(DOCUMENT)).toMatchObject({ blobs: [] });
    // Nor does the other sender push it out again.
    mine(catalog, 9, [theirs]);
    expect([queued(catalog), leftOut(catalog)]).toEqual([[large.versionHash], false]);
  });

  test('takes out of the evidence a blob whose block was taken back and whose next block has our sender', () => {
    const catalog = openBySender();
    catalog.noteListed([listed]);
    mine(catalog, 7, [theirs]);
    expect(catalog.evidence.find(DOCUMENT)).toMatchObject({ blobs: [{ versionHash: large.versionHash }] });
    catalog.chain.takeBack(6);
    expect([leftOut(catalog), catalog.evidence.find(DOCUMENT)]).toMatchObject([true, { blobs: [] }]);
    mine(catalog, 7, [ours]);
    expect([leftOut(catalog), catalog.evidence.find(DOCUMENT)]).toMatchObject([false, { blobs: [] }]);
  });

  test('keeps out what was left out, over a reorganisation and in a block of a past window', () => {
    const catalog = openBySender();
    catalog.noteListed([listed]);
    mine(catalog, 7, [theirs]);
    catalog.chain.takeBack(6);
    mine(catalog, 7, [theirs]);
    expect(leftOut(catalog)).toBe(true);
    // No node has the bytes of a past window, and none is asked about its senders: this must make no loss.
    mine(catalog, 8, null, true);
    expect([queued(catalog), leftOut(catalog), catalog.totals().seen]).toEqual([[], true, 0]);
  });

  test('counts as missing what was left out and a sender of the rule brought into a block of a past window', () => {
    const catalog = openBySender();
    catalog.noteListed([listed]);
    expect(catalog.leftOut.waitsForOtherSenders(large.versionHash)).toBe(false);
    mine(catalog, 7, [theirs]);
    expect(catalog.leftOut.waitsForOtherSenders(large.versionHash)).toBe(true);
    mine(catalog, 8, [theirs], true);
    expect(leftOut(catalog)).toBe(true);
    mine(catalog, 9, [ours], true);
    expect([leftOut(catalog), catalog.findQueued(large.versionHash)]).toMatchObject([false, { hashType: 'keccak256' }]);
  });
});

test('a blob that waits for its size is asked for when a list has had time to name it, and not later', () => {
  const clock = new HandClock();
  const catalog = open({ clock });
  walk(catalog, large);
  expect([queued(catalog), catalog.queueIdleMs(clock.ms)]).toEqual([[], 15_000]);
  clock.ms += 15_000;
  expect(queued(catalog)).toEqual([large.versionHash]);
});

describe('two sizes of a blob', () => {
  const told = (sizeBytes: number) => ({ ...large, sizeBytes });

  test('let it in when the later one is small enough, whatever is listed after that', () => {
    const catalog = open();
    catalog.noteListed([told(5_000)]);
    expect(catalog.leftOut.isContradicted(told(4_000))).toBe(false);
    expect(catalog.leftOut.isContradicted(told(900))).toBe(true);
    catalog.noteListed([told(900)]);
    expect([queued(catalog), catalog.leftOut.summary.count]).toEqual([[large.versionHash], 0]);
    catalog.noteListed([told(5_000)]);
    catalog.noteListed([told(6_000)]);
    expect([queued(catalog), catalog.leftOut.summary.count]).toEqual([[large.versionHash], 0]);
  });

  test('contradict nothing without a rule, nor where a rule by name leaves it out', () => {
    const folder = temporaryFolder();
    const before = open({ folder, rule: new ArchiveRule({ maxBlobBytes: null, allowed: new Set() }) });
    before.noteListed([told(5_000)]);
    expect(before.leftOut.isContradicted(told(900))).toBe(false);
    before.close();
    const after = open({ folder, rule: ArchiveRule.EVERYTHING });
    expect(after.leftOut.isContradicted(told(900))).toBe(false);
  });
});
