import { expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { HASH_TYPES, parseVersionHash } from '../../src/core/blob/ids.ts';
import { hashWith, nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob, verifyBlobElsewhere } from '../../src/verify/verified-blob.ts';

test.each(HASH_TYPES)('no bytes are no blob, though %s of them can be committed to; one byte is', async (hashType) => {
  for (const [bytes, isBlob] of [
    [new Uint8Array(), false],
    [Uint8Array.of(7), true],
  ] as const) {
    const versionHash = parseVersionHash(encodeHex(hashWith(nobleHasher, hashType, bytes)));
    for (const candidate of [
      { versionHash, hashType, bytes },
      { versionHash, hashType: null, bytes },
    ]) {
      const elsewhere = async (type: typeof hashType) => ({ digest: hashWith(nobleHasher, type, bytes), bytes });
      const found = [verifyBlob(candidate, nobleHasher), await verifyBlobElsewhere(candidate, elsewhere)];
      expect(found.map((blob) => blob !== null)).toEqual([isBlob, isBlob]);
    }
  }
});
