import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openCatalog, spooled } from './catalog-in-folder.ts';
import { BACKENDS, someSteps, startTheWalk, steps } from './copy-steps.ts';

const COUNT = 'SELECT COUNT(*) AS count, COALESCE(SUM(size_bytes), 0) AS bytes FROM content WHERE state = ?';

function totalsOf({ counts }: Catalog) {
  return [counts.of('seen'), counts.of('spooled'), counts.of('stored')];
}

function countedIn(folder: string) {
  const beside = new Database(join(folder, 'catalog.sqlite'), { readonly: true });
  const count = beside.prepare(COUNT);
  const counted = [count.get(0), count.get(1), count.get(2)];
  beside.close();
  return counted;
}

test('the totals equal a count of all rows, after whatever changed them', () => {
  const folder = temporaryFolder();
  const catalog = openCatalog({ folder, backends: BACKENDS, replicasRequired: 2 });
  startTheWalk(catalog);
  const take = (name: string, at: string, which: string) => {
    steps[name]?.(catalog, at, which);
    expect(totalsOf(catalog)).toEqual(countedIn(folder));
  };
  for (const name of Object.keys(steps)) for (const at of BACKENDS) take(name, at, 'a');
  for (const name of ['spoolUnmined', 'damage', 'evictUnmined']) take(name, 'local', 'evicted');
  fc.assert(
    fc.property(someSteps(steps), (chosen) => {
      for (const [name, at, which] of chosen) take(name, at, which);
    }),
    { numRuns: 60 },
  );
});

test('a configuration that requires other copies counts each blob in its new state', () => {
  const folder = temporaryFolder();
  const before = openCatalog({ folder });
  before.recordSpooled([spooled('a'), spooled('b')]);
  before.recordProven('local', before.find(spooled('a').versionHash));
  expect(totalsOf(before).map(({ count }) => count)).toEqual([0, 1, 1]);
  before.close();
  const after = openCatalog({ folder, backends: ['local', 's3'], replicasRequired: 2 });
  expect(totalsOf(after).map(({ count }) => count)).toEqual([0, 2, 0]);
  expect(totalsOf(after)).toEqual(countedIn(folder));
});

test('totals that cannot be read are a fault of the catalog, with what to do', () => {
  const folder = temporaryFolder();
  const catalog = openCatalog({ folder });
  const beside = new Database(join(folder, 'catalog.sqlite'));
  beside.exec("DELETE FROM fact WHERE name GLOB 'contents/*'");
  beside.close();
  expect(() => catalog.totals()).toThrow(expect.objectContaining({ code: 'catalog/fault' }));
});
