import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { TableLimits } from '../../src/catalog/bounded-tables.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { UNMADE_RECORD } from '../../src/catalog/record-outbox.ts';
import { type BlockHash, parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const LIMITS: TableLimits = { evictedUnmined: 3, recordTasks: 2, reports: 3, atOnce: 100 };
const BEGINNING = { height: -1, transactionIndex: -1 };
const START_SECONDS = 1_767_000_000;
const DAY_SECONDS = 86_400;
const TXID = parseTxId('cd'.repeat(32));

const hashOf = (height: number, branch = 0): BlockHash =>
  parseBlockHash(`${branch}${(height + 1).toString(16).padStart(63, '0')}`);

/** A block a day, each with the one blob of that name. */
function walk(catalog: Catalog, height: number, label: string | null, branch = 0): void {
  const names = label === null ? [] : [spooled(label)];
  const time = START_SECONDS + height * DAY_SECONDS;
  const occurrences = names.map(({ hashType, versionHash }) => {
    const place = { txid: TXID, vout: 1, transactionIndex: 2 };
    return { hashType, versionHash, ...place, makeRecord: () => `{"height":${height},"branch":${branch}}` };
  });
  const hashes = { height, hash: hashOf(height, branch), previousHash: hashOf(height - 1) };
  const block = { ...hashes, timeSeconds: time, medianTimeSeconds: time, occurrences, unclear: [] };
  catalog.chain.recordBlocks([block], () => false);
}

function scene(stores: readonly string[] = ['local', 's3']) {
  const folder = temporaryFolder();
  const catalog = openCatalog({ folder });
  catalog.copies.useBackends(stores);
  for (const store of stores) while (catalog.records.fillSome(store, 16, 100));
  catalog.chain.recordStart(0);
  const beside = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
  onTestFinished(() => {
    beside.close();
  });
  const count = (table: string) => beside.prepare(`SELECT COUNT(*) FROM ${table}`).pluck().get();
  const write = (store: string, limit = 100) => {
    const due = catalog.records.due(store, BEGINNING, 1_000, limit);
    catalog.records.recordWritten(store, due);
    return due;
  };
  const enforce = () => catalog.bounded.enforce(LIMITS);
  return { catalog, beside, count, write, enforce };
}

/** Blocks 1 up to `last`, each with a blob that is here. */
function walkHeld(catalog: Catalog, from: number, last: number): void {
  for (let height = from; height <= last; height += 1) {
    catalog.recordSpooled([spooled(`blob ${height}`)]);
    walk(catalog, height, `blob ${height}`);
  }
}

test('the newest names of evicted unmined content stay, and their number; no sequence is given twice', () => {
  const { catalog, beside, count, enforce } = scene();
  walk(catalog, 0, null);
  const evict = (label: string) => {
    catalog.recordSpooled([{ ...spooled(label), isUnmined: true, medianTimeSeconds: START_SECONDS + DAY_SECONDS }]);
    expect(catalog.unmined.recordEvicted(catalog.find(spooled(label).versionHash), 'expired')).toHaveLength(1);
  };
  for (const label of ['a', 'b', 'c', 'd', 'e']) evict(label);
  expect(enforce()).toMatchObject({ evictedUnmined: 2 });
  expect(enforce()).toMatchObject({ evictedUnmined: 0 });
  const known = ['a', 'b', 'c', 'd', 'e'].filter(
    (one) => catalog.unmined.evictions(spooled(one).versionHash).length > 0,
  );
  expect(known).toEqual(['c', 'd', 'e']);
  evict('f');
  expect(enforce()).toMatchObject({ evictedUnmined: 1 });
  const forgotten = beside.prepare("SELECT value FROM fact WHERE name = 'evicted-unmined-forgotten'").pluck().get();
  expect(JSON.parse(String(forgotten))).toMatchObject({ count: 3, bytes: 300 });
  expect(count('evicted_unmined')).toBe(3);
  catalog.recordSpooled([spooled('g')]);
  expect(catalog.find(spooled('g').versionHash)).toMatchObject([{ sequence: 7 }]);
});

test('a blob that was listed once and dropped before it came is forgotten after a fortnight, and no other row of the queue', () => {
  const { catalog, enforce } = scene();
  walk(catalog, 0, null);
  const failed = (label: string, nextAttemptMs: number | null) => {
    const { versionHash } = sighting(label);
    catalog.recordFailures([
      { versionHash, code: 'archive/absent-at-node', message: 'It has not got it.', nextAttemptMs },
    ]);
  };
  const day = (days: number) => ({ medianTimeSeconds: START_SECONDS + days * DAY_SECONDS });
  const listed = ['dropped', 'listed', 'dropped lately'];
  catalog.noteListed(listed.map((label) => sighting(label, day(label === 'dropped lately' ? 20 : 1))));
  walk(catalog, 1, 'on chain');
  for (const label of ['dropped', 'dropped lately', 'on chain']) failed(label, null);
  failed('listed', 1);
  for (let height = 2; height <= 30; height += 1) walk(catalog, height, null);
  const left = () =>
    [...listed, 'on chain'].filter((label) => catalog.findQueued(sighting(label).versionHash) !== null);
  expect(enforce()).toMatchObject({ dropped: 1 });
  expect(left()).toEqual(['listed', 'dropped lately', 'on chain']);
  expect(catalog.queueSummary().count).toBe(3);
});

test('the text of a record is not held for a store that is away once the data folder has it', () => {
  const { catalog, write, beside, enforce } = scene();
  walkHeld(catalog, 0, 2);
  expect(enforce()).toMatchObject({ recordTexts: 0 });
  expect(write('local').map(({ record }) => record)).toEqual(
    [0, 1, 2].map((height) => `{"height":${height},"branch":0}`),
  );
  walkHeld(catalog, 3, 3);
  expect(enforce()).toMatchObject({ recordTexts: 3 });
  expect(beside.prepare('SELECT DISTINCT record FROM unwritten_record').pluck().all()).toEqual([
    UNMADE_RECORD,
    '{"height":3,"branch":0}',
  ]);
  expect(write('s3').map(({ height }) => height)).toEqual([0, 1, 2, 3]);
  write('local');
  expect(catalog.records.dueBetween(0, 3)).toBe(0);
});

test('a record that was written while its block was taken back is written again after it was withdrawn', () => {
  const { catalog, write, enforce } = scene();
  walkHeld(catalog, 0, 2);
  catalog.chain.useFinality('depth:1');
  catalog.chain.recordFinal(2);
  write('local');
  const underWay = catalog.records.due('s3', BEGINNING, 2, 10);
  catalog.chain.takeBack(1);
  walk(catalog, 2, 'blob 2', 1);
  // The data folder was quicker.
  for (const { sequence } of catalog.records.undeleted('local', 0, 10))
    catalog.records.recordDeleted('local', [sequence]);
  write('local');
  enforce();
  catalog.records.recordWritten('s3', underWay);
  const [withdrawn] = catalog.records.undeleted('s3', 0, 10);
  catalog.records.recordDeleted('s3', [withdrawn?.sequence ?? 0]);
  expect(write('s3').map(({ height }) => height)).toEqual([2]);
});

test('a store that is away for long is given a stretch of the chain, and gets every record of it when it is back', () => {
  const { catalog, count, write, enforce } = scene();
  walkHeld(catalog, 0, 3);
  write('local');
  expect(enforce()).toMatchObject({ recordTasks: 0 });
  expect(count('copy WHERE kind < 5')).toBe(4);
  walkHeld(catalog, 4, 9);
  write('local');
  expect(enforce()).toMatchObject({ recordTasks: 8 });
  expect([count('copy WHERE kind < 5'), count('unwritten_record')]).toEqual([2, 2]);
  // The records are missing all the same.
  expect(catalog.records.dueBetween(0, 9)).toBe(10);
  expect(catalog.records.dueBetween(5, 6)).toBe(2);
  // Away still: what comes lies behind the stretch, which grows.
  walkHeld(catalog, 10, 14);
  write('local');
  expect(enforce()).toMatchObject({ recordTasks: 5 });
  const got = write('s3', 1).map(({ height }) => height);
  while (catalog.records.fillSome('s3', 16, 3)) got.push(...write('s3').map(({ height }) => height));
  expect(got).toEqual(Array.from({ length: 15 }, (_, height) => height));
  expect(count('copy WHERE kind < 5')).toBe(0);
  expect(catalog.records.dueBetween(0, 14)).toBe(0);
});

test('records of lost content do not wait for ever, and come when the bytes turn up', () => {
  const { catalog, count, write, enforce } = scene();
  walk(catalog, 0, 'never came');
  walkHeld(catalog, 1, 1);
  walk(catalog, 2, 'still to come');
  expect(enforce()).toMatchObject({ unsavedRecords: 1 });
  expect(count('unwritten_record')).toBe(2);
  // Content that was held once is looked for, and may be found good again: its records go on waiting.
  catalog.recordDamaged('local', spooled('blob 1'));
  expect(catalog.find(spooled('blob 1').versionHash)).toMatchObject([{ state: 'seen' }]);
  expect(enforce()).toMatchObject({ unsavedRecords: 0 });
  catalog.recordProven('local', catalog.find(spooled('blob 1').versionHash));
  catalog.recordSpooled([spooled('never came')]);
  expect(write('local').map(({ height }) => height)).toEqual([0, 1]);
  expect(write('s3').map(({ height }) => height)).toEqual([0, 1]);
});

test('old reports are left to the data folder once it has them; evidence of losses stays', () => {
  const { catalog, enforce } = scene();
  for (let day = 1; day <= 5; day += 1) catalog.evidence.put(`audits/2026010${day}.json`, { day });
  catalog.evidence.put('lost/keccak256/aa/bb-1.json', { lost: true });
  expect(enforce()).toMatchObject({ reports: 0 });
  const due = catalog.evidence.due('local', 0, 100).map(({ sequence }) => sequence);
  catalog.evidence.recordDelivered('local', due);
  expect(enforce()).toMatchObject({ reports: 2 });
  expect(catalog.evidence.due('s3', 0, 100).map(({ path }) => path)).toEqual([
    'audits/20260103.json',
    'audits/20260104.json',
    'audits/20260105.json',
    'lost/keccak256/aa/bb-1.json',
  ]);
});

test('a reading that is over leaves no row behind', () => {
  const { catalog, count } = scene();
  catalog.replicas.recordProgress('local', 'check 1/30', 7);
  expect([catalog.replicas.progress('local', 'check 1/30'), count("fact WHERE name LIKE 'scrub/%'")]).toEqual([7, 1]);
  catalog.replicas.recordProgress('local', 'check 1/30', 0);
  expect([catalog.replicas.progress('local', 'check 1/30'), count("fact WHERE name LIKE 'scrub/%'")]).toEqual([0, 0]);
});
