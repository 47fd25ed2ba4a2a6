import { expect, test } from 'vitest';
import type { SourceAnswer } from '../../src/backfill/source/backfill-source.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { Inventories } from '../../src/federation/inventories.ts';
import { Peer } from '../../src/federation/peer.ts';
import { PeerAudit } from '../../src/federation/peer-audit.ts';
import { PeerClaims } from '../../src/federation/peer-claims.ts';
import { PeerComparer } from '../../src/federation/peer-comparison.ts';
import { PeerStatements } from '../../src/federation/peer-statements.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { type VerifiedBlob, verifyBlob } from '../../src/verify/verified-blob.ts';
import { openCatalog } from '../catalog/catalog-in-folder.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';

const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
const START_MS = 1_790_000_000_000;
const CLOCK = { wallMs: () => START_MS, steadyMs: () => 0 };
const BLOBS = Array.from({ length: 12 }, (_, index) => sampleBlob(`compared ${index}`, 40 + index));

type Kept = (blob: VerifiedBlob, index: number) => 'stored' | 'missing' | 'lost' | 'withheld';

/** A block of two blobs each, at heights from `lowest` on, of one chain for everybody. */
function archive(kept: Kept, lowest = 1) {
  const catalog = openCatalog();
  catalog.chain.recordStart(lowest);
  for (let height = lowest; height <= BLOBS.length / 2; height += 1) {
    const occurrences = BLOBS.slice(2 * height - 2, 2 * height).map(({ hashType, versionHash }, transactionIndex) => {
      const txid = parseTxId((height * 2 + transactionIndex).toString(16).padStart(64, '7'));
      return { hashType, versionHash, txid, vout: 0, transactionIndex, makeRecord: () => '{}' };
    });
    const times = { timeSeconds: height * 100, medianTimeSeconds: height * 100 };
    const block = { height, hash: hash(height), previousHash: hash(height - 1), ...times, occurrences, unclear: [] };
    catalog.chain.recordBlocks([block], () => false);
  }
  const keep = ({ hashType, versionHash, bytes }: VerifiedBlob) => {
    const times = { txid: null, medianTimeSeconds: 1, firstSeenMs: 1 };
    catalog.recordSpooled([{ hashType, versionHash, sizeBytes: bytes.length, ...times }]);
    catalog.recordProven('local', catalog.find(versionHash));
  };
  for (const [index, blob] of BLOBS.entries()) {
    const { hashType, versionHash } = blob;
    const upToHeight = Math.floor(index / 2) + 1;
    const state = upToHeight < lowest ? 'missing' : kept(blob, index);
    if (state === 'stored') keep(blob);
    if (state === 'lost')
      catalog.losses.record([{ hashType, versionHash, upToHeight, deadlineSeconds: 1, answers: [] }]);
    if (state === 'withheld') {
      const how = { archiver: 'me', publicReason: null, reason: 'an order', atMs: 1, purge: false };
      catalog.withheld.record([{ hashType, versionHash, ...how }], false);
    }
  }
  const chain = { finalHeight: BLOBS.length / 2, lacksHistory: false };
  return {
    catalog,
    keep,
    inventories: new Inventories(catalog, nobleHasher, chain, { isDone: true }, async () => hash(0), CLOCK),
  };
}

function compared(ours: ReturnType<typeof archive>, theirs: ReturnType<typeof archive>) {
  const asked: string[] = [];
  const lies: { answer: SourceAnswer | Error | null; isBucket?: true; isAway?: boolean } = { answer: null };
  const source = {
    name: 'peer http://peer',
    async find({ versionHash }: { versionHash: string }): Promise<SourceAnswer> {
      asked.push(versionHash);
      if (lies.answer instanceof Error) throw lies.answer;
      const blob = BLOBS.find((one) => one.versionHash === versionHash);
      return lies.answer ?? { kind: 'bytes', candidates: blob === undefined ? [] : [blob.bytes] };
    },
    async question(path: string): Promise<unknown> {
      const url = new URL(path, 'http://peer');
      if (lies.isAway) throw new Error('no route');
      if (url.pathname !== '/v1/inventory' || lies.isBucket) return null;
      const [from, to] = ['from', 'to'].map((name) => url.searchParams.get(name));
      const lookup = await theirs.inventories.inventory(from ? Number(from) : null, to ? Number(to) : null, NEVER);
      if (lookup.kind !== 'found') throw new Error(lookup.message);
      return { format: 1, ...lookup.inventory };
    },
    size: async () => null,
    close: async () => {},
  };
  const time = { nowMs: START_MS };
  const clock = { ...CLOCK, wallMs: () => time.nowMs };
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), clock.wallMs);
  const verifier = { verify: async (one: Parameters<typeof verifyBlob>[0]) => verifyBlob(one, nobleHasher) };
  const peer = new Peer(source, { called: null, verifier, conditions, ratePerSecond: Number.POSITIVE_INFINITY, clock });
  const { catalog, keep, inventories } = ours;
  const statements = new PeerStatements(catalog, conditions, clock);
  const spooler = { spool: async (blob: VerifiedBlob) => keep(blob) };
  const comparer = new PeerComparer({
    ...{ peers: [peer], inventories, statements, conditions },
    claims: new PeerClaims(catalog, spooler),
    audit: new PeerAudit(catalog, nobleHasher, clock),
  });
  return { comparer, peer, asked, lies, time, conditions, codes: () => conditions.all().map(({ code }) => code) };
}

