import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareInventories, type InventoryDifference } from '../../src/federation/compare-inventories.ts';
import { inventoryOf } from '../../src/federation/inventory-of-range.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import {
  HOLDINGS,
  type Holding,
  holdingsOf,
  type InventoryBlock,
  OCCURRENCE_BYTES,
} from '../../src/verify/inventory.ts';

const hasher = await createNodeHasher();
const NEVER = new AbortController().signal;
const hashOf = (text: string) => createHash('sha256').update(text).digest();

/** A number of occurrences in each block, of one chain for all; `holding` says what this archive holds. */
class FakeArchive {
  requests = 0;
  bytes = 0;
  readonly #blocks: readonly InventoryBlock[];

  constructor(heights: readonly number[], perBlock: number, holding: (height: number, index: number) => Holding) {
    this.#blocks = heights.map((height) => {
      const occurrences = Buffer.alloc(perBlock * OCCURRENCE_BYTES);
      for (let index = 0; index < perBlock; index += 1) {
        hashOf(`${height}/${index}`).copy(occurrences, index * OCCURRENCE_BYTES);
        occurrences[(index + 1) * OCCURRENCE_BYTES - 1] = HOLDINGS.indexOf(holding(height, index));
      }
      return { height, blockHash: hashOf(String(height)), occurrences };
    });
  }

  readonly ask = async (from: number, to: number) => {
    const inside = this.#blocks.filter(({ height }) => height >= from && height <= to);
    const total = inside.reduce((sum, block) => sum + holdingsOf(block).length, 0);
    const snapshot = {
      occurrences: () => total,
      *inventory() {
        for (let at = 0; at < inside.length; at += 100) yield inside.slice(at, at + 100);
      },
    };
    const found = await inventoryOf(snapshot, { from, to }, hasher, NEVER);
    this.requests += 1;
    this.bytes += JSON.stringify(found).length;
    return found;
  };
}

async function differences(ours: FakeArchive, theirs: FakeArchive, to: number): Promise<InventoryDifference[]> {
  const found: InventoryDifference[] = [];
  for await (const one of compareInventories({ from: 0, to }, ours.ask, theirs.ask)) found.push(one);
  return found;
}

test('two archives find exactly the occurrences that one of them lacks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(20_000), { minLength: 1, maxLength: 60 }),
      fc.uniqueArray(fc.nat(599), { maxLength: 40 }),
      fc.uniqueArray(fc.nat(599), { maxLength: 40 }),
      async (blocks, lackingHere, lackingThere) => {
        const heights = blocks.toSorted((a, b) => a - b);
        const flat = (height: number, index: number) => heights.indexOf(height) * 10 + index;
        const side = (lacking: readonly number[]) =>
          new FakeArchive(heights, 10, (height, index) =>
            lacking.includes(flat(height, index)) ? 'missing' : 'stored',
          );
        const found = await differences(side(lackingHere), side(lackingThere), 20_000);
        const count = found.map((one) =>
          one.kind === 'different' ? one.ours.filter((held, at) => held !== one.theirs[at]).length : 0,
        );
        const inRange = (lacking: readonly number[]) => lacking.filter((at) => at < heights.length * 10);
        const expected = new Set(inRange(lackingHere)).symmetricDifference(new Set(inRange(lackingThere))).size;
        expect(count.reduce((sum, one) => sum + one, 0)).toBe(expected);
        expect(found.every(({ kind }) => kind === 'different')).toBe(true);
      },
    ),
    { numRuns: 40 },
  );
});

test('100 differences among 60,000 occurrences cost at most 5 questions, which are far less than 1 MiB', async () => {
  const heights = Array.from({ length: 6_000 }, (_, index) => 1_000 + index);
  const theirs = new FakeArchive(heights, 10, () => 'stored');
  const ours = new FakeArchive(heights, 10, (height, index) =>
    height % 60 === 0 && index === 3 ? 'missing' : 'stored',
  );
  const found = await differences(ours, theirs, 7_000);
  expect(
    found.flatMap((one) => (one.kind === 'different' ? one.ours : [])).filter((held) => held === 'missing'),
  ).toHaveLength(100);
  // With a question for each blob: 105 requests.
  expect(theirs.requests).toBeLessThanOrEqual(5);
  expect(theirs.bytes).toBeLessThanOrEqual(65_536);
});

test('a difference a little larger than is listed at once comes in a few parts, not in hundreds', async () => {
  const heights = Array.from({ length: 512 }, (_, index) => index);
  const theirs = new FakeArchive(heights, 33, () => 'stored');
  const ours = new FakeArchive(heights, 33, (height, index) => (height === 300 && index === 3 ? 'missing' : 'stored'));
  expect(await differences(ours, theirs, 511)).toHaveLength(1);
  expect(theirs.requests).toBe(2);
  expect(theirs.bytes).toBeLessThanOrEqual(2_048);
});

test.each([
  ['leaves occurrences out', (heights: number[]) => heights.slice(1)],
  ['makes occurrences up', (heights: number[]) => [...heights, 30_000]],
])('an archive that %s contradicts the chain, and is asked for nothing of it', async (_says, change) => {
  const heights = Array.from({ length: 900 }, (_, index) => index * 3);
  const ours = new FakeArchive(heights, 10, () => 'stored');
  const theirs = new FakeArchive(change(heights), 10, () => 'stored');
  const found = await differences(ours, theirs, 40_000);
  expect(found.map(({ kind }) => kind)).toContain('contradiction');
  expect(found.filter(({ kind }) => kind === 'different')).toEqual([]);
});

test('a part that contradicts the chain spoils nothing beside it', async () => {
  const heights = Array.from({ length: 6_000 }, (_, index) => index);
  const differs = (height: number, index: number) => index === 3 && [100, 1_100].includes(height);
  const ours = new FakeArchive(heights, 10, (height, index) => (differs(height, index) ? 'missing' : 'stored'));
  const theirs = new FakeArchive(
    heights.filter((height) => height !== 700),
    10,
    () => 'stored',
  );
  const found = await differences(ours, theirs, 5_999);
  expect(found.filter(({ kind }) => kind === 'contradiction')).toHaveLength(1);
  const different = found.flatMap((one) => (one.kind === 'different' ? one.ours : []));
  expect(different.filter((held) => held === 'missing')).toHaveLength(2);
});
