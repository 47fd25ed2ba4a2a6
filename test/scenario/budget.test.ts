import { expect, test } from 'vitest';
import { Scene } from './archive-on-devnode.ts';

const BLOCKS = 12;
const BLOBS = 3;
/** A pause so long that even a starved machine is far from it. */
const POLL_MS = 30_000;

test('a guest: one get a blob, six other calls a block and one a second; here before its next look would have come', async () => {
  // The list as often as by default. The poll reads it as well, and so nothing but the wait for a block brings blobs sooner.
  const env = { HOLDFAST_NODE_POLL_MS: String(POLL_MS), HOLDFAST_NODE_SWEEP_MS: '5000' };
  const scene = await Scene.create({ node: { costModel: true }, env, time: 'real' });
  await scene.start();
  await scene.caughtUp();
  await scene.until('it waits for a block', () => (scene.archive.status().node.calls['wait'] ?? 0) > 0);
  const before = { ...scene.archive.status().node.calls };
  const begunMs = performance.now();
  const latencies: number[] = [];
  let minedMs = 0;
  scene.archive.activity.on('spooled', () => latencies.push(performance.now() - minedMs));
  for (let block = 0; block < BLOCKS; block += 1) {
    minedMs = performance.now();
    scene.mine(1, BLOBS);
    await scene.until('spooled', () => latencies.length === (block + 1) * BLOBS);
  }
  const seconds = (performance.now() - begunMs) / 1_000;
  const { calls } = scene.archive.status().node;
  const made = (name: string) => (calls[name] ?? 0) - (before[name] ?? 0);
  expect(made('blobsAsked')).toBe(BLOCKS * BLOBS);
  const others = ['genesis', 'tip', 'list', 'blockHash', 'header', 'block', 'chainLock', 'wait'].map(made);
  expect(others.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(6 * BLOCKS + seconds);
  // The middle one: a daemon that waited for its next look would be late every time, a busy machine is late at times.
  // Blocks come right after what the last one had is stored in the folder, so that the next look is almost a whole poll away.
  const middle = latencies.toSorted((a, b) => a - b)[latencies.length / 2] ?? Number.POSITIVE_INFINITY;
  expect(middle).toBeLessThan(POLL_MS / 2);
});