const hashesOf = (...indices: number[]) => indices.map((index) => BLOBS[index]?.versionHash);

test('only what the peer alone holds is asked for, whatever became of it here', async () => {
  const ours = archive((_, index) => (({ 1: 'missing', 4: 'lost', 5: 'withheld' }) as const)[index] ?? 'stored');
  const theirs = archive((_, index) => (({ 2: 'missing', 3: 'lost' }) as const)[index] ?? 'stored');
  const { comparer, peer, asked, codes } = compared(ours, theirs);
  await comparer.run(NEVER);
  expect(asked.slice(0, 2)).toEqual(hashesOf(1, 4));
  // Then a few are drawn from the chain, and this peer proves none; what is taken down here is not among them.
  expect(asked).toHaveLength(6);
  expect(asked).not.toContain(hashesOf(5)[0]);
  expect(peer.audited).toMatchObject({ samples: 4, outcomes: { good: 0, 'no-proof': 4 } });
  expect(peer.compared).toMatchObject({
    from: 1,
    to: 6,
    onlyThere: 2,
    onlyHere: 2,
    fetched: 2,
    notGiven: 0,
    contradiction: null,
  });
  expect(ours.catalog.losses.count()).toBe(0);
  expect(codes()).toEqual([]);
});

test('a peer whose rule leaves out what is drawn has failed no audit', async () => {
  const nothing = () => archive(() => 'missing');
  const { comparer, peer, lies } = compared(nothing(), nothing());
  lies.answer = { kind: 'absent', byRule: true };
  await comparer.run(NEVER);
  expect(peer.audited).toMatchObject({ samples: 4, outcomes: { absent: 0, 'not-archived-by-rule': 4 } });
});

test('archives that walked other heights are compared where both did', async () => {
  const ours = archive((_, index) => (index < 6 ? 'missing' : 'stored'));
  const { comparer, peer, asked } = compared(
    ours,
    archive(() => 'stored', 3),
  );
  await comparer.run(NEVER);
  expect(asked.slice(0, 2)).toEqual(hashesOf(4, 5));
  expect(peer.compared).toMatchObject({ extent: 'whole', from: 3, to: 6, fetched: 2, contradiction: null });
});

test('a peer that does not give what it says it holds is told, and asked for a few of them only', async () => {
  const { comparer, peer, asked, lies, codes } = compared(
    archive(() => 'missing'),
    archive(() => 'stored'),
  );
  lies.answer = { kind: 'absent' };
  await comparer.run(NEVER);
  expect([asked.length - 4, codes()]).toEqual([8, ['peer/not-given']]);
  expect(peer.audited?.outcomes.absent).toBe(4);
  // The counts until then are no count of the whole.
  expect(peer.compared?.extent).toBe('partial');
  lies.answer = null;
  await comparer.run(NEVER);
  expect([peer.compared?.extent, peer.compared?.fetched, codes()]).toEqual(['whole', 12, []]);
});

test('a peer that gives wrong bytes ends the comparison, and none of them is taken', async () => {
  const ours = archive(() => 'missing');
  const { comparer, peer, asked, lies, codes } = compared(
    ours,
    archive(() => 'stored'),
  );
  lies.answer = { kind: 'bytes', candidates: [new Uint8Array(3)] };
  await comparer.run(NEVER);
  expect([asked.length, peer.compared?.fetched, codes()]).toEqual([2, 0, ['peer/wrong-bytes']]);
  expect(peer.compared?.extent).toBe('partial');
  expect(ours.catalog.totals().stored).toBe(0);
});

test('a peer that gives wrong bytes to another caller during a comparison is still told as what the former one found', async () => {
  const theirs = archive(() => 'stored');
  const { comparer, peer, lies, codes } = compared(
    archive(() => 'missing'),
    theirs,
  );
  const lookup = await theirs.inventories.inventory(null, null, NEVER);
  if (lookup.kind !== 'found') throw new Error('It has one.');
  const elsewhere = { ...lookup, inventory: { ...lookup.inventory, chain: hash(99) } };
  Object.assign(theirs.inventories, { inventory: async () => elsewhere });
  await comparer.run(NEVER);
  const former = peer.compared;
  lies.answer = { kind: 'bytes', candidates: [new Uint8Array(3)] };
  const [blob] = BLOBS;
  if (blob === undefined) throw new Error('There are twelve.');
  Object.assign(theirs.inventories, {
    inventory: async (from: number | null) => {
      if (from === null) await peer.find(blob, NEVER);
      return lookup;
    },
  });
  await comparer.run(NEVER);
  expect(codes().toSorted()).toEqual(['peer/contradicts-chain', 'peer/wrong-bytes']);
  expect(peer.compared).toBe(former);
});

