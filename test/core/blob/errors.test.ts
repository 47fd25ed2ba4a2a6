import { expect, test } from 'vitest';
import { damagedCatalog } from '../../../src/catalog/errors.ts';
import { clauseOf, messageOf } from '../../../src/core/blob/errors.ts';

test('a message that ends with the words of a cause has one full stop', () => {
  const causes = [
    new Error('the page has no checksum.'),
    new Error('the page has no checksum'),
    'the page has no checksum',
  ];
  for (const cause of causes) {
    expect(clauseOf(cause)).toBe('the page has no checksum');
    expect(damagedCatalog('catalog.sqlite', cause).message).toBe(
      'The catalog catalog.sqlite is damaged: the page has no checksum.',
    );
  }
});

test('a message is text, whatever an answer of a server has made of it', () => {
  const errors = [{ Message: 'No.' }, ['No.', 'No.'], 7, undefined].map((message) =>
    Object.assign(new Error('No.'), { message }),
  );
  expect(errors.map(messageOf)).toEqual(['{"Message":"No."}', '["No.","No."]', '7', 'undefined']);
  expect([null, 'No.', 7].map(messageOf)).toEqual(['null', 'No.', '7']);
});
