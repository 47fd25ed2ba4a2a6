import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBoundedJson } from '../../src/core/blob/bounded-json.ts';
import { assetGuid, checkedGuid, wireGuid } from '../../src/node/asset-guid.ts';
import { parseAmount, parseFeeRate } from '../../src/node/decimal.ts';
import { decimal } from '../../src/node/decimal-field.ts';
import { JsonNumber, parseLossless, rawNumber, writeLossless } from '../../src/node/lossless-json.ts';

/** A JSON number of any form, as text. */
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.bigInt({ min: 0n, max: 10n ** 24n }).map(String),
    fc.option(fc.stringMatching(/^[0-9]{1,12}$/), { nil: null }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), fc.integer({ min: 0, max: 20 })), {
      nil: null,
    }),
  )
  .map(
    ([sign, whole, places, exponent]) =>
      `${sign}${whole}${places === null ? '' : `.${places}`}${exponent === null ? '' : exponent.join('')}`,
  );

describe('lossless JSON', () => {
  test('any number keeps its digits', () => {
    fc.assert(
      fc.property(numberText, (text) => {
        expect(writeLossless(parseLossless(`{"a":[${text}]}`))).toBe(`{"a":[${text}]}`);
      }),
    );
  });

  test('exact integers are plain numbers, and no other number is', () => {
    expect(parseLossless('[0, 126, -5, 9007199254740991]')).toEqual([0, 126, -5, 9_007_199_254_740_991]);
    for (const text of ['9007199254740992', '18446744073709551615', '1.0', '0.1', '1e3', '-0']) {
      expect(parseLossless(text)).toEqual(new JsonNumber(text));
    }
  });

  test('any other value equals the result of JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        // The number 0.5 forces the exact parser.
        const text = JSON.stringify([0.5, value], null, 1);
        expect(JSON.parse(writeLossless(parseLossless(text)))).toEqual(JSON.parse(text));
      }),
    );
  });
});

/** Texts of the largest answer that cost the parser most. */
const HOSTILE: readonly [string, string][] = [
  ['brackets alone', '['.repeat(15_000_000)],
  ['brackets in pairs', '['.repeat(7_500_000) + ']'.repeat(7_500_000)],
  ['objects in each other', '{"":'.repeat(3_750_000)],
  ['one list of small numbers', `[${'0,'.repeat(7_500_000)}0]`],
  ['one list of decimal numbers', `[${'0.5,'.repeat(3_750_000)}0]`],
  ['one list of empty lists', `[${'[],'.repeat(5_000_000)}0]`],
  ['one list of empty strings', `[${'"",'.repeat(5_000_000)}0]`],
];

describe.each([
  ['lossless', parseLossless],
  ['plain', parseBoundedJson],
] as const)('hostile JSON, %s', (_name, parse) => {
  test.each(HOSTILE)('%s is refused before it costs time', (_what, text) => {
    const begun = process.cpuUsage();
    expect(() => parse(text)).toThrow(RangeError);
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });

  test('a list with the largest number of tokens takes linear time', () => {
    const items = `${'0.5,'.repeat(200_000)}0.5`;
    const begun = process.cpuUsage();
    expect(parse(`[${items}]`)).toHaveLength(200_001);
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });

  test.each([
    ['', 'nothing'],
    ['{"a":1', 'an object without its end'],
    ['{"a" 1}', 'no colon'],
    ['{a:1}', 'a name without quotes'],
    ['[1,]', 'a comma too many'],
    ['[1 2]', 'no comma'],
    ['1.5 x', 'something behind'],
    ['01.5', 'a zero in front'],
    ['[1.5,"a\nb"]', 'a line end in a string'],
    ['[1.5,"a]', 'a string without its end'],
    ['[1.5,nul]', 'half a word'],
    ['[1.5,"\\x"]', 'an unknown escape'],
  ])('%j is refused as JSON: %s', (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(() => parse(text)).toThrow(SyntaxError);
  });
});

test('a member named __proto__ is an ordinary member', () => {
  const value = parseLossless('{"a":1.5,"__proto__":{"b":2}}');
  expect(Object.keys(value ?? {})).toEqual(['a', '__proto__']);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

describe('guids', () => {
  test('any 64-bit guid is read from number and string and written for each dialect', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (guid) => {
        expect(assetGuid.parse(parseLossless(`${guid}`))).toBe(guid);
        expect(assetGuid.parse(`${guid}`)).toBe(guid);
        expect(writeLossless([wireGuid(guid, 'svc')])).toBe(`[${guid}]`);
        expect(writeLossless([wireGuid(guid, 'syscoin-4.2')])).toBe(`["${guid}"]`);
      }),
    );
  });

  test.each([-1n, 2n ** 64n])('%s is refused', (guid) => {
    expect(() => checkedGuid(guid)).toThrow(`${guid}`);
    expect(assetGuid.safeParse(`${guid}`).success).toBe(false);
  });

  test.each(['1.5', '1e3', 'x', ''])('an answer with guid %j is malformed', (text) => {
    expect(assetGuid.safeParse(text).success).toBe(false);
  });
});

describe('amounts', () => {
  const units = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
  const plain = (value: bigint) => `${value / 100_000_000n}.${String(value % 100_000_000n).padStart(8, '0')}`;

  test('any 63-bit amount of 10⁻⁸ units is accepted unchanged and read from number and string', () => {
    fc.assert(
      fc.property(units, (value) => {
        const text = plain(value);
        expect(parseAmount(text, 'amount')).toBe(text);
        expect(decimal.parse(parseLossless(text))).toBe(text);
        expect(decimal.parse(text)).toBe(text);
      }),
    );
  });

  test('exponents are expanded without a change of value', () => {
    fc.assert(
      fc.property(units, fc.integer({ min: -20, max: 20 }), (value, exponent) => {
        const written: string = decimal.parse(rawText(`${value}e${exponent}`));
        expect(written).not.toMatch(/e/i);
        const [whole = '', places = ''] = written.split('.');
        const scale = Math.max(-exponent, 0);
        expect(BigInt(whole + places.padEnd(scale, '0'))).toBe(value * 10n ** BigInt(Math.max(exponent, 0)));
      }),
    );
    expect(decimal.parse(rawText('1e-8'))).toBe('0.00000001');
    expect(decimal.parse(rawText('-12.50e1'))).toBe('-125.0');
  });

  test.each([
    '',
    '0',
    '0.0',
    '-1',
    '+1',
    '1.',
    '.5',
    '01',
    '1e3',
    ' 1',
    '1,5',
    '0x1',
    '0.123456789',
    '92233720368.54775808',
    'NaN',
  ])('%j is refused as an amount', (text) => {
    expect(() => parseAmount(text, 'amount')).toThrow(/amount/i);
  });

  test.each(['', '-1', '1.2345', '1e3', 'high'])('the fee rate %j is refused', (text) => {
    expect(() => parseFeeRate(text)).toThrow(/fee rate/);
  });

  test.each(['', 'abc', '1.2.3'])('an answer with amount %j is malformed', (text) => {
    expect(decimal.safeParse(text).success).toBe(false);
  });
});

function rawText(text: string): unknown {
  return parseLossless(text);
}

test('a raw number is written unchanged', () => {
  expect(writeLossless({ a: rawNumber('18446744073709551615'), b: [rawNumber('0.10')] })).toBe(
    '{"a":18446744073709551615,"b":[0.10]}',
  );
});
