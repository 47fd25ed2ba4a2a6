import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openDurableDatabase } from '../../../src/core/sqlite/durable-database.ts';
import { migrate, readMigrations } from '../../../src/core/sqlite/migrate.ts';
import { SYSTEM_CLOCK } from '../../../src/core/time/clock.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const FIRST = 'CREATE TABLE one (x INTEGER);';
const SECOND = 'CREATE TABLE two (x INTEGER); INSERT INTO two VALUES (2);';

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(folder, name), sql);
  return folder;
}

function openDatabase(): Database.Database {
  const database = openDurableDatabase(join(temporaryFolder(), 'a.sqlite'));
  onTestFinished(() => {
    database.close();
  });
  return database;
}

const tablesOf = (database: Database.Database) =>
  database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .pluck()
    .all();

test('migrations run once and in order, with recorded checksums', () => {
  const database = openDatabase();
  const migrations = readMigrations(folderWith({ '0001_one.sql': FIRST, '0002_two.sql': SECOND, 'notes.md': '' }));
  migrate(database, migrations, SYSTEM_CLOCK);
  migrate(database, migrations, SYSTEM_CLOCK);
  expect(tablesOf(database)).toEqual(['migration', 'one', 'two']);
  expect(database.prepare('SELECT number, name, checksum FROM migration ORDER BY number').all()).toEqual([
    { number: 1, name: '0001_one.sql', checksum: createHash('sha256').update(FIRST).digest('hex') },
    { number: 2, name: '0002_two.sql', checksum: createHash('sha256').update(SECOND).digest('hex') },
  ]);
});

test('a later migration runs on existing data', () => {
  const database = openDatabase();
  migrate(database, readMigrations(folderWith({ '0001_one.sql': FIRST })), SYSTEM_CLOCK);
  migrate(database, readMigrations(folderWith({ '0001_one.sql': FIRST, '0002_two.sql': SECOND })), SYSTEM_CLOCK);
  expect(tablesOf(database)).toEqual(['migration', 'one', 'two']);
});

test('an older database is copied aside before a migration, and the copy of an earlier one is deleted', () => {
  const database = openDatabase();
  const first = { '0001_one.sql': FIRST };
  const second = { ...first, '0002_two.sql': SECOND };
  migrate(database, readMigrations(folderWith(first)), SYSTEM_CLOCK);
  database.exec('INSERT INTO one VALUES (7)');
  const copies = () => readdirSync(dirname(database.name)).filter((name) => name.includes('before-'));
  expect(copies()).toEqual([]);
  migrate(database, readMigrations(folderWith(second)), SYSTEM_CLOCK);
  expect(copies()).toEqual(['a.sqlite.before-0002']);
  const copy = openDurableDatabase(`${database.name}.before-0002`);
  expect(tablesOf(copy)).toEqual(['migration', 'one']);
  expect(copy.prepare('SELECT x FROM one').pluck().all()).toEqual([7]);
  // The older program accepts the copy.
  migrate(copy, readMigrations(folderWith(first)), SYSTEM_CLOCK);
  copy.close();
  migrate(
    database,
    readMigrations(folderWith({ ...second, '0003_three.sql': 'CREATE TABLE three (x INTEGER);' })),
    SYSTEM_CLOCK,
  );
  expect(copies()).toEqual(['a.sqlite.before-0003']);
});

test('a changed migration is refused', () => {
  const database = openDatabase();
  migrate(database, readMigrations(folderWith({ '0001_one.sql': FIRST })), SYSTEM_CLOCK);
  const changed = readMigrations(folderWith({ '0001_one.sql': `${FIRST} -- reworded` }));
  expect(() => migrate(database, changed, SYSTEM_CLOCK)).toThrow(
    expect.objectContaining({ code: 'sqlite/migration-changed', message: expect.stringContaining('0001_one.sql') }),
  );
});

test('a database with another first migration is refused with the command to type', () => {
  const database = openDatabase();
  migrate(database, readMigrations(folderWith({ '0001_other.sql': FIRST })), SYSTEM_CLOCK);
  const anew = readMigrations(folderWith({ '0001_one.sql': FIRST, '0002_two.sql': SECOND }));
  expect(() => migrate(database, anew, SYSTEM_CLOCK)).toThrow(
    expect.objectContaining({
      code: 'sqlite/older-than-program',
      message: expect.stringContaining('0001_other.sql'),
      hint: expect.stringContaining(`mv ${database.name}* ${dirname(database.name)}/before/ && holdfast rebuild`),
    }),
  );
  expect(tablesOf(database)).toEqual(['migration', 'one']);
});

test('a database of a newer program is refused and stays unchanged', () => {
  const database = openDatabase();
  migrate(database, readMigrations(folderWith({ '0001_one.sql': FIRST, '0002_two.sql': SECOND })), SYSTEM_CLOCK);
  const older = readMigrations(folderWith({ '0001_one.sql': FIRST }));
  expect(() => migrate(database, older, SYSTEM_CLOCK)).toThrow(
    expect.objectContaining({ code: 'sqlite/newer-than-program', message: expect.stringContaining('0002_two.sql') }),
  );
  expect(tablesOf(database)).toEqual(['migration', 'one', 'two']);
});

test('a failed migration leaves no change and no record', () => {
  const database = openDatabase();
  const broken = readMigrations(folderWith({ '0001_one.sql': FIRST, '0002_two.sql': `${SECOND} NONSENSE;` }));
  expect(() => migrate(database, broken, SYSTEM_CLOCK)).toThrow();
  expect(tablesOf(database)).toEqual(['migration', 'one']);
  expect(database.prepare('SELECT number FROM migration').pluck().all()).toEqual([1]);
});

test('a gap in the numbers is refused', () => {
  expect(() => readMigrations(folderWith({ '0001_one.sql': FIRST, '0003_three.sql': SECOND }))).toThrow(/0003_three/);
});

test('the shipped migrations apply', () => {
  const database = openDatabase();
  migrate(database, readMigrations(fileURLToPath(new URL('../../../migrations', import.meta.url))), SYSTEM_CLOCK);
  const tables = tablesOf(database).filter((table) => table !== 'migration');
  expect(tables).toEqual(expect.arrayContaining(['content', 'copy', 'seen']));
  // A new table is a new concept. A small fact about the whole archive is a row of `fact` instead.
  expect(tables.length, tables.join(' ')).toBeLessThanOrEqual(16);
});
