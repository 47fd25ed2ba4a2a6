import { expect, test } from 'vitest';
import { textTable } from '../../src/cli/text-table.ts';

test('columns are as wide as their widest cell, numbers end at the right, and the last column has no blanks behind it', () => {
  expect(
    textTable(
      ['name', '>count', 'why'],
      [
        ['a', '1', 'short'],
        ['a longer one', '1234', 'a sentence'],
      ],
    ),
  ).toEqual([
    'name         | count | why',
    '------------ | ----: | ----------',
    'a            |     1 | short',
    'a longer one |  1234 | a sentence',
  ]);
});

test('a table without rows is no line', () => {
  expect(textTable(['name'], [])).toEqual([]);
});
