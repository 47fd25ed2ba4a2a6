import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Catalog } from '../../src/catalog/catalog.ts';
import { SUMMARY_SQL } from '../../src/catalog/seen-table.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HandClock, MIGRATIONS, openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const stored = (catalog: Catalog, label: string, backend = 'local') =>
  catalog.recordProven(backend, catalog.find(spooled(label).versionHash));

describe('the way of a content', () => {
  test('listed: it is wanted, and has no row of content yet', () => {
    const catalog = openCatalog();
    expect(catalog.noteListed([sighting('a'), sighting('b')])).toBe(2);
    expect(catalog.find(sighting('a').versionHash)).toEqual([]);
    expect(catalog.findQueued(sighting('a').versionHash)).toMatchObject({ ...sighting('a'), attempts: 0 });
    expect(catalog.totals()).toEqual({ seen: 2, spooled: 0, stored: 0, storedBytes: 0 });
  });

  test('listed again, or twice in one list: it counts once', () => {
    const catalog = openCatalog();
    expect(catalog.noteListed([sighting('a'), sighting('a')])).toBe(1);
    expect(catalog.noteListed([sighting('a')])).toBe(0);
    expect(catalog.totals().seen).toBe(1);
  });

  test('spooled: it leaves the queue, and every backend is to prove it', () => {
    const catalog = openCatalog();
    catalog.noteListed([sighting('a')]);
    catalog.recordSpooled([spooled('a')]);
    const [entry] = catalog.find(sighting('a').versionHash);
    expect(entry).toMatchObject({ state: 'spooled', hashType: 'keccak256', sizeBytes: 100, storedMs: null });
    expect(catalog.findQueued(sighting('a').versionHash)).toBeNull();
    expect(catalog.unprovenAt('local', 10)).toEqual([entry]);
    expect(catalog.totals()).toEqual({ seen: 0, spooled: 1, stored: 0, storedBytes: 0 });
  });

  test('spooled twice: nothing changes', () => {
    const catalog = openCatalog();
    catalog.recordSpooled([spooled('a'), spooled('a')]);
    stored(catalog, 'a');
    catalog.recordSpooled([spooled('a')]);
    expect(catalog.find(sighting('a').versionHash)).toMatchObject([{ state: 'stored', sequence: 1 }]);
    expect(catalog.totals()).toEqual({ seen: 0, spooled: 0, stored: 1, storedBytes: 100 });
  });

  test('stored: only when it was proven, and its bytes count then', () => {
    const catalog = openCatalog();
    catalog.recordSpooled([spooled('a'), spooled('b', 'blake2s256', { sizeBytes: 50 })]);
    stored(catalog, 'a');
    expect(catalog.find(sighting('a').versionHash)).toMatchObject([{ state: 'stored' }]);
    expect(catalog.find(sighting('b').versionHash)).toMatchObject([{ state: 'spooled' }]);
    expect(catalog.totals()).toEqual({ seen: 0, spooled: 1, stored: 1, storedBytes: 100 });
    stored(catalog, 'a');
    expect(catalog.totals()).toEqual({ seen: 0, spooled: 1, stored: 1, storedBytes: 100 });
  });

  test('held and doubled contents among many that are spooled together keep their row; the others get theirs', () => {
    const catalog = openCatalog({ backends: ['local', 's3'] });
    const labels = Array.from({ length: 70 }, (_, index) => `blob ${index}`);
    catalog.noteListed(labels.map((label) => sighting(label)));
    const early = ['blob 3', 'blob 33', 'blob 69'];
    catalog.recordSpooled(early.map((label) => spooled(label)));
    catalog.recordDamaged('local', spooled('blob 33'));
    catalog.recordSpooled([...labels, 'blob 5', 'blob 64'].map((label) => spooled(label)));
    const entries = catalog.page('oldest', null, 100);
    const inOrder = [...early, ...labels.filter((label) => !early.includes(label))];
    expect(entries.map(({ versionHash }) => versionHash)).toEqual(inOrder.map((label) => spooled(label).versionHash));
    expect(new Set(entries.map(({ state }) => state))).toEqual(new Set(['spooled']));
    expect(catalog.totals()).toMatchObject({ seen: 0, spooled: 70 });
    expect(catalog.replicas.queued('s3')).toBe(70);
    expect(catalog.unprovenAt('local', 100)).toHaveLength(70);
    catalog.recordSpooled([spooled('later')]);
    expect(catalog.page('newest', null, 1)[0]?.versionHash).toBe(spooled('later').versionHash);
  });

  test('held content is not wanted when a node lists it again', () => {
    const catalog = openCatalog();
    catalog.recordSpooled([spooled('a')]);
    expect(catalog.noteListed([sighting('a')])).toBe(0);
    expect(catalog.findQueued(sighting('a').versionHash)).toBeNull();
  });

  test('the two hash types of one version hash are two contents', () => {
    const catalog = openCatalog();
    catalog.recordSpooled([spooled('a', 'keccak256'), spooled('a', 'blake2s256')]);
    expect(catalog.find(sighting('a').versionHash).map(({ hashType }) => hashType)).toEqual([
      'keccak256',
      'blake2s256',
    ]);
  });
});

