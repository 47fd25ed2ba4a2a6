import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { createDevnode, type Devnode, type DevnodeOptions } from '../../src/devnode/index.ts';
import { call } from './rpc-client.ts';

const START = 1_800_000_000;
const HOUR = 3600;
const open: Devnode[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((devnode) => devnode.close()));
});

async function start(options: DevnodeOptions = {}): Promise<Devnode> {
  const devnode = await createDevnode({ clock: { nowSeconds: () => START }, ...options });
  open.push(devnode);
  return devnode;
}

const Entry = z.object({ versionhash: z.string(), mtp: z.int(), datasize: z.int(), txid: z.string() });

async function listed(devnode: Devnode, count = 1000, from = 0): Promise<z.infer<typeof Entry>[]> {
  return z.array(Entry).parse((await call(devnode, 'listnevmblobdata', [count, from])).result);
}

async function names(devnode: Devnode): Promise<string[]> {
  return (await listed(devnode)).map(({ versionhash }) => versionhash);
}

/** Moves the chain's median time; six of eleven blocks suffice. */
function pass(devnode: Devnode, seconds: number): void {
  devnode.advanceSeconds(seconds);
  devnode.mine(7);
}

test('a ChainLock prunes a blob that is older than six hours, and no younger one', async () => {
  const devnode = await start();
  const { versionHash } = devnode.submitBlob(Buffer.from('six hours'));
  devnode.mine();
  pass(devnode, 6 * HOUR - 60);
  expect(await names(devnode)).toEqual([versionHash]);
  pass(devnode, 120);
  expect(await names(devnode)).toEqual([]);
  const gone = await call(devnode, 'getnevmblobdata', [versionHash]);
  expect(gone.error).toEqual({
    code: -32602,
    message: `Could not find blob information for versionhash ${versionHash}`,
  });
});

test('nothing is pruned without ChainLocks, and the next one prunes hours at once', async () => {
  const devnode = await start({ chainLocks: { kind: 'none' } });
  expect((await call(devnode, 'getbestchainlock')).error?.code).toBe(-32603);
  devnode.submitBlob(Buffer.from('one'));
  devnode.mine();
  pass(devnode, 4 * HOUR);
  devnode.submitBlob(Buffer.from('two'));
  devnode.mine();
  pass(devnode, 20 * HOUR);
  expect(await listed(devnode)).toHaveLength(2);
  const { hash, height } = devnode.chain.tip;
  devnode.announceChainLock(hash, height);
  expect(await listed(devnode)).toEqual([]);
});

test('a ChainLock may lag and may name an unknown block', async () => {
  const devnode = await start({ chainLocks: { kind: 'follow', lagBlocks: 5 } });
  devnode.mine(10);
  const lock = (await call(devnode, 'getbestchainlock')).result;
  expect(lock).toMatchObject({ height: devnode.chain.tip.height - 5, known_block: true });
  const headerAt = async (back: number): Promise<unknown> =>
    (await call(devnode, 'getblockheader', [devnode.chain.tree.at(devnode.chain.tip.height - back)?.hash])).result;
  expect(await headerAt(5)).toMatchObject({ chainlock: true });
  expect(await headerAt(4)).toMatchObject({ chainlock: false });
  devnode.announceChainLock('ef'.repeat(32), devnode.chain.tip.height + 3);
  expect((await call(devnode, 'getbestchainlock')).result).toMatchObject({
    blockhash: 'ef'.repeat(32),
    known_block: false,
  });
  expect(await headerAt(5)).toMatchObject({ chainlock: false });
});

test('each block prunes the cache on a test network', async () => {
  const devnode = await start({ network: 'test' });
  devnode.submitBlob(Buffer.from('short'));
  devnode.mine();
  pass(devnode, 6 * HOUR + 60);
  expect(await listed(devnode)).toEqual([]);
});

test('a mined resubmission renews the time and the txid of the cache entry', async () => {
  const devnode = await start();
  const bytes = Buffer.from('again');
  const first = devnode.submitBlob(bytes);
  devnode.mine(7);
  const [before] = await listed(devnode);
  pass(devnode, 5 * HOUR);
  const second = devnode.submitBlob(bytes);
  expect((await listed(devnode))[0]).toEqual(before);
  devnode.mine();
  const [after] = await listed(devnode);
  expect(after?.txid).toBe(second.txid);
  expect((after?.mtp ?? 0) - (before?.mtp ?? 0)).toBeGreaterThan(4 * HOUR);
  expect((await call(devnode, 'getnevmblobdata', [first.txid])).result).toMatchObject({
    txid: second.txid,
    height: 121,
  });
  pass(devnode, 2 * HOUR);
  expect(await listed(devnode)).toHaveLength(1);
});

