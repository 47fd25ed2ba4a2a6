import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AskInventory,
  compareInventories,
  type InventoryDifference,
} from '../../src/federation/compare-inventories.ts';
import { inventoryOf } from '../../src/federation/inventory-of-range.ts';
import { inventoryAnswer } from '../../src/federation/peer-answers.ts';
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

/** More occurrences than one answer lists, so that answers have parts. */
const BLOCKS = 600;

/** A change to an answer: a member of it, or of one of its parts, and the new value. */
const lie = fc.record({
  member: fc.constantFrom('from', 'to', 'digest', 'held', 'parts', 'counts', 'format'),
  part: fc.option(fc.nat(40)),
  value: fc.oneof(
    fc.jsonValue(),
    fc.nat(2 ** 33),
    fc.constantFrom(null, 'ab'.repeat(32), '16s', '1m15s', '999999999999s', 's', '0m', '1x'),
  ),
});

/** The answer with the change, as a peer's bytes are decoded; null: the decoder refuses it. */
function changed(answer: object, { member, part, value }: typeof lie extends fc.Arbitrary<infer T> ? T : never) {
  const text: unknown = JSON.parse(JSON.stringify({ ...answer, format: 1, chain: 'ab'.repeat(32) }));
  const whole = text as Record<string, unknown>;
  const parts = whole['parts'] as Record<string, unknown>[] | null;
  const target = part === null ? whole : (parts?.[part] ?? whole);
  target[member] = value;
  return inventoryAnswer.safeParse(whole).data ?? null;
}

test('a comparison with any answers that decode ends, in few questions, with sides of one length', async () => {
  const heights = Array.from({ length: BLOCKS }, (_, height) => height);
  const ours = remembered(new FakeArchive(heights, 30, () => 'stored'));
  const theirs = remembered(new FakeArchive(heights, 30, (height) => (height % 90 === 0 ? 'missing' : 'stored')));
  const honest = { questions: 0 };
  for await (const _ of compareInventories({ from: 0, to: BLOCKS - 1 }, ours, counted(theirs, honest)));
  expect(honest.questions).toBeGreaterThan(1);
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(lie, { minLength: 1, maxLength: 6 }), async (lies) => {
      const asked = { questions: 0 };
      const lying = counted(async (from, to) => {
        const answer = await theirs(from, to);
        const one = lies[asked.questions % lies.length];
        const decoded = one === undefined ? answer : changed(answer, one);
        if (decoded === null) refused += 1;
        return decoded ?? answer;
      }, asked);
      for await (const found of compareInventories({ from: 0, to: BLOCKS - 1 }, ours, lying)) {
        if (found.kind === 'different') expect(found.theirs.length).toBe(found.ours.length);
        else expect(found.says).not.toBe('');
      }
      // The archive's own parts bound the questions, whatever the other one answers.
      expect(asked.questions).toBeLessThanOrEqual(BLOCKS);
    }),
    { numRuns: Number(process.env['HOLDFAST_FUZZ_RUNS'] ?? 300) },
  );
  expect(refused).toBeGreaterThan(0);
});

/** Answers of an archive that does not change, each computed once. */
function remembered(archive: FakeArchive): AskInventory {
  const answers = new Map<string, ReturnType<AskInventory>>();
  return (from, to) => {
    const known = answers.get(`${from}-${to}`) ?? archive.ask(from, to);
    answers.set(`${from}-${to}`, known);
    return known;
  };
}

function counted(ask: AskInventory, count: { questions: number }): AskInventory {
  return (from, to) => {
    count.questions += 1;
    return ask(from, to);
  };
}
