import { createHash } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { AuditSnapshot } from '../../src/catalog/audit-snapshot.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { HOLDINGS, holdingsOf } from '../../src/verify/inventory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openCatalog, sighting, spooled } from './catalog-in-folder.ts';

const hash = (height: number) => parseBlockHash(height.toString(16).padStart(64, '0'));
/** Names that are on chain at several heights, so that a loss of one speaks for its lower heights alone. */
const LABELS = Array.from({ length: 40 }, (_, index) => `inventoried ${index}`);
const HEIGHTS = 24;

/** Every kind of holding, and several of them at once: taken down and stored, lost and found again, left out and custom. */
function mixedArchive(folder: string): Catalog {
  // All are of 100 bytes, but for those that are larger than the rule allows.
  const catalog = openCatalog({ folder, rule: new ArchiveRule({ maxBlobBytes: 100, allowed: null }) });
  catalog.chain.recordStart(1);
  for (let height = 1; height <= HEIGHTS; height += 1) {
    const labels = LABELS.filter((_, index) => (index + height) % 5 === 0);
    const occurrences = labels.map((label, transactionIndex) => ({
      versionHash: sighting(label).versionHash,
      hashType: 'keccak256' as const,
      txid: parseTxId(createHash('sha256').update(`${height}/${label}`).digest('hex')),
      vout: 70_000,
      transactionIndex,
      makeRecord: () => '{}',
    }));
    const times = { timeSeconds: height, medianTimeSeconds: height };
    const block = { height, hash: hash(height), previousHash: hash(height - 1), ...times, occurrences, unclear: [] };
    catalog.chain.recordBlocks([block], () => false);
  }
  for (const [index, label] of LABELS.entries()) {
    const { versionHash } = sighting(label);
    const name = { versionHash, hashType: 'keccak256' as const };
    if (index % 4 === 0) catalog.losses.record([{ ...name, upToHeight: 9, deadlineSeconds: 1, answers: [] }]);
    if (index % 3 === 0) catalog.recordSpooled([spooled(label)]);
    if (index % 6 === 0) catalog.recordProven('local', catalog.find(versionHash));
    if (index % 10 === 0) {
      const order = { archiver: 'me', publicReason: null, reason: 'an order', atMs: 1, purge: false };
      catalog.withheld.record([{ ...name, ...order }], false);
    }
    if (index % 7 === 1) catalog.noteListed([sighting(label, { sizeBytes: 101 })]);
    if (index % 11 === 0) catalog.custom.record({ versionHash, keccak: versionHash }, 3, 'local');
  }
  return catalog;
}

function read(snapshot: AuditSnapshot, from: number, to: number) {
  return [...snapshot.inventory(from, to)].flat();
}

/** Height by height, so that what is held of each occurrence is looked up. */
function oneByOne(catalog: Catalog) {
  const snapshot = catalog.snapshot();
  try {
    return Array.from({ length: HEIGHTS }, (_, index) => read(snapshot, index + 1, index + 1)).flat();
  } finally {
    snapshot.close();
  }
}

test('the whole branch is told as its heights are, where only what is not plainly stored is looked up', () => {
  const catalog = mixedArchive(temporaryFolder());
  const snapshot = catalog.snapshot();
  const whole = read(snapshot, 1, HEIGHTS);
  expect(new Set(whole.flatMap(holdingsOf))).toEqual(new Set(HOLDINGS));
  expect(whole).toEqual(oneByOne(catalog));
  // The names that were looked up serve every later range of the same moment.
  expect(read(snapshot, 3, 4)).toEqual(whole.filter(({ height }) => height === 3 || height === 4));
  snapshot.close();
});

test('a second reading that begins while the first is under way tells the same', () => {
  const snapshot = mixedArchive(temporaryFolder()).snapshot();
  const first = snapshot.inventory(1, HEIGHTS);
  const begun = first.next().value ?? [];
  const second = read(snapshot, 1, HEIGHTS);
  expect([...begun, ...[...first].flat()]).toEqual(second);
  snapshot.close();
});

test('an archive that lacks more names than are kept in memory is told as its heights are', () => {
  const folder = temporaryFolder();
  const catalog = mixedArchive(folder);
  const database = new Database(join(folder, 'catalog.sqlite'));
  database.exec(`WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 66000)
    INSERT INTO occurrence (height, transaction_index, version_hash, hash_type, txid, vout)
    SELECT ${HEIGHTS}, 1000 + n, randomblob(32), 1, randomblob(32), 0 FROM more`);
  database.close();
  const snapshot = catalog.snapshot();
  const whole = read(snapshot, 1, HEIGHTS);
  snapshot.close();
  expect(whole.flatMap(holdingsOf).filter((holding) => holding === 'missing').length).toBeGreaterThan(66_000);
  expect(whole).toEqual(oneByOne(catalog));
});

test('a draw from many single heights counts the blocks of the branch once', () => {
  const catalog = mixedArchive(temporaryFolder());
  const snapshot = catalog.snapshot();
  onTestFinished(() => snapshot.close());
  const counts = countsOfBlocks();
  for (let height = 1; height <= HEIGHTS; height += 1) read(snapshot, height, height);
  expect(counts()).toBe(1);
});

/** Counts the times that all blocks were counted since. */
function countsOfBlocks(): () => number {
  const database = new Database(':memory:');
  const prototype: Database.Statement = Object.getPrototypeOf(database.prepare('SELECT 1'));
  const get = vi.spyOn(prototype, 'get');
  onTestFinished(() => {
    get.mockRestore();
    database.close();
  });
  const isCount = (one: unknown) =>
    typeof one === 'object' && one !== null && 'source' in one && one.source === 'SELECT COUNT(*) FROM block';
  return () => get.mock.contexts.filter(isCount).length;
}
