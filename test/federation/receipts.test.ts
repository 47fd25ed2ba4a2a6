import { expect, test } from 'vitest';
import type { HashType, NamedHash } from '../../src/core/blob/ids.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { Receipts } from '../../src/federation/receipts.ts';
import { ArchiverKey } from '../../src/storage/local/archiver-key.ts';
import { checkReceipt } from '../../src/verify/index.ts';
import type { RecordLookup, Withheld } from '../../src/view/archive-view.ts';
import { openCatalog, spooled } from '../catalog/catalog-in-folder.ts';
import { recordOf } from '../http/fake-archive-view.ts';
import { NEVER, sampleBlob } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const ARCHIVER = 'ab'.repeat(8);
const hash = (height: number, branch = 'a') => parseBlockHash(branch.repeat(4) + height.toString(16).padStart(60, '0'));
const BLOB = spooled('a');
const NAME: NamedHash = { versionHash: BLOB.versionHash, hashType: null };
const ABSENT = { kind: 'absent' } as const satisfies RecordLookup;

async function scene() {
  const catalog = openCatalog();
  catalog.chain.recordStart(1);
  const chain: { finalHeight: number | null } = { finalHeight: null };
  const clock = { wallMs: () => Date.UTC(2026, 10, 1) + clock.laterMs, steadyMs: () => 0, laterMs: 0 };
  const refusing: { refusal: Withheld | null } = { refusal: null };
  const signer = await ArchiverKey.open(temporaryFolder());
  const receipts = new Receipts({
    ...{ archiverId: ARCHIVER, signer, catalog, chain, clock, boundChain: async () => hash(0) },
    gate: { refusal: () => refusing.refusal },
    records: { record: async () => ABSENT },
  });
  const mine = (height: number, branch = 'a', hashType: HashType = 'keccak256') => {
    const { versionHash } = BLOB;
    const txid = parseTxId(`${height}`.padStart(64, '7'));
    const occurrence = { versionHash, hashType, txid, vout: 2, transactionIndex: 1, makeRecord: () => '{}' };
    const hashes = { hash: hash(height, branch), previousHash: hash(height - 1, height === 1 ? 'a' : branch) };
    const times = { timeSeconds: 100, medianTimeSeconds: 100 };
    catalog.chain.recordBlocks([{ height, ...hashes, ...times, occurrences: [occurrence], unclear: [] }], () => false);
  };
  const store = () => catalog.replicas.recordFound('local', [BLOB]);
  const ask = (name: NamedHash = NAME) => receipts.receipt(name, NEVER);
  return { catalog, chain, clock, refusing, signer, receipts, mine, store, ask };
}

test('only what is stored and final is signed, and it says where it is', async () => {
  const { chain, mine, store, ask, signer } = await scene();
  mine(1);
  chain.finalHeight = 1;
  expect(await ask()).toEqual(ABSENT);
  chain.finalHeight = null;
  store();
  expect(await ask()).toEqual(ABSENT);
  chain.finalHeight = 0;
  expect(await ask()).toEqual(ABSENT);
  chain.finalHeight = 1;
  const given = await ask();
  if (given.kind !== 'found') throw new TypeError(given.kind);
  expect(given.receipt.statement).toEqual({
    ...{ kind: 'holdfast/receipt', format: 1, archiver: ARCHIVER, key: signer.publicKey, chain: hash(0) },
    ...{ hashType: 'keccak256', versionHash: BLOB.versionHash, sizeBytes: BLOB.sizeBytes, state: 'stored-and-final' },
    ...{ txid: parseTxId('1'.padStart(64, '7')), vout: 2, height: 1, blockHash: hash(1) },
    at: '2026-11-01T00:00:00.000Z',
  });
  const steps = await checkReceipt(given.receipt, [signer.publicKey], NAME);
  expect(steps.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(await ask({ ...NAME, hashType: 'blake2s256' })).toEqual(ABSENT);
});

test('one blob is signed once, while it is true: not when it is withheld, damaged, or its block is gone', async () => {
  const { catalog, chain, clock, refusing, mine, store, ask, signer } = await scene();
  mine(1);
  mine(2);
  store();
  chain.finalHeight = 2;
  const first = await ask();
  clock.laterMs = 60_000;
  expect([first.kind, await ask()]).toEqual(['found', first]);
  refusing.refusal = { kind: 'withheld', at: '2026-11-01T00:00:00.000Z', publicReason: null };
  expect(await ask()).toEqual(refusing.refusal);
  refusing.refusal = null;
  const [entry] = catalog.find(BLOB.versionHash);
  if (entry === undefined) throw new TypeError('it was stored');
  catalog.replicas.recordUnproven('local', [entry]);
  expect(await ask()).toEqual(ABSENT);
  store();
  expect(await ask()).toEqual(first);
  catalog.chain.takeBack(0);
  expect(await ask()).toEqual(ABSENT);
  mine(1, 'b');
  const other = await ask();
  expect(other).toMatchObject({ receipt: { statement: { blockHash: hash(1, 'b'), at: '2026-11-01T00:01:00.000Z' } } });
  await signer.rotate('2026-11-01T00:01:00.000Z');
  expect(await ask()).toMatchObject({ receipt: { statement: { key: signer.publicKey }, keys: [{}] } });
});

test.each([
  ['stored', 'not-final'],
  ['spooled', 'not-placed'],
] as const)('a blob that is %s gets the reason %s', async (state, reason) => {
  const { catalog, chain, clock, signer } = await scene();
  const receipts = new Receipts({
    ...{ archiverId: ARCHIVER, signer, catalog, chain, clock, boundChain: async () => hash(0) },
    gate: { refusal: () => null },
    records: { record: async () => ({ kind: 'found', record: { ...recordOf(sampleBlob('a', 9)), state } }) },
  });
  expect(await receipts.receipt(NAME, NEVER)).toMatchObject({ kind: 'not-yet', why: { reason } });
});
