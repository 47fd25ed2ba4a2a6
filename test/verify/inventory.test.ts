import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nobleHasher } from '../../src/verify/hasher.ts';
import {
  DIGEST_BYTES,
  digestOfBlock,
  HOLDINGS,
  HoldingRuns,
  holdingsOf,
  InventoryTree,
  OCCURRENCE_BYTES,
  parseHoldingRuns,
  spanOf,
} from '../../src/verify/inventory.ts';

const EMPTY = new Uint8Array(DIGEST_BYTES);
const keccak = (...parts: readonly Uint8Array[]) => nobleHasher.keccak256(Buffer.concat(parts));

/** The definition, word by word: two halves, down to the blocks. */
function byDefinition(blocks: ReadonlyMap<number, Uint8Array>, level: number, index: number): Uint8Array {
  const inside = [...blocks.keys()].filter((height) => Math.floor(height / 2 ** level) === index);
  if (inside.length === 0) return EMPTY;
  if (level === 0) return blocks.get(index) ?? EMPTY;
  return keccak(
    Uint8Array.of(1),
    byDefinition(blocks, level - 1, index * 2),
    byDefinition(blocks, level - 1, index * 2 + 1),
  );
}

const height = fc.oneof(fc.nat(40), fc.integer({ min: 1_000_000, max: 1_000_300 }), fc.nat(2 ** 32 - 1));
const heights = fc.uniqueArray(height, { maxLength: 24 }).map((found) => found.toSorted((a, b) => a - b));
const leafOf = (at: number) => keccak(Buffer.from(`block ${at}`));

test('the root is that of the definition, at any heights', () => {
  fc.assert(
    fc.property(heights, fc.nat(50), fc.nat(50), (found, below, above) => {
      const from = Math.max(0, (found[0] ?? 7) - below);
      const to = Math.min(2 ** 32 - 1, (found.at(-1) ?? 7) + above);
      const tree = new InventoryTree(nobleHasher);
      for (const at of found) tree.add({ level: 0, index: at }, leafOf(at));
      const span = spanOf(from, to);
      const blocks = new Map(found.map((at) => [at, leafOf(at)]));
      expect(tree.root(span)).toEqual(byDefinition(blocks, span.level, span.index));
    }),
  );
});

test('the roots of aligned parts, joined, are the root of the whole', () => {
  fc.assert(
    fc.property(heights, fc.nat(12), (found, bits) => {
      const [from, to] = [found[0] ?? 0, found.at(-1) ?? 0];
      const whole = new InventoryTree(nobleHasher);
      const joined = new InventoryTree(nobleHasher);
      for (const at of found) whole.add({ level: 0, index: at }, leafOf(at));
      const partOf = (at: number) => Math.floor(at / 2 ** bits);
      for (const part of new Set(found.map(partOf))) {
        const inside = found.filter((at) => partOf(at) === part);
        const tree = new InventoryTree(nobleHasher);
        for (const at of inside) tree.add({ level: 0, index: at }, leafOf(at));
        const span = spanOf(Math.max(from, part * 2 ** bits), Math.min(to, (part + 1) * 2 ** bits - 1));
        joined.add(span, tree.root(span));
      }
      expect(joined.root(spanOf(from, to))).toEqual(whole.root(spanOf(from, to)));
    }),
  );
});

test('the digest of a block covers its hash and each byte of its occurrences', () => {
  const occurrences = Uint8Array.from({ length: 2 * OCCURRENCE_BYTES }, (_, index) => index % 5);
  const block = { height: 1, blockHash: new Uint8Array(32).fill(9), occurrences };
  expect(digestOfBlock(nobleHasher, block)).toEqual(keccak(Uint8Array.of(0), block.blockHash, occurrences));
});

test('a holding is the last byte of its occurrence, and one that does not exist is refused', () => {
  const occurrences = new Uint8Array(HOLDINGS.length * OCCURRENCE_BYTES);
  for (const [index] of HOLDINGS.entries()) occurrences[(index + 1) * OCCURRENCE_BYTES - 1] = index;
  expect(holdingsOf({ occurrences })).toEqual(HOLDINGS);
  expect(() => holdingsOf({ occurrences: occurrences.fill(6) })).toThrow(RangeError);
  expect(() => holdingsOf({ occurrences: new Uint8Array(71) })).toThrow(RangeError);
});

test('run lengths come back as they were, and anything else is refused', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...HOLDINGS), { maxLength: 60 }), (holdings) => {
      const runs = new HoldingRuns();
      for (const holding of holdings) runs.add(holding);
      const text = runs.text();
      expect(parseHoldingRuns(text, holdings.length)).toEqual(holdings);
      expect(parseHoldingRuns(text, holdings.length + 1)).toBeNull();
    }),
  );
  for (const bad of ['s', '1x', '0s', '-1s', '1s ', '9999999999s', '1s1', '٣s']) {
    expect(parseHoldingRuns(bad, 1)).toBeNull();
  }
});
