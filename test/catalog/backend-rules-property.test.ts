import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { ContentEntry } from '../../src/catalog/content-table.ts';
import { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { blockOn, HandClock, MIGRATIONS, spooled } from './catalog-in-folder.ts';
import { BACKENDS, entriesOf, startTheWalk, steps } from './copy-steps.ts';

/** `HOLDFAST_FUZZ_RUNS` sets the number of runs for a search of hours, each time along other ways. */
const LONG_SEARCH = process.env['HOLDFAST_FUZZ_RUNS'];
const PARAMETERS = LONG_SEARCH === undefined ? { numRuns: 20, seed: 20_261_123 } : { numRuns: Number(LONG_SEARCH) };

const LABELS = ['taken', 'left'] as const;
const takesOnly = (label: string) => new ArchiveRule({ maxBlobBytes: null, allowed: new Set([nameOf(label)]) });
/** Rules of the backend `ipfs`, by the backend that a change names; the others take every blob. */
const RULES: ReadonlyMap<string, ArchiveRule> = new Map([
  ['local', takesOnly('taken')],
  ['s3', takesOnly('left')],
]);

function nameOf(label: string) {
  return spooled(label).versionHash;
}

/** A catalog that opens again and again, each time under another rule of one backend. */
class RuledCatalog {
  readonly backends: readonly string[];
  rule: ArchiveRule = takesOnly('taken');
  catalog: Catalog;
  readonly #isCache: boolean;
  readonly #path = join(temporaryFolder(), 'catalog.sqlite');

  constructor(isCache: boolean) {
    this.#isCache = isCache;
    this.backends = isCache ? BACKENDS.slice(1) : BACKENDS;
    this.catalog = this.#open();
    startTheWalk(this.catalog);
  }

  reopen(rule: ArchiveRule): void {
    this.catalog.close();
    this.rule = rule;
    this.catalog = this.#open();
  }

  mine(label: string): void {
    const { tip } = this.catalog.chain.state;
    if (tip === null) throw new Error('the walk has begun');
    this.catalog.chain.recordBlocks([blockOn(tip, label, `block ${tip.height}`)], () => false);
  }

  /** Whether copies at this backend count, and can be found, evicted and claimed there. */
  counts(backend: string): boolean {
    return this.backends.includes(backend);
  }

  takes(backend: string, { versionHash, sizeBytes }: ContentEntry): boolean {
    return backend !== 'ipfs' || !this.rule.leavesOut(versionHash, sizeBytes);
  }

  #open(): Catalog {
    const catalog = Catalog.open({
      path: this.#path,
      migrationsFolder: MIGRATIONS,
      backends: this.backends,
      localIsCache: this.#isCache,
      replicasRequired: 1,
      backendRules: new Map([['ipfs', this.rule]]),
      clock: new HandClock(),
    });
    catalog.copies.useBackends(['local', 's3']);
    return catalog;
  }
}

type Change = (ruled: RuledCatalog, at: string, which: string) => void;

const changes: Readonly<Record<string, Change>> = {
  ...Object.fromEntries(
    Object.entries(steps).map(([name, take]): [string, Change] => [
      name,
      ({ catalog }, at, which) => take(catalog, at, which),
    ]),
  ),
  unproven: ({ catalog }, at, which) => catalog.replicas.recordUnproven(at, entriesOf(catalog, which)),
  mine: (ruled, _, which) => ruled.mine(which),
  reopen: (ruled, at) => ruled.reopen(RULES.get(at) ?? ArchiveRule.EVERYTHING),
};

/** Whether the archiver ever makes this change: a store that is no backend is neither listed, doubted nor what a cache relies on. */
function canHappen(ruled: RuledCatalog, name: string, at: string, which: string): boolean {
  if (name === 'find') return ruled.counts(at);
  if (name === 'unproven') return at !== 'local';
  if (name === 'evict') return at !== 'local' && !ruled.counts('local');
  if (name !== 'cache') return true;
  return !ruled.counts('local') && entriesOf(ruled.catalog, which)[0]?.state === 'stored';
}

function expectRightCopies(ruled: RuledCatalog, entry: ContentEntry): void {
  const copies = ruled.catalog.placementsOf(entry);
  const about = JSON.stringify({ entry, copies });
  const isGood = copies.some(({ backend, state }) => state === 'good' && ruled.counts(backend));
  const isHeld = copies.some(({ backend, state }) => state === 'good' || (state === 'wanted' && backend === 'local'));
  expect(entry.state, about).toBe(isGood ? 'stored' : isHeld ? 'spooled' : 'seen');
  const staysHere = entry.isUnmined || ruled.catalog.withheld.has(entry);
  for (const backend of ['s3', 'ipfs']) {
    const state = copies.find((copy) => copy.backend === backend)?.state;
    if (!ruled.takes(backend, entry)) expect(entry.state === 'seen' ? 'good' : (state ?? 'good'), about).toBe('good');
    else if (!staysHere) expect(state, about).toBeDefined();
  }
}

function expectRightQueues({ catalog, backends }: RuledCatalog): void {
  const copies = LABELS.flatMap((label) => entriesOf(catalog, label)).flatMap((entry) => catalog.placementsOf(entry));
  for (const backend of backends) {
    const queued = copies.filter((copy) => copy.backend === backend && copy.state !== 'good');
    const damaged = queued.filter(({ state }) => state === 'damaged');
    const { replicas } = catalog;
    expect([replicas.queued(backend), replicas.damagedCount(backend)]).toEqual([queued.length, damaged.length]);
  }
}

const change = fc.tuple(
  fc.constantFrom(...Object.keys(changes)),
  fc.constantFrom(...BACKENDS),
  fc.constantFrom(...LABELS),
);
const history = fc.array(change, { minLength: 20, maxLength: 90, size: 'max' });

test.each([
  { isCache: true, store: 'a cache' },
  { isCache: false, store: 'a local store' },
])('each backend is to get what its rule takes and no more, after whatever changed, with $store', ({ isCache }) => {
  fc.assert(
    fc.property(history, (chosen) => {
      const ruled = new RuledCatalog(isCache);
      try {
        for (const [name, at, which] of chosen) {
          if (!canHappen(ruled, name, at, which)) continue;
          changes[name]?.(ruled, at, which);
          for (const label of LABELS)
            for (const entry of entriesOf(ruled.catalog, label)) expectRightCopies(ruled, entry);
          expectRightQueues(ruled);
        }
      } finally {
        ruled.catalog.close();
      }
    }),
    PARAMETERS,
  );
});
