import { expect, test } from 'vitest';
import { jsonSize, MAX_JSON_DEPTH, MAX_JSON_TOKENS, parseBoundedJson } from '../../../src/core/blob/bounded-json.ts';

test.each([
  ['1', { tokens: 1, objects: 0, depth: 0 }],
  ['{"method":"getblockcount","params":[],"id":1}', { tokens: 8, objects: 1, depth: 2 }],
  ['[1,1,1]', { tokens: 4, objects: 0, depth: 1 }],
  ['"a,b:[{\\"c,"', { tokens: 1, objects: 0, depth: 0 }],
  ['"open,,,', { tokens: 1, objects: 0, depth: 0 }],
  ['[[[', { tokens: 4, objects: 0, depth: 3 }],
  [']]]]{}', { tokens: 2, objects: 1, depth: 1 }],
  ['["€,","\\\\",{"ü":"日本,["}]', { tokens: 6, objects: 1, depth: 2 }],
])('the size of %s is the same for text and bytes', (text, size) => {
  expect(jsonSize(text)).toEqual(size);
  expect(jsonSize(Buffer.from(text).toString('latin1'))).toEqual(size);
});

test('a text at the limits is parsed, and one beyond them is refused', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const list = (values: number) => `[${Array.from({ length: values }, () => '1').join()}]`;
  expect(parseBoundedJson(nested(MAX_JSON_DEPTH))).toHaveLength(1);
  expect(() => parseBoundedJson(nested(MAX_JSON_DEPTH + 1))).toThrow(RangeError);
  expect(parseBoundedJson(list(MAX_JSON_TOKENS - 1))).toHaveLength(MAX_JSON_TOKENS - 1);
  expect(() => parseBoundedJson(list(MAX_JSON_TOKENS))).toThrow(RangeError);
});
