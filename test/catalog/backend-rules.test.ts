import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { HandClock, MIGRATIONS, spooled } from './catalog-in-folder.ts';

const SMALL = spooled('small', 'keccak256', { sizeBytes: 100 });
const LARGE = spooled('large', 'blake2s256', { sizeBytes: 5_000 });
const BOTH = [SMALL, LARGE];

const upTo = (maxBlobBytes: number) => new ArchiveRule({ maxBlobBytes, allowed: null });

interface Setup {
  readonly rule?: ArchiveRule;
  readonly place?: string;
  readonly replicasRequired?: number;
  readonly backends?: readonly string[];
}

/** Opens one catalog again and again, each time with another rule of its backend `ipfs`; `s3` takes every blob. */
function opener() {
  const path = join(temporaryFolder(), 'catalog.sqlite');
  let last: Catalog | null = null;
  onTestFinished(() => last?.close());
  return ({ rule, place = 'one', replicasRequired = 1, backends = ['s3', 'ipfs'] }: Setup = {}): Catalog => {
    last?.close();
    last = Catalog.open({
      path,
      migrationsFolder: MIGRATIONS,
      backends,
      places: new Map(backends.map((id) => [id, `${id} ${place}`])),
      backendRules: new Map(rule === undefined ? [] : [['ipfs', rule]]),
      localIsCache: true,
      replicasRequired,
      clock: new HandClock(),
    });
    last.copies.useBackends(['local', 's3']);
    return last;
  };
}

/** The states of the copies at `ipfs`, of the small blob and of the large one; null: none is wanted or known there. */
function atIpfs(catalog: Catalog) {
  return BOTH.map(({ versionHash }) => {
    const replicas = catalog.find(versionHash).flatMap((entry) => catalog.placementsOf(entry));
    return replicas.find(({ backend }) => backend === 'ipfs')?.state ?? null;
  });
}

function states(catalog: Catalog) {
  return BOTH.map(({ versionHash }) => catalog.find(versionHash)[0]?.state);
}

function prove(catalog: Catalog, backend: string, contents = BOTH) {
  catalog.recordProven(
    backend,
    contents.flatMap(({ versionHash }) => catalog.find(versionHash)),
  );
}

test('a backend is to get only what its rule takes, and the others get everything', () => {
  const catalog = opener()({ rule: upTo(1_000) });
  catalog.recordSpooled(BOTH);
  expect([catalog.replicas.queued('ipfs'), catalog.replicas.queued('s3')]).toEqual([1, 2]);
  expect(atIpfs(catalog)).toEqual(['wanted', null]);
  expect([catalog.replicas.leftOutAt(SMALL), catalog.replicas.leftOutAt(LARGE)]).toEqual([[], ['ipfs']]);
  expect([catalog.replicas.ruleOf('s3'), catalog.replicas.ruleOf('ipfs')]).toEqual([null, upTo(1_000).says]);
  prove(catalog, 's3');
  expect(states(catalog)).toEqual(['stored', 'stored']);
});

test('the same holds for what is found elsewhere, and for what comes again', () => {
  const open = opener();
  const catalog = open({ rule: upTo(1_000) });
  catalog.replicas.recordFound('s3', BOTH);
  expect(atIpfs(catalog)).toEqual(['wanted', null]);
  for (const content of BOTH) catalog.recordDamaged('s3', content);
  expect(states(catalog)).toEqual(['seen', 'seen']);
  catalog.recordSpooled(BOTH);
  expect(atIpfs(catalog)).toEqual(['wanted', null]);
  expect(catalog.replicas.queued('ipfs')).toBe(1);
});

test('the blobs of the allow-list go there, whatever their size', () => {
  const rule = new ArchiveRule({ maxBlobBytes: null, allowed: new Set([LARGE.versionHash]) });
  const catalog = opener()({ rule });
  catalog.recordSpooled(BOTH);
  expect(atIpfs(catalog)).toEqual([null, 'wanted']);
});

test('under a looser rule what was left out is queued; under the same rule nothing is looked at again', () => {
  const open = opener();
  const first = open({ rule: upTo(1_000) });
  first.recordSpooled(BOTH);
  prove(first, 's3');
  prove(first, 'ipfs');
  expect(atIpfs(open({ rule: upTo(1_000) }))).toEqual(['good', null]);
  const looser = open({ rule: upTo(5_000) });
  expect(atIpfs(looser)).toEqual(['good', 'wanted']);
  expect([looser.replicas.queued('ipfs'), states(looser)]).toEqual([1, ['stored', 'stored']]);
  expect(atIpfs(open({}))).toEqual(['good', 'wanted']);
});

