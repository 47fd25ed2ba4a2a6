import { expect, test } from 'vitest';
import { jsonSize } from '../../src/http/json-size.ts';

test.each([
  ['1', { tokens: 1, objects: 0, depth: 0 }],
  ['{"method":"getblockcount","params":[],"id":1}', { tokens: 8, objects: 1, depth: 2 }],
  ['[1,1,1]', { tokens: 4, objects: 0, depth: 1 }],
  ['"a,b:[{\\"c,"', { tokens: 1, objects: 0, depth: 0 }],
  ['"open,,,', { tokens: 1, objects: 0, depth: 0 }],
  ['[[[', { tokens: 4, objects: 0, depth: 3 }],
  [']]]]{}', { tokens: 2, objects: 1, depth: 1 }],
])('the size of %s', (text, size) => {
  expect(jsonSize(Buffer.from(text))).toMatchObject(size);
});
