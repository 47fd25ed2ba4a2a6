import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { isPurge, parseWithheldDocument } from '../../src/catalog/withheld-document.ts';
import type { WithheldEntry } from '../../src/catalog/withheld-ledger.ts';
import { HASH_TYPES, parseBlockHash } from '../../src/core/blob/ids.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { auditOf } from './audit-of.ts';
import { openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const OURS = 'aa'.repeat(8);
const blob = spooled('a');
const name = { hashType: blob.hashType, versionHash: blob.versionHash };
const takenDown: WithheldEntry = {
  ...name,
  archiver: OURS,
  reason: 'court order 17',
  publicReason: null,
  atMs: 1_767_225_600_000,
  purge: false,
};
const PATH = `withheld/keccak256/${name.versionHash}.json`;
const BACKENDS = ['local', 's3'];

function entryIn(catalog: Catalog) {
  const [entry] = catalog.find(name.versionHash);
  if (entry === undefined) throw new Error('the catalog lost a row');
  return entry;
}

/** Stored on both backends, and mined in block 7. */
function storedCatalog(folder = temporaryFolder()): Catalog {
  const catalog = openCatalog({ folder, backends: BACKENDS });
  catalog.chain.recordStart(7);
  walk(catalog);
  catalog.recordSpooled([blob]);
  for (const backend of BACKENDS) catalog.recordProven(backend, [entryIn(catalog)]);
  expect(entryIn(catalog).state).toBe('stored');
  return catalog;
}

function walk(catalog: Catalog): void {
  const { txid, medianTimeSeconds } = sighting('a');
  if (txid === null) throw new Error('a sighting has a transaction');
  const occurrence = { ...name, txid, vout: 1, transactionIndex: 2, makeRecord: () => '{}' };
  const hashes = { hash: parseBlockHash('07'.repeat(32)), previousHash: parseBlockHash('06'.repeat(32)) };
  const block = { height: 7, ...hashes, timeSeconds: 1, medianTimeSeconds: medianTimeSeconds ?? 0 };
  catalog.chain.recordBlocks([{ ...block, occurrences: [occurrence], unclear: [] }], () => false);
}

describe('withheld content', () => {
  test('leaves every queue and count, and is an audit class of its own; so it does after a restart', async () => {
    const folder = temporaryFolder();
    const catalog = storedCatalog(folder);
    catalog.withheld.record([takenDown], true);
    const look = async (one: Catalog) => ({
      totals: one.totals(),
      state: entryIn(one).state,
      placements: one.placementsOf(entryIn(one)),
      wanted: one.nextQueued(10),
      damaged: BACKENDS.map((backend) => one.replicas.damagedCount(backend)),
      audit: (await auditOf(one)).occurrences,
      findings: (await auditOf(one)).findings,
      unsaved: one.answers.firstUnsavedHeight(0),
      list: one.withheld.list(),
    });
    const seen = await look(catalog);
    expect(seen).toEqual({
      totals: { seen: 0, spooled: 0, stored: 0, storedBytes: 0 },
      state: 'seen',
      placements: [],
      wanted: [],
      damaged: [0, 0],
      audit: { stored: 0, pending: 0, custom: 0, lost: 0, withheld: 1, 'not-archived-by-rule': 0 },
      findings: [],
      unsaved: null,
      list: [takenDown],
    });
    catalog.close();
    expect(await look(openCatalog({ folder, backends: BACKENDS }))).toEqual(seen);
  });

  test('comes back by no way: a list, a block, a listing, found bytes, damage, a new backend', () => {
    const folder = temporaryFolder();
    const catalog = storedCatalog(folder);
    const entry = entryIn(catalog);
    catalog.withheld.record([takenDown], true);
    expect(catalog.noteListed([sighting('a')])).toBe(0);
    catalog.recordSpooled([blob]);
    catalog.replicas.recordFound('s3', [blob]);
    catalog.recordProven('s3', [entry]);
    catalog.recordDamaged('s3', name);
    catalog.chain.takeBack(6);
    walk(catalog);
    catalog.close();
    const again = openCatalog({ folder, backends: [...BACKENDS, 'ipfs'] });
    expect(entryIn(again).state).toBe('seen');
    expect(again.placementsOf(entryIn(again))).toEqual([]);
    expect(again.nextQueued(10)).toEqual([]);
    expect(again.totals()).toEqual({ seen: 0, spooled: 0, stored: 0, storedBytes: 0 });
  });

  test('keeps nothing else out: what comes in the same commit or is queued for a new backend does', () => {
    const folder = temporaryFolder();
    const catalog = storedCatalog(folder);
    catalog.withheld.record([takenDown], true);
    expect(catalog.noteListed([sighting('a'), sighting('b')])).toBe(1);
    catalog.recordSpooled([blob, spooled('b'), spooled('c')]);
    expect(catalog.totals()).toMatchObject({ seen: 0, spooled: 2 });
    catalog.close();
    const again = openCatalog({ folder, backends: [...BACKENDS, 'ipfs'] });
    expect(again.replicas.queued('ipfs')).toBe(2);
    expect(again.totals()).toMatchObject({ seen: 0, spooled: 2 });
  });

  test('before anybody saw it is never queued, and never lost', async () => {
    const catalog = openCatalog({ backends: BACKENDS });
    catalog.withheld.record([takenDown], true);
    catalog.chain.recordStart(7);
    walk(catalog);
    expect(catalog.noteListed([sighting('a')])).toBe(0);
    expect(catalog.losses.overdue(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
    expect(catalog.find(name.versionHash)).toEqual([]);
    expect(await auditOf(catalog)).toMatchObject({ occurrences: { withheld: 1, pending: 0 } });
  });

  test('counts as lost no more, and as lost again when the take-down ends', async () => {
    const catalog = openCatalog({ backends: BACKENDS });
    catalog.chain.recordStart(7);
    walk(catalog);
    catalog.losses.record([{ ...name, upToHeight: 7, deadlineSeconds: 1, answers: [] }]);
    catalog.withheld.record([takenDown], true);
    expect([catalog.losses.count(), (await auditOf(catalog)).occurrences.lost]).toEqual([0, 0]);
    catalog.withheld.revoke([takenDown], true, 0);
    expect([catalog.losses.count(), (await auditOf(catalog)).occurrences.lost]).toEqual([1, 1]);
  });

  test('is evidence in the commit that records it, and its revocation too', () => {
    const catalog = storedCatalog();
    catalog.copies.useBackends(['local', 's3']);
    catalog.withheld.record([takenDown], true);
    const said = { format: 1, ...name, reason: 'court order 17', at: '2026-01-01T00:00:00.000Z', revokedAt: null };
    expect(catalog.evidence.find(PATH)).toEqual(said);
    catalog.withheld.revoke([takenDown], true, 1_767_225_600_000 + 1_000);
    expect(catalog.evidence.find(PATH)).toEqual({ ...said, revokedAt: '2026-01-01T00:00:01.000Z' });
    expect(catalog.evidence.waitingFor('s3')).toBe(1);
  });

  test('says in its evidence that its bytes are purged, also when it is said again without, until it is revoked', () => {
    const catalog = storedCatalog();
    catalog.withheld.record([{ ...takenDown, purge: true }], true);
    expect(isPurge(catalog.evidence.find(PATH), name)).toBe(true);
    catalog.withheld.record([{ ...takenDown, reason: 'court order 18' }], true);
    expect(catalog.evidence.find(PATH)).toMatchObject({ reason: 'court order 18', purge: true });
    expect(isPurge(catalog.evidence.find(PATH), { ...name, hashType: 'blake2s256' })).toBe(false);
    catalog.withheld.revoke(catalog.withheld.list(), true, 0);
    expect(isPurge(catalog.evidence.find(PATH), name)).toBe(false);
    catalog.withheld.record([takenDown], true);
    expect(catalog.evidence.find(PATH)).not.toHaveProperty('purge');
  });

  test('is no evidence of this archiver where another one withholds, and ends when both have ended it', () => {
    const catalog = storedCatalog();
    const theirs = { ...takenDown, archiver: 'bb'.repeat(8), reason: 'theirs' };
    catalog.withheld.record([theirs], false);
    expect(catalog.evidence.find(PATH)).toBeNull();
    catalog.withheld.record([takenDown], true);
    expect(catalog.withheld.summary.count).toBe(1);
    expect(catalog.withheld.revoke([takenDown], true, 0)).toEqual([]);
    expect(catalog.withheld.has(name)).toBe(true);
    expect(catalog.noteListed([sighting('a')])).toBe(0);
    expect(catalog.withheld.revoke([theirs], false, 0)).toEqual([name]);
    expect(catalog.withheld.has(name)).toBe(false);
  });

  test('is queued, and named once, where two archivers end it in one reading', () => {
    const catalog = storedCatalog();
    const theirs = ['bb', 'cc'].map((id) => ({ ...takenDown, archiver: id.repeat(8) }));
    catalog.withheld.record(theirs, false);
    expect(catalog.withheld.revoke(theirs, false, 0)).toEqual([name]);
    expect(catalog.withheld.has(name)).toBe(false);
    expect(catalog.nextQueued(10)).toMatchObject([{ versionHash: name.versionHash }]);
    expect(catalog.placementsOf(entryIn(catalog))).toMatchObject([{ state: 'damaged' }, { state: 'wanted' }]);
    expect(catalog.answers.firstUnsavedHeight(0)).toBe(7);
  });

  test('is queued by one revocation that ends it for both hash types', () => {
    const catalog = openCatalog({ backends: BACKENDS });
    const both = HASH_TYPES.map((hashType) => ({ ...takenDown, hashType }));
    catalog.withheld.record(both, true);
    catalog.chain.recordStart(7);
    walk(catalog);
    catalog.withheld.revoke(both, true, 0);
    expect(catalog.nextQueued(10)).toMatchObject([{ versionHash: name.versionHash, hashType: 'keccak256' }]);
  });

  test('let in again is wanted, and held where it is found', () => {
    const catalog = storedCatalog();
    catalog.withheld.record([takenDown], true);
    catalog.withheld.revoke([takenDown], true, 0);
    expect(catalog.nextQueued(10)).toMatchObject([{ versionHash: name.versionHash, hashType: 'keccak256' }]);
    expect(catalog.totals()).toMatchObject({ seen: 1, spooled: 0, stored: 0 });
    catalog.recordSpooled([blob]);
    catalog.replicas.recordFound('s3', [blob]);
    expect(entryIn(catalog).state).toBe('stored');
    expect(catalog.nextQueued(10)).toEqual([]);
    expect(catalog.totals()).toEqual({ seen: 0, spooled: 0, stored: 1, storedBytes: blob.sizeBytes });
  });

  test('is found by the name that a client knows, of either hash type', () => {
    const catalog = openCatalog();
    catalog.withheld.record([takenDown], true);
    const { versionHash } = name;
    expect(catalog.withheld.has({ versionHash, hashType: null })).toBe(true);
    expect(catalog.withheld.has({ versionHash, hashType: 'blake2s256' })).toBe(false);
    expect(catalog.withheld.typesOf({ versionHash: sighting('b').versionHash, hashType: null }, [])).toHaveLength(2);
    expect(catalog.withheld.typesOf({ versionHash, hashType: null }, ['blake2s256'])).toEqual(['blake2s256']);
  });

  test('has a reason for publication beside the private one, in the evidence and after a restart, until it is said again', () => {
    const folder = temporaryFolder();
    const catalog = openCatalog({ folder });
    catalog.withheld.record([takenDown], true);
    expect(catalog.withheld.publicReason(name)).toBeNull();
    expect(catalog.evidence.find(PATH)).not.toHaveProperty('publicReason');
    const publicly = { ...takenDown, publicReason: 'A court in X said so.' };
    catalog.withheld.record([publicly], true);
    // Another archiver that gives no reason for publication takes none away.
    catalog.withheld.record([{ ...takenDown, archiver: '00'.repeat(8) }], false);
    expect(openCatalog({ folder }).withheld.publicReason({ ...name, hashType: null })).toBe('A court in X said so.');
    const document = catalog.evidence.find(PATH);
    expect(document).toMatchObject({ reason: 'court order 17', publicReason: 'A court in X said so.' });
    catalog.withheld.record([takenDown], true);
    expect(catalog.withheld.publicReason(name)).toBeNull();
    expect(catalog.evidence.find(PATH)).not.toHaveProperty('publicReason');
  });

  test.each([
    [undefined, null],
    [null, null],
    ['A court in X said so.', 'A court in X said so.'],
    ['two\nlines', null],
    ['\u001b[2Jcleared', null],
    ['turned \u202Earound', null],
    ['x'.repeat(301), null],
    [' ', null],
    [17, null],
  ])('a record with %j for publication is in force, and publishes %j', (publicReason, published) => {
    const document = { format: 1, ...name, reason: 'r', publicReason, at: new Date(0).toISOString(), revokedAt: null };
    expect(parseWithheldDocument(JSON.stringify(document))).toMatchObject({ ...name, publicReason: published });
  });

  test('again changes the reason, keeps the time, and never takes a purge back', () => {
    const catalog = openCatalog();
    catalog.withheld.record([{ ...takenDown, purge: true }], true);
    catalog.withheld.record([{ ...takenDown, reason: 'court order 18', atMs: 5 }], true);
    expect(catalog.withheld.list()).toEqual([{ ...takenDown, reason: 'court order 18', purge: true }]);
  });
});
