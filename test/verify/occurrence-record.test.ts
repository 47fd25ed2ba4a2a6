import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import {
  type ChainVerdict,
  checkHeaderOnChain,
  decodeOccurrenceRecord,
  encodeOccurrenceRecord,
  type HeaderAnswer,
  makeOccurrenceRecord,
  nobleHasher,
  type OccurrenceRecord,
  occurrencesOf,
  parseBlock,
  parseOccurrenceRecord,
  parseVersionHash,
  type VerifiedBlob,
  VerifyError,
  verifyBlob,
  verifyBlobOccurrence,
  verifyOccurrence,
} from '../../src/verify/index.ts';
import { commitment, craftBlock, craftTransaction } from './craft.ts';

const BYTES = new TextEncoder().encode('a blob');
const OTHER = Buffer.alloc(32, 7);
const MINE = commitment(nobleHasher.keccak256(BYTES));

function recordOf(scripts: readonly Uint8Array[], vout = 0, others = 2): OccurrenceRecord {
  const carrier = craftTransaction({ version: 137, scripts, witness: [Buffer.alloc(64)] });
  const bare = craftTransaction({ version: 137, scripts });
  const rest = Array.from({ length: others }, (_, sequence) => craftTransaction({ sequence }));
  const root = parseBlock(craftBlock([...rest, bare])).header.merkleRoot;
  const block = parseBlock(craftBlock([...rest, carrier], { merkleRoot: root }));
  const txid = block.transactions.at(-1)?.txid ?? parseTxId('');
  const versionHash = encodeHex(nobleHasher.keccak256(BYTES));
  const named = occurrencesOf(block).occurrences.find((one) => one.versionHash === versionHash);
  const found = named ?? decodeName(versionHash);
  return makeOccurrenceRecord(block, { ...found, txid, vout }, { size: BYTES.length, height: 9 });
}

function decodeName(versionHash: string) {
  const { hashType, versionHash: parsed } = decodeOccurrenceRecord({
    version: 1,
    hashType: 'keccak256',
    versionHash,
    size: 1,
    txid: '0'.repeat(64),
    vout: 0,
    height: 0,
    blockHash: '0'.repeat(64),
    header: '',
    transaction: '',
    merkleProof: '',
  });
  return { hashType, versionHash: parsed };
}

const RECORD = recordOf([MINE]);

describe('the file of a record', () => {
  test('is the same bytes whatever the order of the keys, and ends with a newline', () => {
    const text = encodeOccurrenceRecord(RECORD);
    const shuffled = JSON.stringify(Object.fromEntries(Object.entries(RECORD).reverse()));
    expect(encodeOccurrenceRecord(parseOccurrenceRecord(shuffled))).toBe(text);
    expect(text.startsWith('{\n  "version": 1,\n  "hashType": "keccak256",\n')).toBe(true);
    expect(text.endsWith('"\n}\n')).toBe(true);
    expect(Object.keys(JSON.parse(text))).toEqual([
      ...['version', 'hashType', 'versionHash', 'size', 'txid', 'vout', 'height', 'blockHash'],
      ...['header', 'transaction', 'merkleProof'],
    ]);
  });

  test.each<[string, unknown]>([
    ['null', null],
    ['an array', [RECORD]],
    ['a text', 'record'],
    ['another version', { ...RECORD, version: 2 }],
    ['no version', { ...RECORD, version: undefined }],
    ['a field more', { ...RECORD, finality: 'final' }],
    ['an unknown hash type', { ...RECORD, hashType: 'sha256' }],
    ['upper-case hex', { ...RECORD, versionHash: RECORD.versionHash.toUpperCase() }],
    ['a short hash', { ...RECORD, txid: RECORD.txid.slice(2) }],
    ['half a byte', { ...RECORD, header: `${RECORD.header}0` }],
    ['a size of 0', { ...RECORD, size: 0 }],
    ['a size that no blob has', { ...RECORD, size: 2_097_153 }],
    ['a size with a fraction', { ...RECORD, size: 1.5 }],
    ['a number as text', { ...RECORD, vout: '0' }],
    ['a negative height', { ...RECORD, height: -1 }],
    ['a transaction larger than a block', { ...RECORD, transaction: '00'.repeat(4_000_001) }],
  ])('%s is refused', (_, value) => expect(() => decodeOccurrenceRecord(value)).toThrow(VerifyError));

  test('text that is no JSON is refused', () => expect(() => parseOccurrenceRecord('{"a"')).toThrow(VerifyError));

  test('any JSON is decoded or refused, nothing else', () => {
    const near = fc.record(Object.fromEntries(Object.keys(RECORD).map((key) => [key, fc.jsonValue()])));
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), near), (value) => {
        try {
          decodeOccurrenceRecord(value);
        } catch (error) {
          expect(error).toBeInstanceOf(VerifyError);
        }
      }),
    );
  });
});

