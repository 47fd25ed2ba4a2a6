import { statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openDurableDatabase } from '../../../src/core/sqlite/durable-database.ts';
import { tidyUp } from '../../../src/core/sqlite/tidy-up.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('the maintenance waits for no snapshot of the same thread, and empties the log when there is none', () => {
  const path = join(temporaryFolder(), 'a.sqlite');
  const database = openDurableDatabase(path);
  onTestFinished(() => void database.close());
  database.exec('CREATE TABLE row (value TEXT) STRICT');
  const snapshot = new Database(path, { readonly: true });
  snapshot.exec('BEGIN');
  snapshot.prepare('SELECT 1 FROM row').get();
  database.exec("INSERT INTO row VALUES ('after the snapshot')");
  // The syncs of a busy disk take seconds: the wait that is not to happen takes much longer.
  database.pragma('busy_timeout = 60000');
  const begunMs = performance.now();
  tidyUp(database);
  expect(performance.now() - begunMs).toBeLessThan(30_000);
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  expect(database.pragma('busy_timeout', { simple: true })).toBe(60_000);
  snapshot.close();
  tidyUp(database);
  expect(statSync(`${path}-wal`).size).toBe(0);
});
