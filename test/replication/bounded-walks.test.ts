import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { DamageWatch } from '../../src/replication/damage-watch.ts';
import { Activity } from '../../src/view/activity.ts';
import { openCatalog, spooled } from '../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The heap that ships (256 MiB) is for ten million blobs; this one is in the same proportion, and more, for these. */
const BLOBS = 100_000;
const HEAP_MIB = 32;

test('a bucket that lists nothing is compared page by page, in a small heap, while other work has its turn', async () => {
  const script = fileURLToPath(new URL('walk-in-small-heap.ts', import.meta.url));
  const words = [`--max-old-space-size=${HEAP_MIB}`, script, temporaryFolder(), String(BLOBS)];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  expect(JSON.parse(stdout)).toEqual({ asked: BLOBS, hadTurns: true });
});

test('very many damaged copies are told and healed without a list of all of them', () => {
  const catalog = openCatalog({ backends: ['local', 's3'] });
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 1);
  const damage = new DamageWatch(catalog, conditions, new Activity(), ['local', 's3'], 3);
  const all = Array.from({ length: 8 }, (_, index) => spooled(`damaged ${index}`));
  catalog.recordSpooled(all);
  const entries = all.flatMap(({ versionHash }) => catalog.find(versionHash));
  catalog.recordProven('s3', entries);
  const before = damage.reports;
  for (const entry of entries) damage.report('s3', entry);
  expect(conditions.all()).toMatchObject([{ code: 'archive/damaged-copy' }]);
  // The first of them is not remembered any more, and a proof from before its report counts for nothing all the same.
  for (const entry of entries) expect(damage.isReportedAfter('s3', entry, before)).toBe(true);
  // The next process remembers fewer than it finds, and a proof counts before its first report.
  const next = new DamageWatch(catalog, conditions, new Activity(), ['local', 's3'], 3);
  const sound = spooled('sound');
  catalog.recordSpooled([sound]);
  const proofs = catalog.find(sound.versionHash).map((entry) => ({ entry, reports: next.reports }));
  expect(next.recordProven('s3', proofs)).toBe(1);
  for (const [index, entry] of entries.entries()) {
    expect(conditions.all(), `with ${index} healed`).toHaveLength(1);
    catalog.recordProven('s3', [entry]);
    damage.healed('s3', entry);
  }
  // Copies that were forgotten are remembered again once the others are healed.
  for (const entry of entries) damage.healed('s3', entry);
  expect(conditions.all()).toEqual([]);
});

test('very many names that are let in again contradict every reading before, without a list of all of them', () => {
  const catalog = openCatalog({ backends: ['local', 's3'] });
  const conditions = new ConditionBoard(createLogger('fatal', { write: () => {} }), () => 1);
  const damage = new DamageWatch(catalog, conditions, new Activity(), ['local', 's3'], 3);
  const names = Array.from({ length: 8 }, (_, index) => spooled(`let in ${index}`));
  const before = damage.reports;
  const contradicted = () => names.map((name) => damage.isReportedAfter('s3', name, before));
  damage.letIn(names[0] ?? spooled('none'));
  expect(contradicted()).toEqual(names.map((_, index) => index === 0));
  for (const name of names) damage.letIn(name);
  expect(contradicted()).toEqual(names.map(() => true));
  const after = damage.reports;
  expect(names.map((name) => damage.isReportedAfter('s3', name, after))).toEqual(names.map(() => false));
});
