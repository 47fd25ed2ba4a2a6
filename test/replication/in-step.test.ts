import { expect, test } from 'vitest';
import { inStep } from '../../src/replication/in-step.ts';

async function* listing(names: string, read: string[]) {
  for (const name of names) {
    read.push(name);
    yield name;
  }
}

async function pairs(wanted: string, listed: string, asked: 'wanted' | 'all') {
  const read: string[] = [];
  const found: string[] = [];
  for await (const pair of inStep(wanted, listing(listed, read), (name) => name, asked))
    found.push(`${pair.wanted ?? '-'}${pair.listed ?? '-'}`);
  return { found, read: read.join('') };
}

test('each name comes once, with both sides that have it', async () => {
  expect((await pairs('acd', 'abde', 'all')).found).toEqual(['aa', '-b', 'c-', 'dd', '-e']);
  expect((await pairs('', 'ab', 'all')).found).toEqual(['-a', '-b']);
  expect((await pairs('ab', '', 'all')).found).toEqual(['a-', 'b-']);
});

test('a listing is read no further than the last wanted name, and not at all where nothing is wanted', async () => {
  expect(await pairs('ac', 'abcdef', 'wanted')).toEqual({ found: ['aa', '-b', 'cc'], read: 'abcd' });
  expect(await pairs('', 'abc', 'wanted')).toEqual({ found: [], read: '' });
});
