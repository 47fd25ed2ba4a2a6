import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { openCatalog, spooled } from './catalog-in-folder.ts';
import { BACKENDS, someSteps, startTheWalk, steps } from './copy-steps.ts';

const UNMINED_FIRST: readonly [string, (typeof BACKENDS)[number], string][] = [
  ['spoolUnmined', 'local', 'a'],
  ['evictUnmined', 'local', 'a'],
];

test('the length of each queue is what its rows say, after whatever changed them', () => {
  const folder = temporaryFolder();
  const catalog = openCatalog({ folder, backends: BACKENDS, replicasRequired: 2 });
  startTheWalk(catalog);
  const beside = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
  const rows = beside.prepare(
    `SELECT COUNT(*) FILTER (WHERE state <> 1) AS queued, COUNT(*) FILTER (WHERE state = 2) AS damaged
       FROM copy WHERE kind = 5 AND backend_id = (SELECT id FROM backend WHERE name = ?)`,
  );
  const take = (name: string, at: string, which: string) => {
    steps[name]?.(catalog, at, which);
    for (const one of BACKENDS) {
      const { replicas } = catalog;
      expect({ queued: replicas.queued(one), damaged: replicas.damagedCount(one) }).toEqual(rows.get(one));
    }
  };
  try {
    for (const name of Object.keys(steps)) for (const at of BACKENDS) take(name, at, 'a');
    for (const name of ['spoolUnmined', 'damage', 'evictUnmined']) take(name, 'local', 'evicted');
    expect(catalog.unmined.evictions(spooled('evicted').versionHash)).toHaveLength(1);
    fc.assert(
      fc.property(someSteps(steps), (chosen) => {
        for (const [name, at, which] of chosen) take(name, at, which);
      }),
      // Chance alone may put each of them in a block before its eviction.
      { numRuns: 60, examples: [[[...UNMINED_FIRST]]] },
    );
  } finally {
    beside.close();
  }
});

test('a configuration with another backend counts what that one is to get', () => {
  const folder = temporaryFolder();
  const before = openCatalog({ folder });
  before.recordSpooled([spooled('a'), spooled('b')]);
  expect(before.replicas.queued('local')).toBe(2);
  before.close();
  const after = openCatalog({ folder, backends: ['local', 's3'] });
  expect([after.replicas.queued('local'), after.replicas.queued('s3')]).toEqual([2, 2]);
});

test('once it is counted, asking reads no row of the queue', () => {
  const catalog = openCatalog();
  catalog.recordSpooled([spooled('a')]);
  expect(catalog.replicas.queued('local')).toBe(1);
  catalog.close();
  expect([catalog.replicas.queued('local'), catalog.replicas.damagedCount('local')]).toEqual([1, 0]);
});
