import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { assertVersion, openDurableDatabase } from '../../../src/core/sqlite/durable-database.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('commits are durable (WAL with synchronous=FULL), and foreign keys are enforced', () => {
  const database = openDurableDatabase(join(temporaryFolder(), 'a.sqlite'));
  onTestFinished(() => {
    database.close();
  });
  expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
  expect(database.pragma('synchronous', { simple: true })).toBe(2);
  expect(database.pragma('foreign_keys', { simple: true })).toBe(1);
});

test('a database without durable commits is refused', () => {
  expect(() => openDurableDatabase(':memory:')).toThrow(
    expect.objectContaining({ code: 'sqlite/not-durable', hint: expect.stringContaining('local file system') }),
  );
});

test('a file that is no database is refused with a hint', () => {
  const path = join(temporaryFolder(), 'a.sqlite');
  writeFileSync(path, 'this is a text, and long enough that SQLite looks at its header. '.repeat(20));
  expect(() => openDurableDatabase(path)).toThrow(
    expect.objectContaining({ code: 'sqlite/not-a-database', message: expect.stringContaining(path) }),
  );
});

test('a path that cannot be opened is refused by name', () => {
  const path = join(temporaryFolder(), 'folder');
  mkdirSync(path);
  expect(() => openDurableDatabase(path)).toThrow(
    expect.objectContaining({ code: 'sqlite/cannot-open', message: expect.stringContaining(path) }),
  );
});

test.each(['3.51.3', '3.51.10', '3.52.0', '4.0.0'])('SQLite %s is accepted', (version) => {
  expect(() => assertVersion(version)).not.toThrow();
});

test.each(['3.51.2', '3.50.9', '2.99.99'])('SQLite %s can corrupt a WAL and is refused', (version) => {
  expect(() => assertVersion(version)).toThrow(expect.objectContaining({ code: 'sqlite/library-too-old' }));
});
