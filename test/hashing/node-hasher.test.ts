import { describe, expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { BLAKE2S256_CANDIDATES, type HashCandidate, KECCAK256_CANDIDATES } from '../../src/hashing/hash-candidates.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { checkedInput, KNOWN_DIGESTS } from '../../src/hashing/known-digests.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';

const none: readonly HashCandidate[] = [];
const wrong: HashCandidate = { engine: 'native', load: async () => (bytes) => nobleHasher.blake2s256(bytes) };
const wrongOnLong: HashCandidate = {
  engine: 'native',
  load: async () => (bytes) => nobleHasher.keccak256(bytes.length > 65_536 ? bytes.subarray(1) : bytes),
};
const broken: HashCandidate = {
  engine: 'hash-wasm',
  load: async () => {
    throw new Error('no memory');
  },
};

describe('createNodeHasher', () => {
  test('gives the published digests', async () => {
    const hasher = await createNodeHasher();
    // Keccak team's "ShortMsgKAT_256", length 0; RFC 7693, appendix B.
    expect(encodeHex(hasher.keccak256(new Uint8Array(0)))).toBe(
      'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470',
    );
    expect(encodeHex(hasher.blake2s256(new TextEncoder().encode('abc')))).toBe(
      '508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982',
    );
    expect(hasher.warnings).toEqual([]);
  });

  test('knows what noble gives for every input that it checks', () => {
    const asNoble = KNOWN_DIGESTS.map(({ length }) => ({
      length,
      keccak256: encodeHex(nobleHasher.keccak256(checkedInput(length))),
      blake2s256: encodeHex(nobleHasher.blake2s256(checkedInput(length))),
    }));
    expect(KNOWN_DIGESTS).toEqual(asNoble);
  });

  test('uses a fast engine for both on a supported Node', async () => {
    expect((await createNodeHasher()).engine).not.toContain('noble');
  });

  test('works without OpenSSL Keccak, as on Node 24', async () => {
    const hasher = await createNodeHasher({
      keccak256: KECCAK256_CANDIDATES.filter(({ engine }) => engine === 'hash-wasm'),
      blake2s256: BLAKE2S256_CANDIDATES.filter(({ engine }) => engine === 'native'),
    });
    expect(hasher.engine).toBe('keccak256 hash-wasm, blake2s256 native');
    const bytes = new Uint8Array(100_000).fill(9);
    expect(encodeHex(hasher.keccak256(bytes))).toBe(encodeHex(nobleHasher.keccak256(bytes)));
  });

  test('an engine that disagrees with noble is rejected with a warning', async () => {
    const hasher = await createNodeHasher({ keccak256: [wrong], blake2s256: none });
    expect(hasher.engine).toBe('noble');
    expect(hasher.warnings).toMatchObject([{ hashType: 'keccak256', engine: 'native' }]);
  });

  test('an engine that is wrong for long inputs only is rejected', async () => {
    const { warnings } = await createNodeHasher({ keccak256: [wrongOnLong], blake2s256: none });
    expect(warnings[0]?.message).toContain('65537 bytes');
  });

  test('an engine that fails to load is rejected, and the next one is chosen', async () => {
    const hasher = await createNodeHasher({ keccak256: [broken, ...KECCAK256_CANDIDATES], blake2s256: none });
    expect(hasher.warnings).toMatchObject([{ engine: 'hash-wasm', message: 'It failed: no memory.' }]);
    expect(encodeHex(hasher.keccak256(Uint8Array.of(1)))).toBe(encodeHex(nobleHasher.keccak256(Uint8Array.of(1))));
  });

  test('a digest is not overwritten by the next one', async () => {
    const hasher = await createNodeHasher();
    const first = hasher.keccak256(Uint8Array.of(1));
    const copy = Uint8Array.from(first);
    hasher.keccak256(Uint8Array.of(2));
    expect(Uint8Array.from(first)).toEqual(copy);
  });
});
