import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './markdown.ts';

const SOURCE = join(ROOT, 'src');
const MAP = readFileSync(join(SOURCE, 'README.md'), 'utf8');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

test('every file that the map names is there', () => {
  const links = [...MAP.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = '']) => path);
  const named = [...MAP.matchAll(/`((?:test|helm)\/[\w./-]+)/g)].map(([, path = '']) => join('..', path));
  expect(links.length).toBeGreaterThan(20);
  expect([...links, ...named].filter((path) => !existsSync(join(SOURCE, path)))).toEqual([]);
});

test('each function that the map names beside a file is in it', () => {
  const named = [...MAP.matchAll(/\]\(([^)#:]+\.ts)\) \(`(\w+)`\)/g)].map(([, path = '', name = '']) => ({
    path,
    name,
  }));
  expect(named.length).toBeGreaterThan(4);
  const missing = named.filter(
    ({ path, name }) => !new RegExp(`\\b${name}\\b`).test(readFileSync(join(SOURCE, path), 'utf8')),
  );
  expect(missing).toEqual([]);
});

test('the README names every room, and only rooms that are there', () => {
  const table = README.slice(README.indexOf('## The rooms'), README.indexOf('## Contribute'));
  const named = [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([\w-]+)`/g)].map(([, room]) => room),
  );
  const rooms = readdirSync(SOURCE, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(named.toSorted()).toEqual(rooms.toSorted());
});

test('the glossary explains each noun once', () => {
  const glossary = MAP.slice(MAP.indexOf('## Glossary'), MAP.indexOf('## The ways of data'));
  const nouns = [...glossary.matchAll(/^\| ([^|]+) \|/gm)].map(([, noun]) => noun).slice(2);
  expect(nouns.length).toBeGreaterThan(15);
  expect(new Set(nouns).size).toBe(nouns.length);
});
