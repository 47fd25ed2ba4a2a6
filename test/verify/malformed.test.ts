import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHex } from '../../src/core/blob/hex.ts';
import {
  Block,
  checkMerkleProof,
  parseBlock,
  parseBlockHex,
  parseHeader,
  parseHeaderHex,
  parseTransaction,
  VerifyError,
} from '../../src/verify/index.ts';
import { cpuSeconds } from '../bench/cpu-time.ts';
import {
  commitment,
  compactSize,
  craftBlock,
  craftHeader,
  craftTransaction,
  doubleSha,
  merkleRootOf,
} from './craft.ts';
import { blocks } from './recorded-chain.ts';

const codeOf = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    if (error instanceof VerifyError) return error.code;
    throw error;
  }
  return 'accepted';
};
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const INPUT = `${'00'.repeat(36)} 00 ffffffff`;

describe('transactions', () => {
  test.each([
    ['nothing', '', 'verify/truncated'],
    ['a version alone', '02000000', 'verify/truncated'],
    ['2³² − 1 inputs', '02000000 feffffffff', 'verify/absurd-count'],
    ['2⁶⁴ − 1 inputs', '02000000 ffffffffffffffffff', 'verify/absurd-count'],
    ['more outputs than bytes', `02000000 01 ${INPUT} fd0010 00`, 'verify/absurd-count'],
    ['a size written longer than needed', '02000000 fd0100', 'verify/malformed'],
    ['a size written much longer than needed', '02000000 feffff0000', 'verify/malformed'],
    ['an unknown flag', '02000000 00 02', 'verify/malformed'],
    ['the witness form without a witness', `02000000 0001 01 ${INPUT} 00 00 00000000`, 'verify/malformed'],
    ['the witness form without inputs', '02000000 0001 00 00 00000000', 'verify/malformed'],
    ['a byte more', `02000000 01 ${INPUT} 00 00000000 00`, 'verify/trailing-bytes'],
    ['a script that runs out', `02000000 01 ${'00'.repeat(36)} 20 ffffffff`, 'verify/truncated'],
  ])('%s is refused', (_, bytes, code) => expect(codeOf(() => parseTransaction(hex(bytes)))).toBe(code));

  test('neither inputs nor outputs: the node reads it, so do we', () => {
    const empty = parseTransaction(hex('02000000 00 00 63000000'));
    expect(empty.outputs()).toEqual([]);
    expect(Buffer.from(empty.hash)).toEqual(doubleSha(hex('02000000 00 00 63000000')));
  });

  test('the id leaves witnesses out', () => {
    const scripts = [commitment(Buffer.alloc(32, 1))];
    const plain = parseTransaction(craftTransaction({ version: 137, scripts }));
    const witness = [Buffer.alloc(64, 9), Buffer.alloc(0)];
    const signed = parseTransaction(craftTransaction({ version: 137, scripts, witness }));
    expect(signed.txid).toBe(plain.txid);
    expect(signed.raw.length).toBeGreaterThan(plain.raw.length);
    expect(signed.outputs()).toEqual(plain.outputs());
  });
});

