import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fakeSentinel } from '../../backfill/source/imitations.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { environmentOf, startNode } from '../archive-process.ts';
import { holdfast } from '../holdfast-process.ts';

const README = readFileSync(new URL('../../../src/backfill/source/README.md', import.meta.url), 'utf8');
const [, BLOCK = ''] = /```sh\n(.*?)```/s.exec(README) ?? [];
const LINES = BLOCK.trim().split('\n');

test('there are lines to type', () => {
  expect(LINES.length).toBeGreaterThan(3);
});

test.each(LINES)('%s', async (line) => {
  const node = await startNode();
  const { endpoint } = await fakeSentinel(new Map());
  const words = line
    .replaceAll(/https:\/\/[a-z.]+\.example/g, endpoint)
    .replaceAll('/mnt/kept', temporaryFolder())
    .replaceAll("'", '')
    .split(' ');
  expect(words.shift()).toBe('holdfast');
  const ended = await holdfast(words, { env: environmentOf({ node, dataDir: temporaryFolder() }) });
  expect(ended).toMatchObject({ code: 0, stderr: '' });
});
