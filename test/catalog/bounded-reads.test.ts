import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { numberedName } from '../../src/catalog/evidence-outbox.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HandClock, openCatalog, sighting, spooled } from './catalog-in-folder.ts';

/** Rows that a test needs many of are written past the catalog. */
function writeInto(folder: string, sql: string): void {
  const database = new Database(join(folder, 'catalog.sqlite'));
  database.exec(sql);
  database.close();
}

/** Processor time of this thread: other work on the machine does not count. */
function spentMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * The least processor time of one run, of five measurements of several runs each: the system may count in ticks of some
 * milliseconds, and a garbage collection may come between.
 */
function leastMs(runs: number, work: () => unknown): number {
  const several = () => {
    for (let run = 0; run < runs; run += 1) work();
  };
  return Math.min(...Array.from({ length: 5 }, () => spentMs(several))) / runs;
}

const RESTING = 100_000;

test('reading the queue does not go through all copies that rest after a failure', () => {
  const folder = temporaryFolder();
  const clock = new HandClock();
  const catalog = openCatalog({ folder, backends: ['local', 's3'], clock });
  catalog.recordSpooled([spooled('new', 'keccak256', { medianTimeSeconds: 1_790_000_000 }), spooled('due again')]);
  const [failing] = catalog.find(spooled('due again').versionHash);
  const failure = { sequence: failing?.sequence ?? 0, code: 'x/y', message: '' };
  for (const id of ['local', 's3']) catalog.replicas.recordFailures(id, [{ ...failure, nextAttemptMs: clock.ms - 1 }]);
  // All of these are more urgent than the new one, in both states; those that are damaged have failed as well.
  writeInto(
    folder,
    `INSERT INTO copy (backend_id, kind, object, state, due_seconds, attempts, next_attempt_ms)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${RESTING})
     SELECT id, 5, 1000 + i, 2 * (i % 2), 5, 1, ${clock.ms + 60_000} FROM backend CROSS JOIN n`,
  );
  const readAll = () => {
    expect(catalog.replicas.due('s3', 10)).toHaveLength(1);
    expect(catalog.replicas.dueAgain('s3', 10)).toHaveLength(1);
    expect(catalog.replicas.dueDamaged('local', 10)).toHaveLength(0);
    expect(catalog.unprovenAt('local', 10)).toHaveLength(2);
  };
  const readMs = leastMs(10, readAll);
  const database = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
  const scan = database.prepare('SELECT SUM(attempts) FROM copy');
  const scanMs = leastMs(5, () => scan.get());
  database.close();
  // Each of the four read through half of the rows or more before.
  expect(readMs).toBeLessThan(scanMs);
  // The clock steps back: by a little, what failed rests; by more than anything may rest, it is tried.
  clock.ms -= 100_000;
  expect(catalog.replicas.dueAgain('s3', 10)).toHaveLength(0);
  clock.ms -= 300_000;
  expect(catalog.replicas.dueAgain('s3', 10)).toHaveLength(1);
});

test('losses that hold no longer are taken a page at a time, each once', () => {
  const catalog = openCatalog();
  const names = Array.from({ length: 600 }, (_, index) => `lost ${index}`);
  catalog.noteListed(names.map((name) => sighting(name)));
  const losses = names.map((name) => {
    const { versionHash } = sighting(name);
    return { versionHash, hashType: 'keccak256' as const, upToHeight: 1, deadlineSeconds: 1, answers: [] };
  });
  catalog.losses.record(losses);
  catalog.recordSpooled(names.map((name) => spooled(name)));
  const pages: number[] = [];
  const taken = new Set<string>();
  for (;;) {
    const page = catalog.losses.takeRevoked();
    if (page.length === 0) break;
    pages.push(page.length);
    for (const { versionHash } of page) taken.add(versionHash);
  }
  expect(pages).toEqual([256, 256, 88]);
  expect(taken.size).toBe(names.length);
});

test('custom contents are counted up to a bound, and each content once', () => {
  const folder = temporaryFolder();
  const catalog = openCatalog({ folder });
  writeInto(
    folder,
    `INSERT INTO custom (version_hash, keccak, size_bytes, kept_ms, is_held)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
       SELECT unhex(printf('%064x', i / 2)), randomblob(32), 9, 1, 1 FROM n;
     INSERT INTO occurrence (height, transaction_index, version_hash, hash_type, txid, vout)
       SELECT 7, MIN(sequence), version_hash, 2, randomblob(32), 0 FROM custom WHERE sequence > 1 AND sequence < 600 GROUP BY version_hash`,
  );
  expect([10, 299, 1_000].map((most) => catalog.custom.countNames(most))).toEqual([10, 299, 299]);
  expect(catalog.custom.someNames(2)).toHaveLength(2);
  const snapshot = catalog.snapshot();
  const names = [...snapshot.setAside('custom')];
  snapshot.close();
  expect(new Set(names.map(({ versionHash }) => versionHash)).size).toBe(299);
  expect(names).toHaveLength(299);
});

test('evidence below a folder is read a page at a time, and its newest document alone', () => {
  const { evidence } = openCatalog();
  for (const path of ['a/1', 'a/2', 'a/3', 'a0', 'b/1']) evidence.put(path, { path });
  expect(evidence.below('a', '', 2).map(({ path }) => path)).toEqual(['a/1', 'a/2']);
  expect(evidence.below('a', 'a/2', 2).map(({ path }) => path)).toEqual(['a/3']);
  expect(evidence.lastNumbered('c')).toBeNull();
  const later = `c/2026-05/${numberedName(10)}`;
  for (const path of [`c/2027-01/${numberedName(9)}`, later, `c0/${numberedName(11)}`]) evidence.put(path, { path });
  expect(evidence.lastNumbered('c')).toEqual({ path: later });
  expect(evidence.lastWithout('endedAt', 'd')).toBeNull();
  for (const [path, endedAt] of [
    ['d/1', null],
    ['d/2', null],
    ['d/3', 'then'],
    ['d0/4', null],
  ] as const)
    evidence.put(path, { path, endedAt });
  expect(evidence.lastWithout('endedAt', 'd')).toEqual({ path: 'd/2', endedAt: null });
});

test('an audit reads what is not stored a page at a time, also of one block that has very much of it', () => {
  const folder = temporaryFolder();
  const catalog = openCatalog({ folder });
  catalog.chain.recordStart(7);
  writeInto(
    folder,
    `INSERT INTO block (height, hash, previous_hash, time_seconds, median_time_seconds)
       VALUES (7, unhex('${'11'.repeat(32)}'), unhex('${'22'.repeat(32)}'), 1, 1), (8, unhex('${'33'.repeat(32)}'), unhex('${'11'.repeat(32)}'), 1, 1);
     INSERT INTO occurrence (height, transaction_index, version_hash, hash_type, txid, vout)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
       SELECT 7 + i / 2500, i, randomblob(32), 1, randomblob(32), 0 FROM n`,
  );
  const snapshot = catalog.snapshot();
  const pages = [...snapshot.unstored(0, 100)];
  snapshot.close();
  const places = pages.flat().map(({ transactionIndex }) => transactionIndex);
  expect(places).toEqual(Array.from({ length: 3_000 }, (_, index) => index + 1));
  expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(1_024);
});