describe('blocks', () => {
  const three = [1, 2, 3].map((sequence) => craftTransaction({ sequence }));

  test('transactions that are not those of the header', () => {
    const merkleRoot = merkleRootOf(three.slice(0, 2));
    expect(codeOf(() => parseBlock(craftBlock(three, { merkleRoot })).merkleTree())).toBe('verify/merkle-root');
  });

  test('transactions repeated so that the root stays the same (CVE-2012-2459)', () => {
    const [one, two, three_] = three;
    if (one === undefined || two === undefined || three_ === undefined) throw new Error('There are three.');
    const twice = [one, two, three_, three_];
    expect(merkleRootOf(twice)).toEqual(merkleRootOf(three));
    const code = codeOf(() => parseBlock(craftBlock(twice, { merkleRoot: merkleRootOf(three) })).merkleTree());
    expect(code).toBe('verify/duplicate-transactions');
    const six = [one, two, three_, one, one, two];
    const eight = [...six, one, two];
    expect(merkleRootOf(eight)).toEqual(merkleRootOf(six));
    expect(codeOf(() => parseBlock(craftBlock(eight)).merkleTree())).toBe('verify/duplicate-transactions');
  });

  test('a transaction that is there twice, and not as a pair of the tree', () => {
    const [coinbase, twice] = three;
    if (coinbase === undefined || twice === undefined) throw new Error('There are three.');
    expect(codeOf(() => parseBlock(craftBlock([coinbase, twice, twice])).merkleTree())).toBe(
      'verify/duplicate-transactions',
    );
  });

  test('no transactions under a root of zeros', () => {
    const empty = parseBlock(craftBlock([], { merkleRoot: Buffer.alloc(32) }));
    expect(codeOf(() => empty.merkleTree())).toBe('verify/merkle-root');
  });

  test('a count without the bytes for it', () => {
    const bytes = Buffer.concat([craftHeader(Buffer.alloc(32)), hex('feffffff01')]);
    expect(codeOf(() => parseBlock(bytes))).toBe('verify/absurd-count');
  });

  test('hex that is none', () => {
    expect(codeOf(() => parseBlockHex('zz'))).toBe('verify/malformed');
    expect(codeOf(() => parseHeaderHex('abc'))).toBe('verify/malformed');
  });

  test('a real block, cut anywhere or followed by a byte', () => {
    const bytes = decodeHex(blocks[4]?.hex ?? '');
    for (let length = 0; length < bytes.length; length += 1) {
      expect(codeOf(() => parseBlock(bytes.subarray(0, length)))).toMatch(/truncated|absurd-count/);
    }
    expect(codeOf(() => parseBlock(Buffer.concat([bytes, Buffer.of(0)])))).toBe('verify/trailing-bytes');
  });
});

/** Every input gives an answer or a `VerifyError`, never another error, never a hang. */
describe('garbage', () => {
  const whole = (bytes: Uint8Array) => {
    codeOf(() => {
      const block = parseBlock(bytes);
      block.merkleTree();
      for (const transaction of block.transactions) transaction.outputs();
    });
    codeOf(() => parseTransaction(bytes));
    codeOf(() => parseHeader(bytes));
    codeOf(() => checkMerkleProof(bytes));
  };

  test('any bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), whole), { numRuns: 2_000 });
  });

  test('a real header, then any bytes; with and without merge-mining and execution-layer bits', () => {
    const version = fc.constantFrom(0x20000000, 0x20000100, 0x20000080, 0x20000180);
    fc.assert(
      fc.property(version, fc.uint8Array({ maxLength: 400 }), (bits, rest) =>
        whole(Buffer.concat([craftHeader(Buffer.alloc(32), bits), rest])),
      ),
      { numRuns: 2_000 },
    );
  });

  test('a real block with bytes changed, left out or put in', () => {
    const real = decodeHex(blocks[4]?.hex ?? '');
    const change = fc.tuple(fc.nat(real.length - 1), fc.nat(3), fc.uint8Array({ maxLength: 3 }));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        let bytes = Buffer.from(real);
        for (const [at, drop, insert] of changes) {
          bytes = Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + drop)]);
        }
        whole(bytes);
      }),
      { numRuns: 2_000 },
    );
  });

  test('a count of 16 million without bytes costs no memory and no time', () => {
    const bytes = Buffer.concat([craftHeader(Buffer.alloc(32)), compactSize(16_000_000), Buffer.alloc(64)]);
    const start = cpuSeconds();
    for (let turn = 0; turn < 1_000; turn += 1) codeOf(() => parseBlock(bytes));
    expect(cpuSeconds() - start).toBeLessThan(1);
    expect(parseBlock(craftBlock([craftTransaction({})]))).toBeInstanceOf(Block);
  });
});
