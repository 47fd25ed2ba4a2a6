import { createHash } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { doubleSha256 } from '../../src/verify/index.ts';

const nodes = (bytes: Uint8Array) =>
  createHash('sha256').update(createHash('sha256').update(bytes).digest()).digest('hex');

/** Origin: the well-known double SHA-256 of nothing, and of `hello`. */
test.each([
  ['', '5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456'],
  ['hello', '9595c9df90075148eb06860365df33584b75bff782a510c6cd4883a419833d50'],
])('hashes %o', (text, hash) => expect(encodeHex(doubleSha256(new TextEncoder().encode(text)))).toBe(hash));

test('every length around the block size and around the memory that it keeps', () => {
  for (let length = 0; length < 4_300; length += length < 200 || length > 4_000 ? 1 : 61) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 31 + length) & 0xff);
    expect(encodeHex(doubleSha256(bytes)), `${length} bytes`).toBe(nodes(bytes));
  }
});

test('in parts as in one, as noble and Node have it; what was given out does not change later', () => {
  const part = fc.uint8Array({ maxLength: 3_000 });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
      const hash = doubleSha256(...parts);
      doubleSha256(Uint8Array.of(1, 2, 3));
      const whole = Buffer.concat(parts);
      expect(encodeHex(hash)).toBe(nodes(whole));
      expect(encodeHex(hash)).toBe(encodeHex(sha256(sha256(whole))));
    }),
  );
});

test('a million bytes', () => expect(encodeHex(doubleSha256(new Uint8Array(1e6)))).toBe(nodes(new Uint8Array(1e6))));