describe('damage', () => {
  test('the only copy is damaged: the content is seen, wanted again, and its bytes count no more', () => {
    const catalog = openCatalog();
    catalog.recordSpooled([spooled('a')]);
    stored(catalog, 'a');
    expect(catalog.recordDamaged('local', spooled('a'))).toBe('to-be-fetched-again');
    const [entry] = catalog.find(sighting('a').versionHash);
    expect(entry).toMatchObject({ state: 'seen', storedMs: null });
    expect(catalog.nextQueued(10)).toMatchObject([sighting('a')]);
    expect(catalog.totals()).toEqual({ seen: 1, spooled: 0, stored: 0, storedBytes: 0 });
    expect(entry === undefined ? [] : catalog.placementsOf(entry)).toMatchObject([{ state: 'damaged' }]);
  });

  test('content that is fetched again keeps its place in the listing, and has to be proven again', () => {
    const catalog = openCatalog();
    catalog.recordSpooled([spooled('a'), spooled('b')]);
    stored(catalog, 'a');
    catalog.recordDamaged('local', spooled('a'));
    catalog.recordSpooled([spooled('a')]);
    expect(catalog.find(sighting('a').versionHash)).toMatchObject([{ state: 'spooled', sequence: 1 }]);
    expect(catalog.unprovenAt('local', 10).map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(catalog.findQueued(sighting('a').versionHash)).toBeNull();
    stored(catalog, 'a');
    expect(catalog.totals()).toEqual({ seen: 0, spooled: 1, stored: 1, storedBytes: 100 });
  });

  test('another backend has a good copy: the content is spooled, not wanted', () => {
    const catalog = openCatalog({ backends: ['local', 'other'], replicasRequired: 2 });
    catalog.recordSpooled([spooled('a')]);
    stored(catalog, 'a', 'local');
    expect(catalog.find(sighting('a').versionHash)).toMatchObject([{ state: 'spooled' }]);
    stored(catalog, 'a', 'other');
    expect(catalog.find(sighting('a').versionHash)).toMatchObject([{ state: 'stored' }]);
    expect(catalog.recordDamaged('local', spooled('a'))).toBe('other-copies-left');
    expect(catalog.find(sighting('a').versionHash)).toMatchObject([{ state: 'spooled' }]);
    expect(catalog.findQueued(sighting('a').versionHash)).toBeNull();
  });
});

describe('the queue', () => {
  test('gives the nearest deadline first', () => {
    const catalog = openCatalog();
    const times = [30, 10, 20];
    catalog.noteListed(times.map((medianTimeSeconds) => sighting(`at ${medianTimeSeconds}`, { medianTimeSeconds })));
    expect(catalog.nextQueued(2).map(({ medianTimeSeconds }) => medianTimeSeconds)).toEqual([10, 20]);
    expect(catalog.queueSummary()).toMatchObject({ count: 3, earliest: 10, failing: 0 });
  });

  test('a clock that stepped back keeps nothing resting, nor makes old rows look new', () => {
    const folder = temporaryFolder();
    const clock = new HandClock();
    const before = openCatalog({ folder, clock });
    before.noteListed([sighting('a'), sighting('never')]);
    const failed = { code: 'x/y', message: 'It did not work.' };
    before.recordFailures([
      { versionHash: sighting('a').versionHash, ...failed, nextAttemptMs: clock.ms + 600_000 },
      { versionHash: sighting('never').versionHash, ...failed, nextAttemptMs: null },
    ]);
    expect(before.nextQueued(10)).toEqual([]);
    clock.ms -= 3_600_000;
    expect(before.nextQueued(10)).toMatchObject([sighting('a')]);
    before.close();
    const after = openCatalog({ folder, clock });
    expect(after.findQueued(sighting('a').versionHash)?.firstSeenMs).toBeLessThan(after.openedMs);
    clock.ms += 1_000;
    expect(after.nextQueued(10)).toMatchObject([sighting('a')]);
  });

  test('a time that was only guessed moves no deadline', () => {
    const catalog = openCatalog();
    catalog.noteListed([sighting('a', { medianTimeSeconds: 1_000 })]);
    catalog.noteListed([{ ...sighting('a', { medianTimeSeconds: 2_000 }), isTimeGuessed: true }]);
    expect(catalog.findQueued(sighting('a').versionHash)?.medianTimeSeconds).toBe(1_000);
    catalog.noteListed([{ ...sighting('b', { medianTimeSeconds: 2_000 }), isTimeGuessed: true }]);
    expect(catalog.findQueued(sighting('b').versionHash)?.medianTimeSeconds).toBe(2_000);
  });

  test('the summary is read from indexes alone', () => {
    const folder = temporaryFolder();
    openCatalog({ folder });
    const database = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
    onTestFinished(() => void database.close());
    const plan = z
      .array(z.object({ detail: z.string() }))
      .parse(database.prepare(`EXPLAIN QUERY PLAN ${SUMMARY_SQL}`).all());
    const scans = plan
      .map(({ detail }) => detail)
      .filter((detail) => detail.startsWith('S') && detail.includes(' seen'));
    expect(scans.filter((detail) => !detail.includes('INDEX'))).toEqual([]);
  });

  test('an empty queue has no earliest', () => {
    expect(openCatalog().queueSummary()).toEqual({ count: 0, earliest: null, failing: 0 });
  });

  test('a failure is kept with its reason, and the blob rests until its time', () => {
    const clock = new HandClock();
    const catalog = openCatalog({ clock });
    const { versionHash } = sighting('a');
    catalog.noteListed([sighting('a'), sighting('b')]);
    catalog.recordFailures([
      { versionHash, code: 'x/y', message: 'It did not work.', nextAttemptMs: clock.ms + 1_000 },
    ]);
    expect(catalog.nextQueued(10)).toMatchObject([sighting('b')]);
    expect(catalog.queueSummary()).toMatchObject({ count: 2, failing: 1 });
    clock.ms += 1_000;
    expect(catalog.nextQueued(10)).toHaveLength(2);
    expect(catalog.findQueued(versionHash)).toMatchObject({
      attempts: 1,
      lastErrorCode: 'x/y',
      lastError: 'It did not work.',
    });
  });

  test('a blob that is listed again takes the newer time, and does not pause for long', () => {
    const clock = new HandClock();
    const catalog = openCatalog({ clock });
    const { versionHash } = sighting('a');
    catalog.noteListed([sighting('a')]);
    catalog.recordFailures([{ versionHash, code: 'x/y', message: '', nextAttemptMs: null }]);
    catalog.noteListed([sighting('a', { medianTimeSeconds: 1_767_009_999 })]);
    expect(catalog.findQueued(versionHash)).toMatchObject({ medianTimeSeconds: 1_767_009_999 });
    clock.ms += 60_000;
    expect(catalog.nextQueued(10)).toHaveLength(1);
  });
});

describe('pages', () => {
  test('go through everything once, in either order, though more arrives meanwhile', () => {
    const catalog = openCatalog();
    catalog.recordSpooled(Array.from({ length: 5 }, (_, index) => spooled(`blob ${index}`)));
    const first = catalog.page('oldest', null, 2);
    catalog.recordSpooled([spooled('late')]);
    const second = catalog.page('oldest', first.at(-1)?.sequence ?? 0, 10);
    expect([...first, ...second].map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    const newest = catalog.page('newest', null, 2);
    catalog.recordSpooled([spooled('later')]);
    const older = catalog.page('newest', newest.at(-1)?.sequence ?? 0, 10);
    expect([...newest, ...older].map(({ sequence }) => sequence)).toEqual([6, 5, 4, 3, 2, 1]);
  });
});

describe('the file', () => {
  test('everything is there again after it was closed and opened, and sequences go on', () => {
    const folder = temporaryFolder();
    const before = openCatalog({ folder });
    before.noteListed([sighting('wanted')]);
    before.recordSpooled([spooled('a'), spooled('b')]);
    stored(before, 'a');
    const totals = before.totals();
    before.close();
    const after = openCatalog({ folder });
    expect(after.totals()).toEqual(totals);
    after.recordSpooled([spooled('c')]);
    expect(after.page('oldest', null, 10).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  test('a write that fails changes nothing, not even the totals', () => {
    const folder = temporaryFolder();
    const catalog = openCatalog({ folder });
    const tooBig = { ...spooled('b'), sizeBytes: 1.5 };
    expect(() => catalog.recordSpooled([spooled('a'), tooBig])).toThrow(
      expect.objectContaining({ code: 'catalog/fault', hint: expect.stringContaining('catalog.sqlite') }),
    );
    expect(catalog.totals()).toEqual({ seen: 0, spooled: 0, stored: 0, storedBytes: 0 });
    expect(catalog.find(sighting('a').versionHash)).toEqual([]);
    catalog.recordSpooled([spooled('a')]);
    expect(catalog.totals().spooled).toBe(1);
  });

  test('one of a newer program is refused', () => {
    const folder = temporaryFolder();
    openCatalog({ folder }).close();
    const database = new Database(join(folder, 'catalog.sqlite'));
    database.prepare("INSERT INTO migration VALUES (9000, '9000_later.sql', 'x', 0)").run();
    database.close();
    expect(() => openCatalog({ folder })).toThrow(expect.objectContaining({ code: 'sqlite/newer-than-program' }));
  });

  test('a backend that is configured no more does not count', () => {
    const folder = temporaryFolder();
    const before = openCatalog({ folder, backends: ['local', 'other'] });
    before.recordSpooled([spooled('a')]);
    stored(before, 'a', 'other');
    before.close();
    const options = { path: join(folder, 'catalog.sqlite'), migrationsFolder: MIGRATIONS, replicasRequired: 1 };
    const after = Catalog.open({ ...options, backends: ['local'], clock: SYSTEM_CLOCK });
    const [entry] = after.find(sighting('a').versionHash);
    expect(entry === undefined ? [] : after.placementsOf(entry).map(({ backend }) => backend)).toEqual(['local']);
    after.close();
  });
});
