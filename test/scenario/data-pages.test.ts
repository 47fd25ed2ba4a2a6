import { expect, test } from 'vitest';
import { countGets } from '../e2e/counted-gets.ts';
import { Scene } from './archive-on-devnode.ts';

const BLOCKS = 10;
const BLOBS = 8;

test.each(['svc', 'syscoin-4.4'] as const)('%s: pages with data spare the node its gets', async (dialect) => {
  const scene = await Scene.create({ node: { dialect } });
  const gets = countGets(scene.node);
  scene.mine(BLOCKS, BLOBS);
  scene.node.chain.cache.flush();
  await scene.start();
  await scene.caughtUp();
  scene.mine(2, BLOBS);
  await scene.caughtUp();
  const archived = scene.archive.status().content.stored;
  expect(archived).toBe((BLOCKS + 2) * BLOBS);
  expect(gets.count).toBeLessThan(archived / 4);
});

test('bytes that a page has wrong are no claim: each blob is asked for again, alone', async () => {
  const scene = await Scene.create({ node: { dialect: 'syscoin-4.4' } });
  const gets = countGets(scene.node);
  const wrong = scene.node.faults.add({ fault: { kind: 'wrong-bytes' }, methods: ['listnevmblobdata'] });
  scene.mine(2, BLOBS);
  await scene.start();
  await scene.caughtUp();
  expect(scene.archive.status().content.stored).toBe(2 * BLOBS);
  expect(wrong.hits).toBeGreaterThan(0);
  expect(gets.count).toBeGreaterThan(0);
  expect(gets.count).toBeLessThanOrEqual(2 * BLOBS);
});
