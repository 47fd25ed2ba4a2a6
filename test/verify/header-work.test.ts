import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CHAIN_PROFILES,
  type ChainProfile,
  checkHeaderWork,
  expectedIndex,
  parseBlockHex,
  parseHeader,
  parseHeaderHex,
  VerifyError,
  workInWords,
} from '../../src/verify/index.ts';
import { cpuSeconds } from '../bench/cpu-time.ts';
import { compactSize, craftTransaction, prefixed, u32 } from './craft.ts';
import {
  craftMerged,
  headerBytes,
  indexByNode,
  type MergedParts,
  type MergedShape,
  mineHeader,
  scriptOf,
} from './craft-merge-mining.ts';
import { blocks } from './recorded-chain.ts';
import { mergedBlocks } from './recorded-merge-mining.ts';

const { main, test: testNetwork, regtest } = CHAIN_PROFILES;

/** `accepted`, or the code of the refusal. */
function outcome(bytes: Uint8Array, profile: ChainProfile = regtest): string {
  try {
    checkHeaderWork(parseHeader(bytes), profile);
    return 'accepted';
  } catch (error) {
    if (error instanceof VerifyError) return error.code;
    throw error;
  }
}

describe('headers that nodes accepted', () => {
  test.each(mergedBlocks.map((block) => [block.label, block] as const))('%s', (_, { header, block, hash }) => {
    const full = parseHeaderHex(header);
    expect(full.header.hash).toBe(hash);
    expect(checkHeaderWork(full, regtest)).toBe(2n);
    expect(checkHeaderWork(parseBlockHex(block).fullHeader, regtest)).toBe(2n);
  });

  test('every block of the recorded chain, none of which is merge-mined', () => {
    expect(blocks.length).toBeGreaterThan(20);
    for (const { hex } of blocks) expect(checkHeaderWork(parseBlockHex(hex).fullHeader, regtest)).toBe(2n);
  });

  test('a header of the Namecoin chain, four levels deep among the chains mined with it', () => {
    const hex = readFileSync(new URL('../vectors/namecoin-header-37174.hex', import.meta.url), 'latin1').trim();
    const namecoin = { ...main, name: 'namecoin', chainId: 1, formerChainId: null, easiestTarget: (1n << 224n) - 1n };
    const work = checkHeaderWork(parseHeaderHex(hex), namecoin);
    expect(workInWords(work)).toBe('work of 2^50.8 hashes');
    expect(outcome(Buffer.from(hex, 'hex'), main)).toBe('verify/chain-id');
  });

  test('trees of chains and of transactions up to the deepest that are allowed', () => {
    for (const depth of [0, 1, 2, 5, 12, 29, 30]) {
      expect(outcome(craftMerged({ chainDepth: depth, coinbaseDepth: depth }).whole)).toBe('accepted');
    }
  });

  test('the number that the chain had before, and no number at all where a network is not strict', () => {
    const former = { version: 0x10000102, chainId: 0 };
    expect(outcome(craftMerged({ ...former, chainDepth: 3 }).whole)).toBe('accepted');
    expect(
      outcome(craftMerged({ version: 0x20090100, chainId: 9 }).whole, {
        ...testNetwork,
        easiestTarget: regtest.easiestTarget,
      }),
    ).toBe('accepted');
  });
});

