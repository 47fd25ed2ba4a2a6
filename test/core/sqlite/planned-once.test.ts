import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openDurableDatabase } from '../../../src/core/sqlite/durable-database.ts';
import { plannedOnce, planningOnce } from '../../../src/core/sqlite/planned-once.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('parameters are hidden from the planner, and strings stay as they are', () => {
  expect(plannedOnce('SELECT a FROM b WHERE c = ? AND d > @least ORDER BY a LIMIT ? OFFSET @from')).toBe(
    'SELECT a FROM b WHERE c = +? AND d > +@least ORDER BY a LIMIT +? OFFSET +@from',
  );
  expect(plannedOnce("SELECT 'is it? it''s @home', ?")).toBe("SELECT 'is it? it''s @home', +?");
});

test('a value keeps its type, wherever it stands in a statement', () => {
  const database = planningOnce(new Database(':memory:'));
  onTestFinished(() => void database.close());
  database.exec('CREATE TABLE kept (id INTEGER PRIMARY KEY, value, number INTEGER)');
  const put = database.prepare('INSERT INTO kept (id, value, number) VALUES (@id, @value, @number)');
  const values = [7, 1.5, 'text', '5', Buffer.from([1, 2]), null, 2n ** 60n];
  for (const [id, value] of values.entries()) put.run({ id, value, number: '7' });
  const types = database.prepare('SELECT typeof(value) FROM kept ORDER BY id').pluck();
  expect(types.all()).toEqual(['real', 'real', 'text', 'text', 'blob', 'null', 'integer']);
  const found = database.prepare('SELECT id FROM kept WHERE value = ?').pluck();
  expect(values.slice(0, 5).map((value) => found.get(value))).toEqual([0, 1, 2, 3, 4]);
  expect(database.prepare('SELECT COUNT(*) FROM kept WHERE number = ?').pluck().get('7')).toBe(7);
  expect(database.prepare('SELECT id FROM kept ORDER BY id LIMIT ? OFFSET ?').pluck().all(2, 3)).toEqual([3, 4]);
});

test('each statement of a durable database is planned once, without the values of its parameters', () => {
  const database = openDurableDatabase(`${temporaryFolder()}/planned.sqlite`);
  onTestFinished(() => void database.close());
  expect(database.prepare('SELECT 1 WHERE 1 = ? LIMIT @most').source).toBe('SELECT 1 WHERE 1 = +? LIMIT +@most');
});

test('a statement is planned at its first run, and gives its rows as it was told before or after', () => {
  const database = planningOnce(new Database(':memory:'));
  onTestFinished(() => void database.close());
  const plucked = database.prepare('SELECT name FROM later ORDER BY name').pluck();
  const raw = database.prepare('SELECT name, 1 FROM later ORDER BY name').raw();
  expect(() => plucked.all()).toThrow('no such table: later');
  database.exec("CREATE TABLE later (name TEXT); INSERT INTO later VALUES ('a'), ('b')");
  expect(plucked.all()).toEqual(['a', 'b']);
  expect([...raw.iterate()]).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
  const objects = database.prepare('SELECT name FROM later WHERE name = ?');
  expect(objects.get('b')).toEqual({ name: 'b' });
  expect(objects.pluck().get('b')).toBe('b');
});
