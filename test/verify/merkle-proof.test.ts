import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTxId } from '../../src/core/blob/ids.ts';
import {
  type Block,
  buildMerkleProof,
  checkMerkleProof,
  MAX_BLOCK_TRANSACTIONS,
  parseBlock,
  VerifyError,
} from '../../src/verify/index.ts';
import { compactSize, craftBlock, craftHeader, craftTransaction, u32 } from './craft.ts';

function blockOf(count: number): Block {
  return parseBlock(craftBlock(Array.from({ length: count }, (_, sequence) => craftTransaction({ sequence }))));
}

function refusal(proof: Uint8Array): string {
  try {
    checkMerkleProof(proof);
  } catch (error) {
    if (error instanceof VerifyError) return error.message;
    throw error;
  }
  return 'accepted';
}

const someBlock = fc.integer({ min: 1, max: 70 }).chain((count) =>
  fc.record({
    block: fc.constant(count).map(blockOf),
    chosen: fc.uniqueArray(fc.nat(count - 1), { minLength: 1, maxLength: 5 }),
  }),
);

test('a proof built for any transactions of any block proves these, at their places', () => {
  fc.assert(
    fc.property(someBlock, ({ block, chosen }) => {
      const wanted = chosen
        .sort((a, b) => a - b)
        .map((index) => ({ index, txid: block.transactions[index]?.txid ?? '' }));
      const proof = buildMerkleProof(
        block,
        wanted.map(({ txid }) => parseTxId(txid)),
      );
      const { proven, transactionCount, header } = checkMerkleProof(proof);
      expect(proven).toEqual(wanted.map(({ index, txid }) => ({ txid, transactionIndex: index })));
      expect(transactionCount).toBe(block.transactions.length);
      expect(header.hash).toBe(block.header.hash);
    }),
    { numRuns: 300 },
  );
});

/**
 * Expects a refusal or a true statement. The root commits neither to the number of transactions nor to the marked
 * leaves, so some changes state another true fact. Bits of the header make another header.
 */
function expectTrue(block: Block, proof: Uint8Array, bit: number): void {
  const changed = Uint8Array.from(proof);
  changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  if (refusal(changed) !== 'accepted') return;
  const { proven, header } = checkMerkleProof(changed);
  if (bit >> 3 < 80) expect(header.hash).not.toBe(block.header.hash);
  else expect(header.hash).toBe(block.header.hash);
  for (const { txid, transactionIndex } of proven) expect(block.transactions[transactionIndex]?.txid).toBe(txid);
}

test('a proof with any bit flipped proves nothing untrue', () => {
  fc.assert(
    fc.property(someBlock, fc.nat(), ({ block, chosen }, at) => {
      const txids = chosen.map((index) => parseTxId(block.transactions[index]?.txid ?? ''));
      const proof = buildMerkleProof(block, txids);
      expectTrue(block, proof, at % (proof.length * 8));
    }),
    { numRuns: 1_000 },
  );
});

test('every single bit of one proof, and every cut', () => {
  const block = blockOf(11);
  const proof = buildMerkleProof(block, [parseTxId(block.transactions[6]?.txid ?? '')]);
  for (let bit = 0; bit < proof.length * 8; bit += 1) expectTrue(block, proof, bit);
  for (let length = 0; length < proof.length; length += 1) {
    expect(refusal(proof.subarray(0, length))).not.toBe('accepted');
  }
  expect(refusal(Buffer.concat([proof, Buffer.of(0)]))).toContain('bytes follow');
});

describe('forged proofs', () => {
  const zero = Buffer.alloc(32);
  const craft = (count: number, hashes: readonly Uint8Array[], flags: readonly number[], root: Uint8Array = zero) =>
    Buffer.concat([
      craftHeader(root),
      u32(count),
      compactSize(hashes.length),
      ...hashes,
      compactSize(flags.length),
      Buffer.from(flags),
    ]);

  test.each([
    ['no transactions, and a root of zeros to match the failure', craft(0, [], [1])],
    ['no transactions and no flags', craft(0, [], [])],
    ['more transactions than a block has room for', craft(MAX_BLOCK_TRANSACTIONS + 1, [zero], [1])],
    ['2³² − 1 transactions', craft(0xffffffff, [zero], [1])],
    ['more hashes than transactions', craft(1, [zero, zero], [1])],
    ['no hashes', craft(1, [], [1])],
    ['no flags', craft(1, [zero], [])],
    ['flags that nothing asks for', craft(1, [zero], [1, 0])],
    ['padding that is not zero', craft(1, [zero], [0b11])],
    ['no transaction named', craft(1, [zero], [0])],
    ['equal neighbours', craft(2, [zero, zero], [0b111])],
    ['a hash left over', craft(2, [zero, zero], [0])],
  ])('%s', (_, proof) => expect(refusal(proof)).not.toBe('accepted'));

  test('a root of zeros proves a transaction whose id is zero, and no other: the id is checked against the bytes', () => {
    expect(checkMerkleProof(craft(1, [zero], [1])).proven).toEqual([{ txid: '0'.repeat(64), transactionIndex: 0 }]);
  });

  test('a transaction that the block does not have', () => {
    const block = blockOf(2);
    expect(() => buildMerkleProof(block, [parseTxId('0'.repeat(64))])).toThrow(/has no transaction 0000/);
    expect(() => buildMerkleProof(block, [])).toThrow(VerifyError);
  });
});