test('under a stricter rule good copies stay and count, and what waits there waits no more', () => {
  const open = opener();
  const first = open({ replicasRequired: 2 });
  const waiting = spooled('waiting', 'keccak256', { sizeBytes: 5_000 });
  first.recordSpooled([...BOTH, waiting]);
  prove(first, 's3');
  prove(first, 'ipfs');
  const stricter = open({ rule: upTo(1_000), replicasRequired: 2 });
  expect(atIpfs(stricter)).toEqual(['good', 'good']);
  expect([states(stricter), stricter.replicas.queued('ipfs')]).toEqual([['stored', 'stored'], 0]);
  // The scrub reads both.
  expect(stricter.replicas.goodCount('ipfs')).toBe(2);
  const places = stricter.find(waiting.versionHash).flatMap((entry) => stricter.placementsOf(entry));
  expect(places.map(({ backend }) => backend)).toEqual(['local', 's3']);
});

test('a copy that the rule leaves out counts no more when it is not good, and is not brought back', () => {
  const open = opener();
  const first = open();
  first.recordSpooled(BOTH);
  prove(first, 's3');
  prove(first, 'ipfs');
  const catalog = open({ rule: upTo(1_000), replicasRequired: 2 });
  expect(catalog.recordDamaged('ipfs', LARGE)).toBe('not-replaced-by-rule');
  expect(catalog.recordDamaged('ipfs', SMALL)).toBe('other-copies-left');
  expect(atIpfs(catalog)).toEqual(['damaged', null]);
  expect([states(catalog), catalog.replicas.damagedCount('ipfs')]).toEqual([['spooled', 'spooled'], 1]);
  // Another address of the same place: its copies prove nothing, and the small one alone is queued again.
  prove(catalog, 'ipfs', [SMALL]);
  catalog.replicas.recordUnproven('ipfs', catalog.find(SMALL.versionHash));
  expect([atIpfs(catalog), catalog.replicas.queued('ipfs')]).toEqual([['wanted', null], 1]);
});

test('the row of a last copy that is damaged stays under a rule that leaves it out, until another place holds the blob', () => {
  const open = opener();
  const first = open();
  first.replicas.recordFound('ipfs', BOTH);
  expect(first.recordDamaged('ipfs', LARGE)).toBe('to-be-fetched-again');
  const catalog = open({ rule: upTo(1_000) });
  expect([atIpfs(catalog), states(catalog)]).toEqual([
    ['good', 'damaged'],
    ['stored', 'seen'],
  ]);
  catalog.recordSpooled([LARGE]);
  expect([atIpfs(catalog), catalog.replicas.damagedCount('ipfs')]).toEqual([['good', null], 0]);
});

test('a copy that a listing finds there counts, though the rule would not bring it there', () => {
  const catalog = opener()({ rule: upTo(1_000) });
  catalog.replicas.recordFound('ipfs', [LARGE]);
  expect([atIpfs(catalog), states(catalog)[1]]).toEqual([[null, 'good'], 'stored']);
});

test('a backend at another place, or of another name, is filled by its rule', () => {
  const open = opener();
  const first = open({ rule: upTo(1_000) });
  first.recordSpooled(BOTH);
  prove(first, 's3');
  prove(first, 'ipfs');
  const moved = open({ rule: upTo(1_000), place: 'two' });
  expect([atIpfs(moved), moved.replicas.queued('ipfs'), moved.replicas.queued('s3')]).toEqual([['wanted', null], 1, 2]);
  expect(atIpfs(open({ rule: upTo(1_000) }))).toEqual(['good', null]);
  const renamed = open({ rule: upTo(1_000), backends: ['s3', 'kubo'] });
  expect(renamed.replicas.queued('kubo')).toBe(2);
});

test('a blob that only the full cache and a backend with a rule could hold is never evicted', () => {
  const catalog = opener()({ rule: upTo(1_000) });
  catalog.recordSpooled(BOTH);
  prove(catalog, 'ipfs', [SMALL]);
  const { cached } = catalog.replicas;
  const evictable = () => cached.evictable('held-elsewhere', 'kept', ['s3', 'ipfs'], 9).map((one) => one.sizeBytes);
  expect(evictable()).toEqual([SMALL.sizeBytes]);
  prove(catalog, 's3', [LARGE]);
  expect(evictable()).toEqual([SMALL.sizeBytes, LARGE.sizeBytes]);
});
