import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Attestation,
  type AttestationStatement,
  canonicalJson,
  checkAttestation,
  equivocationOf,
  looksLikeAttestation,
  parseAttestation,
  parseBlockHash,
  VerifyError,
} from '../../src/verify/index.ts';
import { SIGNED_AT, signedBy, succession, testSigner } from './signers.ts';

const [FIRST, SECOND, STRANGER] = [testSigner(), testSigner(), testSigner()];

function statement(change: Partial<AttestationStatement> = {}): AttestationStatement {
  return {
    kind: 'holdfast/attestation',
    format: 1,
    archiver: 'ab'.repeat(8),
    key: FIRST.key,
    number: 1,
    chain: parseBlockHash('01'.repeat(32)),
    from: 10,
    to: 20,
    blockHash: parseBlockHash('02'.repeat(32)),
    root: '03'.repeat(32),
    counts: { missing: 1, stored: 7, lost: 1, withheld: 0, custom: 0, 'not-archived-by-rule': 0 },
    unclear: 0,
    at: SIGNED_AT,
    ...change,
  };
}

const attested = (change: Partial<AttestationStatement> = {}): Attestation => ({
  ...signedBy(statement(change), FIRST),
  keys: [],
});
const rotated = (change: Partial<AttestationStatement> = {}): Attestation => ({
  ...signedBy(statement({ key: SECOND.key, ...change }), SECOND),
  keys: [succession(FIRST, SECOND)],
});
const verdict = async (attestation: Attestation, key: string | null) =>
  Object.fromEntries((await checkAttestation(attestation, key)).map(({ step, ok }) => [step, ok]));

describe('signatures', () => {
  test('a statement of the key that is known holds, in whatever order its members came', async () => {
    const turned = JSON.stringify({
      keys: [],
      signature: attested().signature,
      statement: Object.fromEntries(Object.entries(statement()).toReversed()),
    });
    expect(await verdict(parseAttestation(turned), FIRST.key)).toEqual({ signature: true, key: true });
    expect(await verdict(attested(), null)).toEqual({ signature: true });
  });

  test('a statement that anything of was changed, or that another key is named in, does not hold', async () => {
    const changed = { ...attested(), statement: statement({ unclear: 1 }) };
    expect(await verdict(changed, FIRST.key)).toEqual({ signature: false, key: true });
    const claimed = { ...attested(), statement: statement({ key: STRANGER.key }) };
    expect(await verdict(claimed, FIRST.key)).toEqual({ signature: false, key: false });
  });

  test('a known key leads over its successors to the one that signed, and no other key does', async () => {
    expect(await verdict(rotated(), FIRST.key)).toEqual({ signature: true, keys: true, key: true });
    expect(await verdict(rotated(), SECOND.key)).toEqual({ signature: true, keys: true, key: true });
    expect(await verdict(rotated(), STRANGER.key)).toEqual({ signature: true, keys: true, key: false });
  });

  test('a succession that the earlier key did not sign, or that leads elsewhere, is told', async () => {
    const forged = { ...succession(STRANGER, SECOND), statement: succession(FIRST, SECOND).statement };
    expect(await verdict({ ...rotated(), keys: [forged] }, FIRST.key)).toMatchObject({ keys: false });
    const elsewhere = [succession(FIRST, STRANGER)];
    expect(await verdict({ ...rotated(), keys: elsewhere }, FIRST.key)).toMatchObject({ keys: false });
  });

  test('a key of another archiver never becomes the successor of an own one: the other has to sign it as well', async () => {
    const framing = { ...attested(), keys: [succession(STRANGER, FIRST, STRANGER)] };
    expect(await verdict(framing, STRANGER.key)).toEqual({ signature: true, keys: false, key: true });
  });

  test('the canonical form is that of RFC 8785', () => {
    expect(canonicalJson({ b: [1, 'é"\n'], a: { d: 2, c: null } })).toBe('{"a":{"c":null,"d":2},"b":[1,"é\\"\\n"]}');
  });
});

