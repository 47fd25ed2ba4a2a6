import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { createDevnode, type Devnode, type DevnodeOptions } from '../../src/devnode/index.ts';
import { eventually } from '../e2e/eventually.ts';
import { HURRY } from '../hurried-time.ts';
import { readWhole } from '../read-whole.ts';
import { freePort } from '../servers/child-server.ts';
import { BLOCK_SECONDS, HOUR_BLOCKS, Scene } from './archive-on-devnode.ts';

/** Same seed, same clock, same submissions: the same chain, byte for byte, until one of them does something else. */
async function twin(options: DevnodeOptions = {}): Promise<Devnode> {
  const clock = { nowSeconds: () => 1_790_000_000 };
  const node = await createDevnode({ clock, workload: null, port: await freePort(), ...options });
  onTestFinished(() => node.close());
  return node;
}

/** Blocks on both, with the same blobs in the same order. */
function mineOnBoth(scene: Scene, other: Devnode, blocks: number, blobs: number): string[] {
  const hashes: string[] = [];
  for (let block = 0; block < blocks; block += 1) {
    for (let blob = 0; blob < blobs; blob += 1) {
      const { bytes, hashType, versionHash } = scene.submit();
      other.submitBlob(bytes, { hashType });
      hashes.push(versionHash);
    }
    for (const node of [scene.node, other]) {
      node.advanceSeconds(BLOCK_SECONDS);
      node.mine();
    }
  }
  expect(other.chain.tip.hash).toBe(scene.node.chain.tip.hash);
  return hashes;
}

test('the first node goes away: the other is followed and fetched from', async () => {
  const other = await twin();
  const scene = await Scene.create({ nodes: [other] });
  await scene.start();
  mineOnBoth(scene, other, 3, 2);
  await scene.caughtUp();
  await scene.node.goAway();
  mineOnBoth(scene, other, 3, 2);
  await scene.caughtUp();
  expect(scene.archive.status()).toMatchObject({ content: { stored: 12, failing: 0 }, chain: { height: 126 } });
  await scene.node.comeBack();
});

test('a blob that one node lacks, or serves wrongly, is fetched from the other', async () => {
  const other = await twin();
  const scene = await Scene.create({ nodes: [other] });
  const [lacked = '', wrong = ''] = mineOnBoth(scene, other, 1, 2);
  const name = {
    fault: {
      kind: 'rpc-error' as const,
      code: -32602,
      message: `Could not find blob information for versionhash ${lacked}`,
    },
  };
  scene.node.faults.add({ ...name, methods: ['getnevmblobdata'], hash: lacked });
  scene.node.faults.add({ fault: { kind: 'wrong-bytes' }, methods: ['getnevmblobdata'], hash: wrong });
  await scene.start();
  await scene.caughtUp();
  expect(scene.archive.status().content.stored).toBe(2);
});

test('two branches: nothing above the last common block is final, and that ends with the conflict', async () => {
  const other = await twin();
  const scene = await Scene.create({ nodes: [other] });
  mineOnBoth(scene, other, 4, 1);
  const common = scene.node.chain.tip.height;
  await scene.start();
  await scene.caughtUp();
  other.advanceSeconds(7);
  other.mine(3);
  scene.mine(3, 1);
  await scene.caughtUp();
  await scene.until('conflict', () => scene.conditions().includes('chain/nodes-conflict'));
  await scene.finalUpTo(common);
  expect(scene.archive.status().chain.finalHeight).toBe(common);
  expect(await scene.states(scene.blobs.at(-1)?.versionHash ?? '')).toEqual(['mined']);
  await other.goAway();
  // A node that does not answer has not changed its mind.
  scene.mine(1);
  await scene.caughtUp();
  expect(scene.archive.status().chain.finalHeight).toBe(common);
});

