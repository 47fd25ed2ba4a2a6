import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MalformedError } from '../../../src/core/blob/errors.ts';
import { decodeHex, decodeHexInto, encodeHex, encodeHexInto } from '../../../src/core/blob/hex.ts';
import { decodeByTable } from '../../../src/core/blob/hex-table.ts';

const ascii = (text: string) => new TextEncoder().encode(text);
/** Lengths on both sides of the SIMD threshold, the step of 32 characters and the window of 32,768. */
const LENGTHS = [0, 1, 2, 15, 16, 17, 31, 32, 47, 48, 49, 63, 64, 65, 255, 16_383, 16_384, 16_385, 40_000];

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('hex', () => {
  test.each(LENGTHS)('hex of %i bytes survives a round trip, from text and ASCII, in either case', (length) => {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 151 + 7) % 256);
    const text = Buffer.from(bytes).toString('hex');
    expect(encodeHex(bytes)).toBe(text);
    expect(decodeHex(text)).toEqual(bytes);
    expect(decodeHex(text.toUpperCase())).toEqual(bytes);
    expect(decodeHex(ascii(text))).toEqual(bytes);
    const target = new Uint8Array(length * 2);
    encodeHexInto(bytes, target);
    expect(target).toEqual(ascii(text));
  });

  test('decoding agrees with Buffer on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3_000 }), (bytes) => {
        const text = Buffer.from(bytes).toString('hex');
        expect(encodeHex(bytes)).toBe(text);
        expect(decodeHex(text)).toEqual(bytes);
      }),
    );
  });

  test('exactly the 22 hex digits are accepted in every lane', () => {
    for (let char = 0; char < 256; char += 1) {
      const isDigit = /[0-9a-fA-F]/.test(String.fromCharCode(char));
      for (let at = 0; at < 128; at += 1) {
        const text = new Uint8Array(128).fill(0x61);
        text[at] = char;
        expect(caught(() => decodeHex(text)) === undefined).toBe(isDigit);
      }
    }
  });

  test('the error names the place of the first character that is no hex digit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2_000 }),
        fc.nat(),
        fc.constantFrom('g', '/', ':', '@', '`', ' ', '"', 'é', '€', '\ud800'),
        (half, where, wrong) => {
          const position = where % (half * 2);
          const text = `${'a'.repeat(position)}${wrong}${'a'.repeat(half * 2 - position - 1)}`;
          const error = caught(() => decodeHex(text));
          expect(error).toBeInstanceOf(MalformedError);
          expect(error).toMatchObject({ code: 'malformed/hex', details: { position, length: half * 2 } });
        },
      ),
    );
  });

  test.each(['a', 'abc', 'a'.repeat(2_001)])('an odd number of characters is refused', (text) => {
    expect(caught(() => decodeHex(text))).toMatchObject({ code: 'malformed/hex', details: { length: text.length } });
  });

  test('a prefix is refused', () => {
    expect(caught(() => decodeHex(`0x${'ab'.repeat(400)}`))).toMatchObject({ details: { position: 1 } });
  });

  test('memory of another size is refused', () => {
    expect(() => decodeHexInto('abcd', new Uint8Array(3))).toThrow(RangeError);
    expect(() => encodeHexInto(new Uint8Array(2), new Uint8Array(3))).toThrow(RangeError);
  });

  test('the table gives the same result without SIMD', () => {
    const bytes = Uint8Array.from({ length: 4_000 }, (_, at) => (at * 37) % 256);
    const target = new Uint8Array(4_000);
    expect(decodeByTable(encodeHex(bytes), target, 0)).toBe(true);
    expect(target).toEqual(bytes);
    expect(decodeByTable('zz', new Uint8Array(1), 0)).toBe(false);
  });
});
