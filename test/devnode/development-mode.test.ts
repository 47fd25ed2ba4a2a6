import { afterEach, expect, test } from 'vitest';
import {
  type Block,
  createDevnode,
  type Devnode,
  type DevnodeOptions,
  mixedWorkload,
} from '../../src/devnode/index.ts';
import { call } from './rpc-client.ts';

const open: Devnode[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((devnode) => devnode.close()));
});

async function start(options: DevnodeOptions): Promise<Devnode> {
  const devnode = await createDevnode(options);
  open.push(devnode);
  return devnode;
}

test('automatic blocks hold both hash types, full and small blobs, and leave one blob unconfirmed', async () => {
  const devnode = await start({ blocksEveryMs: 5 });
  const sizes = new Set<number>();
  const types = new Set<string>();
  const waiting: number[] = [];
  devnode.chain.events.on('tip', (block: Block) => {
    waiting.push(devnode.chain.mempool.size);
    for (const { content } of block.transactions) {
      if (content === null) continue;
      sizes.add(content.sizeBytes);
      types.add(content.hashType);
    }
  });
  await devnode.untilHeight(140);
  expect(new Set(waiting)).toEqual(new Set([1]));
  expect(types.size).toBe(2);
  expect(Math.max(...sizes)).toBe(2_097_152);
  expect(Math.min(...sizes)).toBeLessThan(1024);
});

test('a lone transaction is mined at most one block later', async () => {
  const devnode = await start({ workload: null });
  const { txid } = devnode.submitBlob(new Uint8Array([1]));
  devnode.setBlocksEvery(2);
  await devnode.untilHeight(devnode.chain.tip.height + 2);
  expect(devnode.chain.tree.find(txid)?.active).toBe(true);
});

test('automatic mining stops, starts, and can be awaited', async () => {
  const devnode = await start({ workload: null });
  devnode.setBlocksEvery(2);
  await devnode.untilHeight(124);
  devnode.setBlocksEvery(null);
  const { height } = devnode.chain.tip;
  await expect(devnode.untilHeight(height + 1, AbortSignal.timeout(30))).rejects.toThrow();
  expect(devnode.chain.tip.height).toBe(height);
});

test('the workload depends on seed and height alone', () => {
  const heights = Array.from({ length: 300 }, (_, index) => index);
  const items = heights.flatMap((height) => mixedWorkload('seed', height));
  expect(heights.flatMap((height) => mixedWorkload('seed', height))).toEqual(items);
  expect(heights.flatMap((height) => mixedWorkload('other', height))).not.toEqual(items);
  expect(items.every(({ sizeBytes }) => sizeBytes >= 1 && sizeBytes <= 2_097_152)).toBe(true);
  expect(items.filter(({ sizeBytes }) => sizeBytes === 2_097_152)).toHaveLength(100);
});

test('the chain depends on seed and clock alone', async () => {
  const tipOf = async (seed: string): Promise<string> => {
    const devnode = await start({ seed, clock: { nowSeconds: () => 1_800_000_000 }, seedRecordedBlobs: true });
    devnode.submitBlob(Buffer.from('the same'));
    devnode.mine(3);
    devnode.reorganise(2);
    return devnode.chain.tip.hash;
  };
  expect(await tipOf('a')).toBe(await tipOf('a'));
  expect(await tipOf('a')).not.toBe(await tipOf('b'));
});

test('the genesis block depends on the seed alone', async () => {
  const again = await start({ seed: 'a', clock: { nowSeconds: () => 1_900_000_000 } });
  const [a, b] = [await start({ seed: 'a' }), await start({ seed: 'b' })];
  expect(again.chain.tree.at(0)?.hash).toBe(a.chain.tree.at(0)?.hash);
  expect(a.chain.tree.at(0)?.hash).not.toBe(b.chain.tree.at(0)?.hash);
});

test('the cost model serves one call at a time: 60 ms a get by hash, 30 by txid, none a list', async () => {
  const devnode = await start({ costModel: true });
  const { txid, versionHash } = devnode.submitBlob(Buffer.from('dear'));
  devnode.mine();
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const before = performance.now();
    await work();
    return performance.now() - before;
  };
  const get = (name: string) => call(devnode, 'getnevmblobdata', [name, true]);
  expect(await timed(() => Promise.all([get(versionHash), get(versionHash), get(txid)]))).toBeGreaterThan(145);
  // Behind the gets, which take one after the other, the list would come last.
  const order: string[] = [];
  await Promise.all([
    ...Array.from({ length: 5 }, () => get(versionHash).then(() => order.push('get'))),
    call(devnode, 'listnevmblobdata').then(() => order.push('list')),
  ]);
  expect(order.at(-1)).toBe('get');
});