test('a peer that cannot be asked, or is of another chain, is told', async () => {
  const ours = archive(() => 'stored');
  const theirs = archive(() => 'stored');
  const { comparer, peer, codes, conditions } = compared(ours, theirs);
  Object.assign(theirs.inventories, {
    inventory: async () => {
      throw new Error('It is away.');
    },
  });
  await comparer.run(NEVER);
  expect(codes()).toEqual(['peer/not-compared']);
  const lookup = await ours.inventories.inventory(null, null, NEVER);
  if (lookup.kind !== 'found') throw new Error('It has one.');
  const elsewhere = { ...lookup, inventory: { ...lookup.inventory, chain: hash(99) } };
  Object.assign(theirs.inventories, { inventory: async () => elsewhere });
  await comparer.run(NEVER);
  expect(codes()).toEqual(['peer/contradicts-chain']);
  expect(peer.compared?.extent).toBe('none');
  // A later version cuts its parts otherwise, which is told, and is no lie.
  Object.assign(theirs.inventories, {
    inventory: async () => ({ ...lookup, inventory: { ...lookup.inventory, format: 2 } }),
  });
  await comparer.run(NEVER);
  expect(codes()).toEqual(['peer/not-compared']);
  expect(conditions.all()[0]?.message).toContain('an inventory of format 2');
});

test('a comparison that fails midway is no whole one, and comes to no end', async () => {
  const theirs = archive(() => 'stored');
  const { comparer, peer, time, codes } = compared(
    archive(() => 'missing'),
    theirs,
  );
  const at = (ms: number) => new Date(ms).toISOString();
  await comparer.run(NEVER);
  expect(peer.compared).toMatchObject({ extent: 'whole', endedAt: at(START_MS) });
  const inventory = theirs.inventories.inventory.bind(theirs.inventories);
  Object.assign(theirs.inventories, {
    inventory: (from: number | null, to: number | null) => {
      if (from !== null) throw new Error('It goes away.');
      return inventory(from, to, NEVER);
    },
  });
  time.nowMs += 86_400_000;
  await comparer.run(NEVER);
  expect(codes()).toEqual(['peer/not-compared']);
  expect(peer.compared).toMatchObject({ extent: 'partial', at: at(time.nowMs), endedAt: at(START_MS) });
});

test('a peer with which no comparison ends is overdue from the first one on', async () => {
  const { comparer, peer, lies, time } = compared(
    archive(() => 'missing'),
    archive(() => 'stored'),
  );
  lies.answer = { kind: 'absent' };
  for (const day of [0, 1, 2]) {
    time.nowMs = START_MS + day * 86_400_000;
    await comparer.run(NEVER);
    expect(peer.compared).toMatchObject({ extent: 'partial', endedAt: new Date(START_MS).toISOString() });
  }
  lies.answer = null;
  await comparer.run(NEVER);
  expect(peer.compared).toMatchObject({ extent: 'whole', endedAt: new Date(time.nowMs).toISOString() });
});

test('a bucket is asked for one blob each time, so that it is told when it goes away, and when it is back', async () => {
  const { comparer, peer, asked, lies, codes } = compared(
    archive(() => 'stored'),
    archive(() => 'stored'),
  );
  lies.isBucket = true;
  lies.answer = new Error('no route');
  await comparer.run(NEVER);
  expect([asked.length, peer.status.state, codes()]).toEqual([1, 'silent', ['peer/no-answer']]);
  lies.answer = { kind: 'absent' };
  await comparer.run(NEVER);
  expect([asked.length, peer.status.state, codes()]).toEqual([2, 'good', []]);
  expect(peer.status).toMatchObject({ absent: 1, compared: null, audited: null });
});

test('an archive without an inventory that was away is no comparison that is overdue', async () => {
  const { comparer, peer, lies, codes } = compared(
    archive(() => 'stored'),
    archive(() => 'stored'),
  );
  Object.assign(lies, { isBucket: true, isAway: true });
  await comparer.run(NEVER);
  expect([peer.compared?.extent, codes()]).toEqual(['partial', ['peer/not-compared']]);
  lies.isAway = false;
  await comparer.run(NEVER);
  expect([peer.compared, codes()]).toEqual([null, []]);
});

test('an archive that had an inventory, and shows none any more, is still overdue', async () => {
  const { comparer, peer, lies, time } = compared(
    archive(() => 'stored'),
    archive(() => 'stored'),
  );
  await comparer.run(NEVER);
  lies.isBucket = true;
  time.nowMs += 86_400_000;
  await comparer.run(NEVER);
  expect(peer.compared).toMatchObject({ extent: 'whole', endedAt: new Date(START_MS).toISOString() });
});
