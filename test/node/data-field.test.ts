import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHex } from '../../src/core/blob/hex.ts';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { readBlobAnswer } from '../../src/node/blob-answer.ts';
import { cutDataFields, marker } from '../../src/node/data-field.ts';

const hex = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('hex'));
/** Strings that resemble the searched field or its neighbours. */
const nasty = fc.oneof(
  fc.string(),
  fc.constantFrom('"data":"', 'data', '","data":"ab', '\\', '"', '@0', '@1', 'é"data":"€', '"data":"00"'),
);
/**
 * Node 26.10 parses a key of one escaped character as the last such key that it met: after `JSON.parse('{"\\\\":1}')`,
 * `JSON.parse('{"\\"":1}')` has the key of a backslash. The answers of nodes have no such keys.
 */
const isParsedWell = (key: string) => key.length !== 1 || JSON.stringify(key).length === 3;
const entry = fc.record({
  id: fc.oneof(fc.nat().map(String), nasty),
  result: fc.dictionary(
    fc.oneof(nasty, fc.constantFrom('data', 'x"data', 'versionhash')).filter(isParsedWell),
    fc.oneof(hex, nasty, fc.integer()),
    {
      maxKeys: 5,
    },
  ),
});

describe('cutting data out of an answer', () => {
  test('cutting and strict parsing give the same result for any answer', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 5 }),
        fc.array(fc.nat(200)),
        fc.constantFrom(0, 2),
        (entries, sizes, indent) => {
          const body = Buffer.from(JSON.stringify(entries, null, indent));
          const wanted = sizes.map((sizeBytes) => ({ versionHash: parseVersionHash('00'.repeat(32)), sizeBytes }));
          const { value, bytesOf } = readBlobAnswer(body, wanted);
          expect(resolved(value, bytesOf)).toEqual(resolved(JSON.parse(body.toString()), decodeHex));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('the remaining text is small, however large the data is', () => {
    const body = Buffer.from(`{"result":{"datasize":3,"data":"${'ab'.repeat(100_000)}"},"id":"0"}`);
    const cut = cutDataFields(body, [200_000]);
    expect(cut.text).toBe(`{"result":{"datasize":3,"data":"${marker(0)}"},"id":"0"}`);
    expect(cut.fields).toEqual([{ start: 32, end: 200_032 }]);
  });

  test.each([[], [4], [100_000]])('the end of a value is found without the right length: %j', (...expected) => {
    const body = Buffer.from('{"data":"abcd12"}');
    expect(cutDataFields(body, expected).fields).toEqual([{ start: 9, end: 15 }]);
  });
});

/** Replaces every string `data` by its bytes, or by the reason why it has none. */
function resolved(value: unknown, bytesOf: (data: string) => Uint8Array): unknown {
  if (Array.isArray(value)) return value.map((one) => resolved(one, bytesOf));
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).map(([key, inner]) => {
    if (key !== 'data' || typeof inner !== 'string') return [key, resolved(inner, bytesOf)];
    try {
      return [key, Buffer.from(bytesOf(inner)).toString('hex')];
    } catch (error) {
      return [key, error instanceof Error ? error.message : ''];
    }
  });
}