test('a conflict outlives a restart: before the nodes were compared again, nothing is called final', async () => {
  const other = await twin();
  const scene = await Scene.create({ nodes: [other] });
  mineOnBoth(scene, other, 4, 1);
  const common = scene.node.chain.tip.height;
  await scene.start();
  await scene.caughtUp();
  other.advanceSeconds(7);
  other.mine(3);
  scene.mine(3, 1);
  await scene.caughtUp();
  await scene.until('conflict', () => scene.conditions().includes('chain/nodes-conflict'));
  const newest = parseVersionHash(scene.blobs.at(-1)?.versionHash ?? '');
  // Slower than the walk: what the other one says comes last.
  const slow = other.faults.add({ fault: { kind: 'latency', ms: 1_500 / HURRY }, methods: ['getblockhash'] });
  await scene.stop();
  await scene.start();
  await scene.until('conflict again', () => {
    expect(scene.archive.status().chain.finalHeight ?? 0).toBeLessThanOrEqual(common);
    expect(scene.archive.chainView.storedAndFinal([newest]).kind).toBe('unavailable');
    return scene.conditions().includes('chain/nodes-conflict');
  });
  expect(slow.hits).toBeGreaterThan(0);
  await scene.finalUpTo(common);
  // Nor does it end because the other one does not answer at the next start.
  await scene.stop();
  await other.goAway();
  await scene.start();
  await scene.until('conflict, from memory', () => {
    expect(scene.archive.status().chain.finalHeight ?? 0).toBeLessThanOrEqual(common);
    return scene.conditions().includes('chain/nodes-conflict');
  });
  await scene.finalUpTo(common);
});

test('the followed node goes away in a conflict: nothing of the other branch is called final, nor absent', async () => {
  const other = await twin();
  const scene = await Scene.create({ nodes: [other] });
  mineOnBoth(scene, other, 4, 1);
  const common = scene.node.chain.tip.height;
  await scene.start();
  await scene.caughtUp();
  const theirs = other.submitBlob(new TextEncoder().encode('on the other branch alone'));
  other.advanceSeconds(7);
  other.mine(3);
  scene.mine(3, 1);
  await scene.caughtUp();
  await scene.until('conflict', () => scene.conditions().includes('chain/nodes-conflict'));
  const versionHash = parseVersionHash(theirs.versionHash);
  const NEVER = new AbortController().signal;
  const expectNothingClaimed = async () => {
    const { chainView } = scene.archive;
    expect(scene.archive.status().chain.finalHeight ?? 0).toBeLessThanOrEqual(common);
    expect(chainView.storedAndFinal([versionHash]).kind).toBe('unavailable');
    expect(chainView.transaction(parseTxId('ab'.repeat(32))).kind).toBe('unavailable');
    const last = chainView.lastBlock();
    if (last.kind === 'found') expect(last.block.height).toBeLessThanOrEqual(common);
    // The other node lists it, and it was fetched from neither yet: that is no reason to call it absent.
    expect((await readWhole(scene.archive, { versionHash, hashType: null }, NEVER)).kind).not.toBe('absent');
  };
  await expectNothingClaimed();
  await scene.node.goAway();
  await scene.until('the other branch is walked', async () => {
    await expectNothingClaimed();
    return scene.archive.status().node.tip === other.chain.tip.hash && (await scene.states(versionHash)).length > 0;
  });
  // The comparison that follows the new branch is over, and the one after it.
  for (let round = 0; round < 2; round += 1) {
    other.mine();
    await scene.until('walked and compared again', async () => {
      await expectNothingClaimed();
      const { height } = scene.archive.status().chain;
      return height === other.chain.tip.height && scene.conditions().includes('chain/nodes-conflict');
    });
  }
  // ChainLocks of the first branch covered its blocks, though the conflict kept that from being said: that is told.
  expect(scene.conditions()).toContain('chain/final-withdrawn');
  // Nor does the conflict end with a restart.
  await scene.stop();
  await scene.start();
  await scene.until('conflict, from memory', async () => {
    await expectNothingClaimed();
    return scene.conditions().includes('chain/nodes-conflict') && scene.archive.status().chain.lagBlocks === 0;
  });
  await scene.finalUpTo(common);
  expect(scene.conditions()).toContain('chain/final-withdrawn');
});

test('the followed node stands still on a dead branch: what the other one mines is archived meanwhile', async () => {
  const other = await twin();
  const scene = await Scene.create({ nodes: [other] });
  mineOnBoth(scene, other, 4, 1);
  await scene.start();
  await scene.caughtUp();
  scene.mine(1);
  other.advanceSeconds(7);
  other.mine();
  await scene.until('conflict', () => scene.conditions().includes('chain/nodes-conflict'));
  const theirs: string[] = [];
  for (let block = 0; block < 3; block += 1) {
    theirs.push(other.submitBlob(new TextEncoder().encode(`on the live branch ${block}`)).versionHash);
    other.advanceSeconds(BLOCK_SECONDS);
    other.mine();
  }
  await scene.until('archived', () => scene.archive.status().content.stored === 4 + theirs.length);
  const states = () => Promise.all(theirs.map(async (versionHash) => (await scene.states(versionHash)).join()));
  expect(await states()).toEqual(['unconfirmed', 'unconfirmed', 'unconfirmed']);
  expect(scene.archive.status().node.tip).toBe(scene.node.chain.tip.hash);
  // The live branch is followed at last, long after the window of these blobs.
  other.advanceSeconds(7 * 3_600);
  other.mine(12);
  await scene.node.goAway();
  await scene.until('mined', async () => (await states()).every((state) => state === 'mined'));
  expect(scene.archive.status()).toMatchObject({ content: { stored: 4 + theirs.length }, chain: { lost: 0 } });
});

