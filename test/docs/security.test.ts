import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './markdown.ts';

const PAGE = readFileSync(join(ROOT, 'config/README.md'), 'utf8');
const [SECTION = ''] = PAGE.slice(PAGE.indexOf('## Security model') + 3).split('\n## ');
const ACTORS = SECTION.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| who'));

test('every actor of the security model has a test that shows what holds him', () => {
  expect(ACTORS.length).toBeGreaterThan(7);
  expect(ACTORS.filter((row) => !row.includes('](../test/'))).toEqual([]);
});

test.each(
  [...SECTION.matchAll(/\[([^\]]+)\]\(\.\.\/(test\/[^)]+)\)/g)].map(([, title = '', file = '']) => [title, file]),
)('the test "%s" is in %s', (title, file) => {
  expect(readFileSync(join(ROOT, file), 'utf8')).toContain(title);
});