describe('equivocation', () => {
  const later = { number: 2, at: '2026-12-01T02:11:00.000Z' };

  test.each<[string, Partial<AttestationStatement>]>([
    [
      'what was missing and lost is stored',
      { root: '04'.repeat(32), counts: { ...statement().counts, missing: 0, lost: 0, stored: 9 } },
    ],
    [
      'what was stored is withheld',
      { root: '04'.repeat(32), counts: { ...statement().counts, stored: 6, withheld: 1 } },
    ],
    ['another blob is missing now', { root: '04'.repeat(32) }],
    [
      'the range is another',
      { to: 21, blockHash: parseBlockHash('05'.repeat(32)), counts: { ...statement().counts, stored: 90 } },
    ],
    ['the chain is another', { chain: parseBlockHash('09'.repeat(32)), blockHash: parseBlockHash('05'.repeat(32)) }],
  ])('%s: both may be true', (_says, change) => {
    expect(equivocationOf(attested(), attested({ ...later, ...change }))).toBeNull();
    expect(equivocationOf(attested(), rotated({ ...later, ...change }))).toBeNull();
  });

  test.each<[string, Partial<AttestationStatement>]>([
    ['same-number', { number: 1, counts: { ...statement().counts, missing: 0, stored: 8 } }],
    ['other-block', { blockHash: parseBlockHash('05'.repeat(32)) }],
    ['other-block', { from: 12, blockHash: parseBlockHash('05'.repeat(32)) }],
    ['other-occurrences', { counts: { ...statement().counts, stored: 8 } }],
    ['other-occurrences', { unclear: 1 }],
    ['root-against-counts', { counts: { ...statement().counts, missing: 0, stored: 8 } }],
  ])('%s', (kind, change) => {
    const second = { ...later, ...change };
    expect(equivocationOf(attested(), attested(second))).toMatchObject({ kind });
    expect(equivocationOf(attested(second), attested())).toMatchObject({ kind });
    expect(equivocationOf(attested(), rotated(second))).toMatchObject({ kind });
  });

  test('the same twice, and statements of two archivers, are none', () => {
    expect(equivocationOf(attested(), attested())).toBeNull();
    const other = { ...signedBy(statement({ key: STRANGER.key, unclear: 5 }), STRANGER), keys: [] };
    expect(equivocationOf(attested(), other)).toBeNull();
  });
});

describe('decoding', () => {
  test('parsing returns the encoded statement', () => {
    expect(parseAttestation(JSON.stringify(rotated()))).toEqual(rotated());
    expect(looksLikeAttestation(JSON.stringify(rotated()))).toBe(true);
    for (const text of ['', 'null', '[]', '{}', '{"statement":{}}', '{"statement":{"kind":"holdfast/key"}}'])
      expect(looksLikeAttestation(text)).toBe(false);
  });

  test('anything else is refused with one kind of error', () => {
    const change = fc.tuple(
      fc.constantFrom(...Object.keys(statement()), 'more'),
      fc.oneof(fc.jsonValue(), fc.constant(undefined)),
    );
    fc.assert(
      fc.property(change, ([name, value]) => {
        const given = { ...attested(), statement: { ...statement(), [name]: value } };
        try {
          expect(JSON.parse(JSON.stringify(parseAttestation(JSON.stringify(given))))).toEqual(
            JSON.parse(JSON.stringify(given)),
          );
        } catch (error) {
          expect(error).toBeInstanceOf(VerifyError);
        }
      }),
    );
    const keys = Array.from({ length: 65 }, () => succession(FIRST, SECOND));
    for (const wrong of [
      { ...rotated(), keys },
      { ...rotated(), more: 1 },
      { ...attested(), signature: '00' },
    ])
      expect(() => parseAttestation(JSON.stringify(wrong))).toThrow(VerifyError);
    expect(() => parseAttestation('{')).toThrow(VerifyError);
    expect(() => parseAttestation(JSON.stringify(attested({ from: 21 })))).toThrow('ends before it begins');
  });
});