test('a block takes 32 blobs, and the rest waits', async () => {
  const devnode = await start();
  for (let index = 0; index < 40; index++) devnode.submitBlob(Buffer.from(`blob ${index}`));
  const [block] = devnode.mine();
  expect(block?.transactions).toHaveLength(33);
  expect(devnode.chain.mempool.size).toBe(8);
  expect(devnode.mine()[0]?.transactions).toHaveLength(9);
});

test('a late block has no bytes: its blobs are on chain, and the node lacks them', async () => {
  const devnode = await start();
  const { versionHash, txid } = devnode.submitBlob(Buffer.from('hole'));
  devnode.mine(1, { withoutBytes: true });
  expect(await names(devnode)).toEqual([]);
  expect((await call(devnode, 'getnevmblobdata', [versionHash, true])).error?.code).toBe(-32602);
  expect((await call(devnode, 'getrawtransaction', [txid])).status).toBe(200);
});

test('a dropped or replaced transaction removes its unmined blob and its descendants', async () => {
  const devnode = await start();
  const dropped = devnode.submitBlob(Buffer.from('dropped'));
  expect(devnode.dropTransaction(dropped.txid)).toEqual([dropped.txid]);
  const replaced = devnode.submitBlob(Buffer.from('replaced'));
  const replacement = devnode.replaceTransaction(replaced.txid, Buffer.from('replacement'), 'blake2s256');
  expect(await names(devnode)).toEqual([replacement.versionHash]);
  expect((await call(devnode, 'getrawmempool')).result).toEqual([replacement.txid]);
  devnode.mine();
  expect((await call(devnode, 'getnevmblobdata', [replacement.txid])).status).toBe(200);
  expect(() => devnode.replaceTransaction(replaced.txid, Buffer.from('x'))).toThrow(/waits in the mempool/);
});

test('a reorganised blob without input stays in the cache, with a proof against the stale block', async () => {
  const devnode = await start();
  const { versionHash, txid } = devnode.submitBlob(Buffer.from('lingers'));
  devnode.mine(2);
  const { taken } = devnode.reorganise(2, { drop: [txid] });
  expect(taken).toHaveLength(2);
  expect(await names(devnode)).toEqual([versionHash]);
  const { result } = await call(devnode, 'getnevmblobdata', [versionHash, true]);
  expect(result).not.toHaveProperty('height');
  expect(result).toHaveProperty('data');
  const proof = String((await call(devnode, 'gettxoutproof', [[txid]])).result);
  expect((await call(devnode, 'verifytxoutproof', [proof])).error?.message).toBe('Block not found in chain');
});

test('a reorganisation of any depth keeps the chain consistent', async () => {
  const devnode = await start();
  const mined = Array.from({ length: 5 }, (_, index) => {
    const submitted = devnode.submitBlob(Buffer.from(`deep ${index}`));
    devnode.mine(10);
    return submitted;
  });
  devnode.reorganise(60);
  expect(devnode.chain.tip.height).toBe(171);
  for (const { txid, versionHash } of mined) {
    const { result } = await call(devnode, 'getnevmblobdata', [txid]);
    expect(result).toMatchObject({ versionhash: versionHash, height: 171 });
  }
  devnode.reorganise(171, { blocks: 3 });
  expect(devnode.chain.tip.height).toBe(3);
  expect(() => devnode.reorganise(4)).toThrow(/3 blocks above/);
});

test('the list combines an unordered map with a store in key order, and pages cover it', async () => {
  const devnode = await start();
  for (let index = 0; index < 30; index++) devnode.submitBlob(Buffer.from(`stored ${index}`));
  devnode.mine(4);
  for (let index = 0; index < 12; index++) devnode.submitBlob(Buffer.from(`fresh ${index}`));
  const fresh = devnode.chain.cache.fresh().map(({ content }) => content.versionHash);
  expect(fresh).toHaveLength(12);
  expect(fresh).not.toEqual(fresh.toSorted());
  const pages = [await listed(devnode, 12), await listed(devnode, 15, 12), await listed(devnode, 100, 27)];
  expect(pages.map((page) => page.length)).toEqual([12, 15, 15]);
  expect(new Set(pages.flat().map(({ versionhash }) => versionhash)).size).toBe(42);
  expect(new Set(pages[0]?.map(({ versionhash }) => versionhash))).toEqual(new Set(fresh));
});
