import { readFileSync } from 'node:fs';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, test } from 'vitest';
import { decodeHex, encodeHex } from '../../src/core/blob/hex.ts';
import { toDisplayHex } from '../../src/verify/hash-bytes.ts';
import {
  buildMerkleProof,
  checkMerkleProof,
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  occurrencesOf,
  parseBlock,
  parseHeader,
  parseHeaderHex,
  VerifyError,
  verifyOccurrence,
} from '../../src/verify/index.ts';
import { commitment, compactSize, craftBlock, craftHeader, craftTransaction, doubleSha, u32 } from './craft.ts';

const MERGE_MINED = 0x20000100;
const EXECUTION_DATA = 0x20000080;
const BYTES = new TextEncoder().encode('merge-mined');
const BLOB = craftTransaction({ version: 137, scripts: [commitment(keccak_256(BYTES))] });
const TRANSACTIONS = [craftTransaction({ sequence: 1 }), BLOB, craftTransaction({ sequence: 2 })];

/** `CAuxPow`: coinbase, hash of its block, its branch and index, chain branch and index, parent header. */
function craftMergeMining(coinbase: Buffer): Buffer {
  const hash = (byte: number) => Buffer.alloc(32, byte);
  return Buffer.concat([
    coinbase,
    hash(0),
    compactSize(3),
    hash(1),
    hash(2),
    hash(3),
    u32(0),
    compactSize(1),
    hash(4),
    u32(1),
    craftHeader(hash(9)),
  ]);
}

const PLAIN = craftMergeMining(craftTransaction({ inputScript: Buffer.from('fabe6d6d', 'hex') }));
const COINBASE_WITH_WITNESS = craftTransaction({ witness: [Buffer.alloc(32)] });
const WITH_WITNESS = craftMergeMining(COINBASE_WITH_WITNESS);

/**
 * Origin: header of block 37,174 of the Namecoin chain, which is public; also a vector of the tests of libdohj and
 * electrum-nmc, whose expectations (coinbase id, indexes) are repeated here.
 */
describe('a header of a real merge-mined chain', () => {
  const hex = readFileSync(new URL('../vectors/namecoin-header-37174.hex', import.meta.url), 'latin1').trim();
  const { header, mergeMining, raw } = parseHeaderHex(hex);
  if (mergeMining === null) throw new Error('It is merge-mined.');

  test('has the parts that others see in it', () => {
    expect(header.previousHash).toBe('8adc6de6bd46c73aa631a72b29e21e84e49a06ce99002a77dce0b5aca4bf81d6');
    expect(mergeMining.coinbase.txid).toBe('8a3164be45a621f85318647d425fe9f45837b8e42ec4fdd902d7f64daf61ff4a');
    expect(mergeMining).toMatchObject({ coinbaseIndex: 0, chainIndex: 11 });
    expect([mergeMining.coinbaseBranch.length, mergeMining.chainBranch.length]).toEqual([5, 4]);
    expect(encodeHex(raw)).toBe(hex);
  });

  test('is tied together: coinbase to the parent’s root, this block’s hash into the coinbase', () => {
    const fold = (leaf: Uint8Array, branch: readonly Uint8Array[], index: number) =>
      branch.reduce<Uint8Array>(
        (node, sibling, level) =>
          doubleSha(Buffer.concat(((index >> level) & 1) === 1 ? [sibling, node] : [node, sibling])),
        leaf,
      );
    const parent = parseHeader(mergeMining.parentHeader).header;
    const { coinbase, coinbaseBranch, coinbaseIndex, chainBranch, chainIndex } = mergeMining;
    expect(fold(coinbase.hash, coinbaseBranch, coinbaseIndex)).toEqual(Buffer.from(parent.merkleRoot));
    const chainRoot = fold(doubleSha(header.raw), chainBranch, chainIndex);
    expect(encodeHex(coinbase.raw)).toContain(`fabe6d6d${toDisplayHex(chainRoot)}`);
  });

  test('cut anywhere, it is refused', () => {
    const bytes = decodeHex(hex);
    for (let length = 81; length < bytes.length; length += 1) {
      expect(() => parseHeader(bytes.subarray(0, length))).toThrow(VerifyError);
    }
    expect(() => parseHeader(Buffer.concat([bytes, Buffer.of(0)]))).toThrow(/1 bytes follow/);
  });

  test('the 80 bytes alone are a header too', () => {
    const alone = parseHeader(raw.subarray(0, 80));
    expect(alone).toMatchObject({ mergeMining: null, header: { hash: header.hash } });
  });
});

