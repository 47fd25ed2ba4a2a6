import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkReceipt,
  looksLikeAttestation,
  looksLikeReceipt,
  parseAttestation,
  parseBlockHash,
  parseReceipt,
  parseTxId,
  parseVersionHash,
  type Receipt,
  type ReceiptStatement,
  receiptContradictionOf,
  VerifyError,
} from '../../src/verify/index.ts';
import { SIGNED_AT, signedBy, succession, testSigner } from './signers.ts';

const [FIRST, SECOND, STRANGER] = [testSigner(), testSigner(), testSigner()];
const BLOB = { hashType: 'keccak256', versionHash: parseVersionHash('0a'.repeat(32)) } as const;
const OTHER = parseVersionHash('0b'.repeat(32));

function statement(change: Partial<ReceiptStatement> = {}): ReceiptStatement {
  return {
    ...({ kind: 'holdfast/receipt', format: 1, archiver: 'ab'.repeat(8), key: FIRST.key, ...BLOB } as const),
    ...({ chain: parseBlockHash('01'.repeat(32)), sizeBytes: 900, state: 'stored-and-final', vout: 1 } as const),
    ...{ txid: parseTxId('02'.repeat(32)), height: 12, blockHash: parseBlockHash('03'.repeat(32)), at: SIGNED_AT },
    ...change,
  };
}

const receipt = (change: Partial<ReceiptStatement> = {}): Receipt => ({
  ...signedBy(statement(change), FIRST),
  keys: [],
});
const rotated = (change: Partial<ReceiptStatement> = {}): Receipt => ({
  ...signedBy(statement({ key: SECOND.key, ...change }), SECOND),
  keys: [succession(FIRST, SECOND)],
});
const verdict = async (...asked: Parameters<typeof checkReceipt>) =>
  Object.fromEntries((await checkReceipt(...asked)).map(({ step, ok }) => [step, ok]));

describe('a receipt', () => {
  test('holds with one of the keys that are known, also where another key has followed it', async () => {
    expect(await verdict(receipt(), [STRANGER.key, FIRST.key], BLOB)).toEqual({
      signature: true,
      key: true,
      name: true,
    });
    expect(await verdict(rotated(), [FIRST.key], null)).toEqual({ signature: true, keys: true, key: true });
    expect(await verdict(receipt(), null, { ...BLOB, hashType: null })).toEqual({ signature: true, name: true });
  });

  test('does not hold of another blob, with another key, without any known key, or changed', async () => {
    expect(await verdict(receipt(), [STRANGER.key], null)).toEqual({ signature: true, key: false });
    expect(await verdict(receipt(), [], null)).toEqual({ signature: true, key: false });
    const other = { ...BLOB, versionHash: OTHER };
    expect(await verdict(receipt(), null, other)).toEqual({ signature: true, name: false });
    const otherType = { ...BLOB, hashType: 'blake2s256' } as const;
    expect(await verdict(receipt(), null, otherType)).toEqual({ signature: true, name: false });
    const changed = { ...receipt(), statement: statement({ versionHash: OTHER }) };
    expect(await verdict(changed, [FIRST.key], other)).toEqual({ signature: false, key: true, name: true });
    const claimed = { ...receipt(), statement: statement({ key: STRANGER.key }) };
    expect(await verdict(claimed, [STRANGER.key], null)).toEqual({ signature: false, key: true });
    const framing = { ...receipt(), keys: [succession(STRANGER, FIRST, STRANGER)] };
    expect(await verdict(framing, [STRANGER.key], null)).toMatchObject({ keys: false });
  });

  test('is never taken for an attestation, nor an attestation for a receipt', () => {
    const text = JSON.stringify(receipt());
    expect([looksLikeReceipt(text), looksLikeAttestation(text)]).toEqual([true, false]);
    expect(() => parseAttestation(text)).toThrow(VerifyError);
    expect(() => parseReceipt(text.replace('holdfast/receipt', 'holdfast/attestation'))).toThrow(VerifyError);
    for (const none of ['', 'null', '{}', '{"statement":7}', '{"statement":{"kind":"holdfast/attestation"}}'])
      expect(looksLikeReceipt(none)).toBe(false);
  });
});

describe('two receipts', () => {
  const later = { at: '2026-12-01T02:11:00.000Z' };

  test.each<[string, Partial<ReceiptStatement>]>([
    ['the same later', {}],
    [
      'another blob in another block',
      { versionHash: OTHER, txid: parseTxId('09'.repeat(32)), height: 13, blockHash: parseBlockHash('04'.repeat(32)) },
    ],
    ['another output of the same transaction', { versionHash: OTHER, vout: 2 }],
    ['another chain', { chain: parseBlockHash('09'.repeat(32)), blockHash: parseBlockHash('05'.repeat(32)) }],
  ])('%s: both may be true', (_says, change) => {
    expect(receiptContradictionOf(receipt(), receipt({ ...later, ...change }))).toBeNull();
    expect(receiptContradictionOf(receipt(), rotated({ ...later, ...change }))).toBeNull();
  });

  test.each<[string, Partial<ReceiptStatement>]>([
    ['other-block', { blockHash: parseBlockHash('05'.repeat(32)) }],
    ['other-block', { height: 13, blockHash: parseBlockHash('05'.repeat(32)) }],
    ['other-content', { versionHash: OTHER }],
    ['other-content', { hashType: 'blake2s256' }],
    ['other-content', { sizeBytes: 901 }],
  ])('%s', (kind, change) => {
    const second = { ...later, ...change };
    expect(receiptContradictionOf(receipt(), receipt(second))).toMatchObject({ kind });
    expect(receiptContradictionOf(receipt(second), receipt())).toMatchObject({ kind });
    expect(receiptContradictionOf(receipt(), rotated(second))).toMatchObject({ kind });
    const stranger = { ...signedBy(statement({ ...second, key: STRANGER.key }), STRANGER), keys: [] };
    expect(receiptContradictionOf(receipt(), stranger)).toBeNull();
  });
});

describe('decoding', () => {
  test('the parser gives back what it was given, and refuses anything else with one kind of error', () => {
    expect(parseReceipt(JSON.stringify(rotated()))).toEqual(rotated());
    const change = fc.tuple(
      fc.constantFrom(...Object.keys(statement()), 'more'),
      fc.oneof(fc.jsonValue(), fc.constant(undefined)),
    );
    const outcomes = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(change, ([name, value]) => {
        const given = JSON.stringify({ ...receipt(), statement: { ...statement(), [name]: value } });
        try {
          expect(JSON.parse(JSON.stringify(parseReceipt(given)))).toEqual(JSON.parse(given));
          outcomes.taken += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(VerifyError);
          outcomes.refused += 1;
        }
      }),
    );
    expect(outcomes.refused).toBeGreaterThan(0);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(() => parseReceipt(text)).toThrow(VerifyError);
      }),
    );
  });

  test.each([
    { ...receipt(), more: 1 },
    { ...receipt(), signature: '00' },
    { ...receipt(), keys: Array.from({ length: 65 }, () => succession(FIRST, SECOND)) },
    { statement: { ...statement(), state: 'stored' }, signature: receipt().signature, keys: [] },
    { statement: { ...statement(), hashType: 'sha256' }, signature: receipt().signature, keys: [] },
  ])('refuses %#', (wrong) => {
    expect(() => parseReceipt(JSON.stringify(wrong))).toThrow(VerifyError);
  });
});
