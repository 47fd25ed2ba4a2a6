import { expect, test } from 'vitest';
import { damagedCatalog } from '../../../src/catalog/errors.ts';
import { clauseOf } from '../../../src/core/blob/errors.ts';

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