type Change = (parts: MergedParts) => Partial<MergedParts>;
const SHAPE: MergedShape = { chainDepth: 3, coinbaseDepth: 2 };
const swapped = (hashes: readonly Buffer[]) => hashes.toReversed();
const halvesSwapped = (bytes: Buffer) => Buffer.concat([bytes.subarray(16), bytes.subarray(0, 16)]);
const FORGERIES: readonly [string, string, Change, MergedShape?][] = [
  ['the number of another chain', 'verify/chain-id', () => ({}), { version: 0x20010100, chainId: 1 }],
  ['merge-mined without a number', 'verify/chain-id', () => ({}), { version: 0x20000100, chainId: 0 }],
  ['a parent of the same chain', 'verify/parent-chain-id', () => ({ parentVersion: 0x20100100 })],
  ['a parent of the same chain by its former number', 'verify/parent-chain-id', () => ({ parentVersion: 0x10000102 })],
  ['a chain branch of 31 hashes', 'verify/chain-branch-too-long', () => ({}), { chainDepth: 31 }],
  ['a coinbase branch of 31 hashes', 'verify/coinbase-branch-too-long', () => ({}), { coinbaseDepth: 31 }],
  ['a transaction that is not the first', 'verify/coinbase-index', () => ({ coinbaseIndex: 1 })],
  ['an index below zero', 'verify/coinbase-index', () => ({ coinbaseIndex: -1 })],
  ['a parent with another root', 'verify/coinbase-branch', () => ({ parentRoot: Buffer.alloc(32, 1) })],
  [
    'a coinbase without inputs',
    'verify/coinbase-input',
    () => ({ coinbase: Buffer.concat([u32(1), Buffer.of(0, 0), u32(0)]) }),
  ],
  ['a root of other chains', 'verify/chain-root-missing', () => ({ root: Buffer.alloc(32, 9) })],
  [
    'the root in the order of the wire',
    'verify/chain-root-missing',
    ({ root }) => ({ root: Buffer.from(root).reverse() }),
  ],
  ['the halves of the root swapped', 'verify/chain-root-missing', ({ root }) => ({ root: halvesSwapped(root) })],
  [
    'the hashes of the chain branch swapped',
    'verify/chain-root-missing',
    ({ chainBranch }) => ({ chainBranch: swapped(chainBranch) }),
  ],
  [
    'another place in the chain branch',
    'verify/chain-root-missing',
    ({ chainIndex }) => ({ chainIndex: chainIndex ^ 1 }),
  ],
  ['an index of the chain below zero', 'verify/chain-root-missing', () => ({ chainIndex: -1 })],
  ['an empty script', 'verify/chain-root-missing', () => ({ script: Buffer.alloc(0) })],
  ['the root without the magic bytes', 'verify/commitment-missing', () => ({ magic: Buffer.alloc(0) })],
  ['the magic bytes one bit off', 'verify/commitment-missing', () => ({ magic: Buffer.from('fabe6d6c', 'hex') })],
  [
    'two commitments',
    'verify/commitment-repeated',
    (parts) => ({ script: Buffer.concat([scriptOf(parts), scriptOf({ ...parts, root: Buffer.alloc(32, 3) })]) }),
  ],
  [
    'another commitment first',
    'verify/commitment-repeated',
    (parts) => ({ script: Buffer.concat([scriptOf({ ...parts, root: Buffer.alloc(32, 3) }), scriptOf(parts)]) }),
  ],
  [
    'the magic bytes twice at one place',
    'verify/commitment-repeated',
    ({ magic }) => ({ magic: Buffer.concat([magic, magic]) }),
  ],
  [
    'a byte between magic bytes and root',
    'verify/commitment-misplaced',
    ({ magic }) => ({ magic: Buffer.concat([magic, Buffer.of(0)]) }),
  ],
  [
    'the root once more before the magic bytes',
    'verify/commitment-misplaced',
    (parts) => ({ script: Buffer.concat([parts.root, scriptOf(parts)]) }),
  ],
  ['the nonce cut off', 'verify/commitment-truncated', (parts) => ({ script: scriptOf(parts).subarray(0, -1) })],
  ['another number of chains', 'verify/chain-tree-size', () => ({ size: 4 })],
  ['a number of chains of zero', 'verify/chain-tree-size', () => ({ size: 0 })],
  ['another nonce', 'verify/chain-index', ({ nonce }) => ({ nonce: nonce + 1 })],
  ['a parent with too little work', 'verify/work-insufficient', () => ({ meetsTarget: false })],
];

describe('forged merge-mining data', () => {
  test('are accepted before they are changed', () => expect(outcome(craftMerged(SHAPE).whole)).toBe('accepted'));

  test.each(FORGERIES)('%s: %s', (_, code, change, shape = {}) => {
    expect(outcome(craftMerged({ ...SHAPE, ...shape }, change).whole)).toBe(code);
  });

  test('the hashes of the coinbase branch swapped', () => {
    const honest = craftMerged(SHAPE);
    const [one, two] = [Buffer.alloc(32, 0x80), Buffer.alloc(32, 0x81)];
    const at = honest.whole.indexOf(Buffer.concat([one, two]));
    const changed = Buffer.concat([honest.whole.subarray(0, at), two, one, honest.whole.subarray(at + 64)]);
    expect(outcome(changed)).toBe('verify/coinbase-branch');
  });

  test('the branches of coinbase and chain exchanged', () => {
    const change: Change = ({ chainBranch, coinbaseBranch }) => ({
      chainBranch: coinbaseBranch,
      coinbaseBranch: chainBranch,
    });
    expect(outcome(craftMerged({ chainDepth: 2, coinbaseDepth: 2 }, change).whole)).toBe('verify/chain-root-missing');
  });

  test('the data of one block behind the header of another', () => {
    const [one, two] = mergedBlocks.map(({ header }) => Buffer.from(header, 'hex'));
    if (one === undefined || two === undefined) throw new Error('There are four.');
    expect(outcome(Buffer.concat([one.subarray(0, 80), two.subarray(80)]))).toBe('verify/chain-root-missing');
  });

  test('no data at all', () => {
    expect(outcome(craftMerged().header)).toBe('verify/merge-mining-missing');
  });

  test('one coinbase commits to one header of a chain, whatever its nonce', () => {
    const other = headerBytes({ version: 0x20100100, time: 1 }, 0);
    const change: Change = ({ root }) => ({ header: other, root });
    expect(outcome(craftMerged(SHAPE, change).whole)).toBe('verify/chain-root-missing');
  });

  test('no changed byte of the recorded data goes unseen, where anything covers it', () => {
    for (const { header } of mergedBlocks) {
      const bytes = Buffer.from(header, 'hex');
      const coinbase = parseHeader(bytes).mergeMining?.coinbase;
      if (coinbase === undefined) throw new Error('All four are merge-mined.');
      const coinbaseEnd = 80 + coinbase.raw.length;
      const witnessStart = coinbase.hasWitness ? coinbaseEnd - 36 : coinbaseEnd;
      const parent = bytes.length - 80;
      for (let at = 80; at < bytes.length; at += 1) {
        // Nothing covers the witness of the coinbase, nor the hash of the parent block behind it.
        const isUncovered =
          (at >= witnessStart && at < coinbaseEnd - 4) || (at >= coinbaseEnd && at < coinbaseEnd + 32);
        // Every second hash meets the target of regtest: a parent that is changed may meet it as well.
        const isRoot = at >= parent + 36 && at < parent + 68;
        if (at >= parent && !isRoot) continue;
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ 1;
        expect(outcome(changed) === 'accepted', `byte ${at}`).toBe(isUncovered);
      }
    }
  });
});

