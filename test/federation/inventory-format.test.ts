import { expect, test } from 'vitest';
import { inventoryOf } from '../../src/federation/inventory-of-range.ts';
import { OCCURRENCE_BYTES } from '../../src/verify/inventory.ts';
import { HASHER, NEVER } from '../sample-blobs.ts';

/** Blocks from height 1 on with so many occurrences each, all of them missing. */
async function partsOf(heights: number, perBlock: number, extra = 0) {
  const snapshot = {
    occurrences: () => heights * perBlock + extra,
    *inventory() {
      for (let height = 1; height <= heights; height += 1) {
        const count = perBlock + (height === heights ? extra : 0);
        yield [{ height, blockHash: new Uint8Array(32), occurrences: new Uint8Array(count * OCCURRENCE_BYTES) }];
      }
    },
  };
  const { parts, held, digest } = await inventoryOf(snapshot, { from: 1, to: heights }, HASHER, NEVER);
  return { parts: parts?.map(({ from, to }) => `${from}-${to}`) ?? null, held, digest };
}

/** An archive that cuts its parts otherwise than another seems to contradict the chain: the sizes are a part of format 1. */
test('format 1 lists up to 16,384 occurrences one by one, and cuts more of them into these parts', async () => {
  expect(await partsOf(512, 32)).toEqual({
    parts: null,
    held: '16384m',
    digest: '42dca1f516c40f1a9eae47e5b6277ba30eb40e5f84fa7e6ff15e6ef8584cbaa2',
  });
  expect((await partsOf(512, 32, 1)).parts).toEqual(['1-127', '128-255', '256-383', '384-511', '512-512']);
  expect((await partsOf(700, 40)).parts).toEqual(['1-127', '128-255', '256-383', '384-511', '512-639', '640-700']);
  const many = (await partsOf(600, 2_048)).parts;
  expect([many?.length, many?.at(0), many?.at(1), many?.at(-1)]).toEqual([151, '1-3', '4-7', '600-600']);
});