describe.each([
  ['plain', PLAIN],
  ['with a witness in the parent’s coinbase', WITH_WITNESS],
])('a merge-mined block, %s', (_, mergeMining) => {
  const block = parseBlock(craftBlock(TRANSACTIONS, { version: MERGE_MINED, mergeMining }));
  const [occurrence] = occurrencesOf(block).occurrences;
  if (occurrence === undefined) throw new Error('It has one.');
  const record = makeOccurrenceRecord(block, occurrence, { size: BYTES.length, height: 7 });

  test('hashes over its 80 bytes, has its transactions, keeps its data', () => {
    expect(block.header.hash).toBe(toDisplayHex(doubleSha(block.header.raw)));
    expect(block.transactions).toHaveLength(3);
    expect(Buffer.from(block.fullHeader.raw.subarray(80))).toEqual(mergeMining);
    block.merkleTree();
  });

  test('has a record with its data, which verifies', () => {
    expect(record.header).toBe(encodeHex(Buffer.concat([block.header.raw, mergeMining])));
    expect(verifyOccurrence(BYTES, record)).toMatchObject({ ok: true });
    expect(encodeOccurrenceRecord(record)).toContain(mergeMining.toString('hex'));
  });

  test('has a proof with its data, without witnesses, as the node serialises proofs', () => {
    const proof = buildMerkleProof(block, [occurrence.txid]);
    const stripped = mergeMining === PLAIN ? PLAIN : craftMergeMining(craftTransaction({}));
    expect(Buffer.from(proof).subarray(80, 80 + stripped.length)).toEqual(stripped);
    expect(checkMerkleProof(proof).proven).toEqual([{ txid: occurrence.txid, transactionIndex: 1 }]);
  });

  test('a proof that has the 80 bytes alone is accepted as well', () => {
    const bare = parseBlock(craftBlock(TRANSACTIONS, { version: 0x20000000 }));
    const tree = buildMerkleProof(bare, [occurrence.txid]).subarray(80);
    const proof = Buffer.concat([block.header.raw, tree]);
    expect(checkMerkleProof(proof)).toMatchObject({ header: { hash: block.header.hash }, transactionCount: 3 });
  });
});

/** `CBlock` of the public node: blocks that carry a second layer have its bytes behind their transactions. */
describe('execution-layer data behind the transactions', () => {
  test('are kept apart and checked by nothing', () => {
    const data = Buffer.alloc(70_000, 3);
    const after = Buffer.concat([compactSize(data.length), data]);
    const block = parseBlock(craftBlock(TRANSACTIONS, { version: EXECUTION_DATA, after }));
    expect(Buffer.from(block.executionData ?? [])).toEqual(data);
    block.merkleTree();
  });

  test('may be empty or absent', () => {
    expect(
      parseBlock(craftBlock(TRANSACTIONS, { version: EXECUTION_DATA, after: Buffer.of(0) })).executionData,
    ).toHaveLength(0);
    expect(parseBlock(craftBlock(TRANSACTIONS, { version: EXECUTION_DATA })).executionData).toBeNull();
  });

  test('nothing may follow them, nor a block without them', () => {
    const trailing = { version: EXECUTION_DATA, after: Buffer.from('0100ff', 'hex') };
    expect(() => parseBlock(craftBlock(TRANSACTIONS, trailing))).toThrow(/bytes follow the end of the block/);
    expect(() => parseBlock(craftBlock(TRANSACTIONS, { after: Buffer.of(0) }))).toThrow(/1 bytes follow/);
  });
});