describe('contents of a record', () => {
  const failed = (record: OccurrenceRecord, bytes: Uint8Array = BYTES) =>
    verifyOccurrence(bytes, record)
      .steps.filter(({ ok }) => !ok)
      .map(({ step }) => step);
  const other = recordOf([MINE], 0, 5);
  const blobOf = (bytes: Uint8Array): VerifiedBlob => {
    const versionHash = parseVersionHash(encodeHex(nobleHasher.keccak256(bytes)));
    const blob = verifyBlob({ versionHash, hashType: 'keccak256', bytes }, nobleHasher);
    if (blob === null) throw new Error('The bytes have their own hash.');
    return blob;
  };

  test('every step of an honest one', () => {
    const { ok, steps, says } = verifyOccurrence(BYTES, RECORD);
    expect(ok).toBe(true);
    expect(steps.map(({ step }) => step)).toEqual(['bytes', 'output', 'transaction', 'merkle', 'header']);
    expect(says).toBe(
      `Included in header ${RECORD.blockHash} (by the record at height 9). Only a node can tell whether that header is part of its chain.`,
    );
  });

  test.each<[string, OccurrenceRecord, Uint8Array, string[]]>([
    ['other bytes', RECORD, new TextEncoder().encode('a blab'), ['bytes']],
    ['more bytes', RECORD, Buffer.concat([BYTES, BYTES]), ['bytes']],
    ['the other hash type', { ...RECORD, hashType: 'blake2s256' }, BYTES, ['bytes', 'output']],
    ['another output', { ...RECORD, vout: 1 }, BYTES, ['output']],
    ['another transaction id', { ...RECORD, txid: parseTxId('00'.repeat(32)) }, BYTES, ['transaction', 'merkle']],
    ['another block hash', { ...RECORD, blockHash: parseBlockHash('00'.repeat(32)) }, BYTES, ['header']],
    ['another header', { ...RECORD, header: other.header }, BYTES, ['merkle', 'header']],
    ['a proof under another header', { ...RECORD, merkleProof: other.merkleProof }, BYTES, ['merkle']],
    ['no transaction', { ...RECORD, transaction: '' }, BYTES, ['output', 'transaction']],
    ['no header', { ...RECORD, header: '' }, BYTES, ['merkle', 'header']],
    ['no proof', { ...RECORD, merkleProof: '' }, BYTES, ['merkle']],
    ['a commitment that the node passes over', recordOf([commitment(OTHER), MINE], 1), BYTES, ['output']],
    ['no commitment', recordOf([Buffer.of(0x51)]), BYTES, ['output']],
  ])('%s is told', (_, record, bytes, steps) => {
    expect(failed(record, bytes)).toEqual(steps);
    expect(verifyOccurrence(bytes, record).says).not.toContain('Included in header');
    // A blob that was proven before fails at the same steps, without being hashed again.
    const ofBlob = verifyBlobOccurrence(blobOf(bytes), record);
    expect(ofBlob.steps.filter(({ ok }) => !ok).map(({ step }) => step)).toEqual(steps);
    expect(ofBlob.says).not.toContain('Included in header');
  });

  test('a proven blob and its bytes give one verdict', () => {
    expect(verifyBlobOccurrence(blobOf(BYTES), RECORD)).toEqual(verifyOccurrence(BYTES, RECORD));
  });

  test('a transaction of another version commits to nothing', () => {
    const transaction = `02${RECORD.transaction.slice(2)}`;
    expect(failed({ ...RECORD, transaction })).toEqual(['output', 'transaction']);
  });

  test('no change of one character goes unseen', () => {
    const fields = ['versionHash', 'txid', 'blockHash', 'header', 'transaction', 'merkleProof'] as const;
    fc.assert(
      fc.property(fc.constantFrom(...fields), fc.nat(), fc.integer({ min: 1, max: 15 }), (field, at, by) => {
        const text = RECORD[field];
        const index = at % text.length;
        const digit = ((Number.parseInt(text.charAt(index), 16) + by) % 16).toString(16);
        const changed = { ...RECORD, [field]: text.slice(0, index) + digit + text.slice(index + 1) };
        const verdict = verifyOccurrence(BYTES, decodeOccurrenceRecord(changed));
        // Neither the id covers witnesses, nor the root the number of transactions.
        const uncovered = field === 'transaction' || (field === 'merkleProof' && index >= 160 && index < 168);
        if (!uncovered) expect(verdict.ok).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('whether its header is on chain', () => {
  const { blockHash, height } = RECORD;
  const known = { kind: 'known', blockHash, height, confirmations: 3, tipHeight: null } as const;

  test.each<[string, HeaderAnswer, ChainVerdict['kind']]>([
    ['at that height', known, 'on-chain'],
    ['at another height', { ...known, height: 10 }, 'not-on-chain'],
    ['in a dead branch', { ...known, confirmations: -1, tipHeight: 20 }, 'not-on-chain'],
    ['known, not connected yet', { ...known, confirmations: -1, tipHeight: 8 }, 'cannot-tell'],
    ['unknown to a node that is past it', { kind: 'unknown', tipHeight: 9 }, 'not-on-chain'],
    ['unknown to a node that is behind', { kind: 'unknown', tipHeight: 8 }, 'cannot-tell'],
    ['unknown to a node of unknown height', { kind: 'unknown', tipHeight: null }, 'cannot-tell'],
    ['an answer about another header', { ...known, blockHash: parseBlockHash('00'.repeat(32)) }, 'cannot-tell'],
  ])('%s', async (_, answer, kind) => {
    expect(await checkHeaderOnChain(RECORD, async () => answer)).toMatchObject({ kind });
  });

  test('a fault is no answer', async () => {
    const verdict = await checkHeaderOnChain(RECORD, () => Promise.reject(new Error('connection refused')));
    expect(verdict.kind).toBe('cannot-tell');
    expect(verdict.says).toContain('connection refused');
  });
});