test('a blob that only a node lists that is not followed is not called absent, and is fetched from it', async () => {
  const other = await twin();
  const scene = await Scene.create({ nodes: [other] });
  mineOnBoth(scene, other, 4, 1);
  await scene.start();
  await scene.caughtUp();
  const theirs = other.submitBlob(new TextEncoder().encode('in the mempool of the second node alone'));
  const call = { jsonrpc: '2.0', id: 1, method: 'getnevmblobdata' };
  const facade = async (asked: string) => {
    const body = JSON.stringify({ ...call, params: [asked] });
    return z
      .object({ error: z.object({ code: z.number() }) })
      .parse(await (await fetch(scene.url, { method: 'POST', body })).json());
  };
  const statusOf = async (path: string) => (await fetch(new URL(path, scene.url))).status;
  expect(await statusOf(`/v1/transactions/${theirs.txid}`)).toBe(503);
  expect((await facade(theirs.txid)).error.code).not.toBe(-32602);
  expect(await statusOf(`/v1/blobs/${theirs.versionHash}`)).toBe(503);
  const { versionHash } = theirs;
  await scene.until('fetched', async () => (await statusOf(`/v1/blobs/${versionHash}`)) === 200);
  // A hash that no node lists is absent, until one of them cannot be asked.
  const nobodys = 'ab'.repeat(32);
  const expectAll = async (status: number) => {
    expect(await statusOf(`/v1/blobs/${nobodys}`)).toBe(status);
    expect(await statusOf(`/vh/${nobodys}`)).toBe(status);
    expect(await statusOf(`/v1/transactions/${nobodys}`)).toBe(status);
  };
  await eventually(() => expectAll(404));
  await eventually(async () => expect((await facade(nobodys)).error.code).toBe(-32602));
  await other.goAway();
  await expectAll(503);
  expect((await facade(nobodys)).error.code).not.toBe(-32602);
});

test('a second node on another chain is ignored', async () => {
  const other = await twin({ seed: 'another chain' });
  const scene = await Scene.create({ nodes: [other] });
  await scene.start();
  const [blob] = scene.mine(4, 1);
  await scene.finalUpTo(122);
  expect(await scene.states(blob?.versionHash ?? '')).toEqual(['final']);
  const theirs = other.submitBlob(new TextEncoder().encode('of another chain'));
  const absent = async () => (await fetch(new URL(`/v1/blobs/${theirs.versionHash}`, scene.url))).status;
  await eventually(async () => expect(await absent()).toBe(404));
  // The other node has no say when it is silent, either.
  await other.goAway();
  await eventually(async () => expect(await absent()).toBe(404));
  await other.comeBack();
  await scene.node.goAway();
  await scene.until('told', () =>
    scene.conditions().some((code) => code.startsWith('node/') || code === 'archive/other-chain'),
  );
  expect(scene.archive.status().chain.height).toBe(124);
  await scene.node.comeBack();
});

test('a blob that a node on another chain has not got says nothing: the node is told, and nothing is lost by its word', async () => {
  const other = await twin({ seed: 'another chain' });
  const scene = await Scene.create({ nodes: [other] });
  await scene.start();
  scene.mine(2, 1);
  await scene.caughtUp();
  await scene.until('told', () => scene.conditions().includes('archive/other-chain'));
  scene.submit();
  scene.node.advanceSeconds(BLOCK_SECONDS);
  scene.node.mine(1, { withoutBytes: true });
  scene.mine(7 * HOUR_BLOCKS);
  await scene.until('judged', () => scene.log.some((line) => line.includes('overdue bytes did not answer')));
  expect(scene.archive.status().chain.lost).toBe(0);
  await other.goAway();
  await scene.stop();
  await scene.start({
    HOLDFAST_NODE_URL: scene.node.url.replace('//', `//${scene.node.username}:${scene.node.password}@`),
  });
  await scene.until('lost', () => scene.archive.status().chain.lost === 1);
});