describe('targets', () => {
  const withBits = (bits: number) => headerBytes({ bits }, 0);
  test.each([
    ['negative', 0x04923456, 'verify/target-negative'],
    ['negative, of one byte', 0x01fe0000, 'verify/target-negative'],
    ['more than 256 bits, of three bytes', 0x21010000, 'verify/target-overflow'],
    ['more than 256 bits, of two bytes', 0x22000100, 'verify/target-overflow'],
    ['more than 256 bits, of one byte', 0x23000001, 'verify/target-overflow'],
    ['far more', 0xff123456, 'verify/target-overflow'],
    ['zero', 0x00000000, 'verify/target-zero'],
    ['zero with a length', 0x20000000, 'verify/target-zero'],
    ['zero because it is shifted out', 0x00123456, 'verify/target-zero'],
    ['zero with a sign', 0x04800000, 'verify/target-zero'],
    ['zero, shifted out, with a sign', 0x01803456, 'verify/target-zero'],
    ['easier than the chain allows', 0x21008000, 'verify/target-too-easy'],
    ['hard, and not met', 0x1d00ffff, 'verify/work-insufficient'],
    ['of one, and not met', 0x03000001, 'verify/work-insufficient'],
  ])('%s: 0x%s', (_, bits, code) => expect(outcome(withBits(bits))).toBe(code));

  test('a header of regtest is too easy for the other networks', () => {
    const easy = mineHeader({});
    expect(outcome(easy)).toBe('accepted');
    expect(outcome(easy, main)).toBe('verify/target-too-easy');
    expect(outcome(easy, testNetwork)).toBe('verify/target-too-easy');
  });

  test('a header whose own hash misses the target', () => {
    expect(outcome(mineHeader({}, { meetsTarget: false }))).toBe('verify/work-insufficient');
  });
});

describe('properties', () => {
  const depth = fc.integer({ min: 0, max: 30 });

  test('the place of a chain is the one that the node computes in 64 bits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 0xffffffff }),
        fc.integer({ min: 0, max: 31 }),
        depth,
        (nonce, id, deep) => {
          expect(expectedIndex(nonce, id, deep)).toBe(indexByNode(nonce, id, deep));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test('every header mined by the rules is accepted', () => {
    const shape = fc.record({
      chainDepth: depth,
      coinbaseDepth: depth,
      nonce: fc.integer({ min: 0, max: 0xffffffff }),
      time: fc.integer({ min: 0, max: 0xffffffff }),
    });
    fc.assert(fc.property(shape, (fields) => outcome(craftMerged(fields).whole) === 'accepted'));
  });

  test('any bytes behind a header, and any change of real ones, give an answer or a VerifyError', () => {
    const real = mergedBlocks.map(({ header }) => Buffer.from(header, 'hex'));
    const change = fc.tuple(fc.nat(2_000), fc.nat(40), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(
        fc.nat(3),
        fc.array(change, { maxLength: 4 }),
        fc.uint8Array({ maxLength: 300 }),
        (which, changes, tail) => {
          let bytes = real[which] ?? Buffer.alloc(0);
          for (const [at, drop, insert] of changes) {
            const from = at % (bytes.length + 1);
            bytes = Buffer.concat([bytes.subarray(0, from), insert, bytes.subarray(from + drop)]);
          }
          outcome(bytes);
          outcome(Buffer.concat([bytes.subarray(0, 80), tail]));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test('a script of a mebibyte is searched in no time', () => {
    const script = Buffer.alloc(1 << 20, 0xfa);
    const start = cpuSeconds();
    expect(outcome(craftMerged({}, () => ({ script })).whole)).toBe('verify/chain-root-missing');
    const coinbase = craftTransaction({ inputScript: Buffer.concat([prefixed(script), compactSize(0)]) });
    expect(outcome(craftMerged({}, () => ({ coinbase })).whole)).toBe('verify/chain-root-missing');
    expect(cpuSeconds() - start).toBeLessThan(2);
  });
});
