import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { COPIED } from '../../src/catalog/copy-table.ts';
import { BACKOFF, longestBackoffMs } from '../../src/core/time/backoff.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HandClock, openCatalog, spooled } from './catalog-in-folder.ts';

const NOW_MS = new HandClock().ms;

/** Blobs and documents share one table, and what is done to the copies of the one is not done to those of the other. */
function scene() {
  const folder = temporaryFolder();
  const catalog = openCatalog({ folder, backends: ['local', 's3'] });
  catalog.copies.useBackends(['local', 's3']);
  catalog.evidence.put('audits/1.json', { complete: true });
  catalog.recordSpooled([spooled('a'), spooled('b')]);
  const [a] = catalog.find(spooled('a').versionHash);
  const [b] = catalog.find(spooled('b').versionHash);
  if (a === undefined || b === undefined) throw new Error('not spooled');
  catalog.recordProven('s3', [a]);
  const beside = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
  onTestFinished(() => {
    beside.close();
  });
  return { catalog, a, b, beside };
}

test('proofs of blobs stay for a backend that gets no documents any more, and its documents go', () => {
  const { catalog, a } = scene();
  expect(catalog.copies.count(COPIED.evidence, 's3')).toBe(1);
  catalog.copies.useBackends(['local']);
  expect(catalog.placementsOf(a).find(({ backend }) => backend === 's3')).toMatchObject({ state: 'good' });
  expect(catalog.replicas.queued('s3')).toBe(1);
  catalog.copies.useBackends(['local', 's3']);
  expect(catalog.copies.count(COPIED.evidence, 's3')).toBe(1);
});

test('a start ends the rests of documents, and not those of blobs; each keeps why it failed', () => {
  const { catalog, b, beside } = scene();
  const why = { code: 'storage/fault', message: 'Refused.' };
  const nextAttemptMs = NOW_MS + 60_000;
  catalog.replicas.recordFailures('s3', [{ sequence: b.sequence, ...why, nextAttemptMs }]);
  const [due] = catalog.evidence.due('s3', 0, 1);
  catalog.copies.recordRefused('s3', [{ kind: COPIED.evidence, object: due?.sequence ?? 0, ...why }]);
  expect(catalog.evidence.due('s3', 0, 1)).toEqual([]);
  catalog.copies.useBackends(['local', 's3']);
  expect([catalog.evidence.due('s3', 0, 1).length, catalog.replicas.dueAgain('s3', 1).length]).toEqual([1, 0]);
  // Refused documents are counted without the blobs, of which there may be millions.
  expect(catalog.copies.refusedCount(COPIED.evidence, 's3')).toBe(1);
  const kept = beside.prepare(
    'SELECT kind, last_error_code AS code, last_error AS message FROM copy WHERE attempts > 0',
  );
  expect(kept.all()).toEqual([
    { kind: COPIED.evidence, ...why },
    { kind: 5, ...why },
  ]);
});

test('the failure of a copy is told with its attempts until the copy is good', () => {
  const { catalog, b } = scene();
  const atS3 = () => catalog.placementsOf(b).find(({ backend }) => backend === 's3');
  expect(atS3()).toMatchObject({ state: 'wanted', lastFailure: null });
  const why = { code: 'storage/full', message: 'It is full.' };
  for (const nextAttemptMs of [NOW_MS + 1, NOW_MS + 2]) {
    catalog.replicas.recordFailures('s3', [{ sequence: b.sequence, ...why, nextAttemptMs }]);
  }
  expect(atS3()).toMatchObject({ state: 'wanted', lastFailure: { ...why, attempts: 2 } });
  catalog.recordProven('s3', [b]);
  expect(atS3()).toMatchObject({ state: 'good', lastFailure: null });
});

test('the longest pause of a copy is not mistaken for a time before the clock stepped back', () => {
  const { catalog, b } = scene();
  const failed = (restMs: number) =>
    catalog.replicas.recordFailures('s3', [
      { sequence: b.sequence, code: 'storage/fault', message: 'Refused.', nextAttemptMs: NOW_MS + restMs },
    ]);
  failed(longestBackoffMs(BACKOFF.copy));
  expect(catalog.replicas.dueAgain('s3', 1)).toEqual([]);
  failed(longestBackoffMs(BACKOFF.copy) + 1);
  expect(catalog.replicas.dueAgain('s3', 1)).toHaveLength(1);
});

test('the queues of blobs read no document, however many wait', () => {
  const { catalog, beside } = scene();
  for (let index = 0; index < 200; index += 1) catalog.evidence.put(`audits/more-${index}.json`, { index });
  expect([catalog.replicas.queued('s3'), catalog.replicas.due('s3', 9).length]).toEqual([1, 1]);
  const plan = (sql: string) => beside.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  const queue = 'SELECT object FROM copy WHERE backend_id = 1 AND kind = 5 AND state <> 1 AND (attempts > 0) = 0';
  expect(JSON.stringify(plan(`${queue} ORDER BY urgency, due_seconds, object LIMIT 9`))).toMatch(
    /INDEX copy_queue \(backend_id=\? AND <expr>=\?\)/,
  );
});
