import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RowsInsert } from '../../../src/core/sqlite/rows-insert.ts';

function table() {
  const database = new Database(':memory:');
  onTestFinished(() => {
    database.close();
  });
  database.exec('CREATE TABLE fruit (name TEXT PRIMARY KEY, weight INTEGER, kind INTEGER)');
  const insert = new RowsInsert(database, 'fruit (name, weight, kind)', '(?, ?, 7)', 'ON CONFLICT DO NOTHING');
  return { database, insert };
}

const rowsOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => [`fruit ${from + index}`, index]);

describe('bulk inserts', () => {
  test.each([0, 1, 31, 32, 33, 64, 100])('all of %i rows are inserted as given', (count) => {
    const { database, insert } = table();
    expect(insert.run(rowsOf(count))).toBe(count);
    const there = database.prepare('SELECT name, weight FROM fruit WHERE kind = 7 ORDER BY weight').raw().all();
    expect(there).toEqual(rowsOf(count));
  });

  test('the insert counts the rows that are new', () => {
    const { insert } = table();
    insert.run(rowsOf(40));
    expect(insert.run(rowsOf(80, 20))).toBe(60);
    expect(insert.run(rowsOf(80, 20))).toBe(0);
  });
});
