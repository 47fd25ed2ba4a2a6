import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openCatalog, spooled } from './catalog-in-folder.ts';

const BACKENDS = ['local', 's3', 'ipfs'] as const;
const ARCHIVER = '0123456789abcdef';

const backend = fc.constantFrom(...BACKENDS);
const label = fc.constantFrom('a', 'b', 'c', 'd', 'e');

/** Everything that changes what a backend is to hold, or is proven to. */
const steps: Readonly<Record<string, (catalog: Catalog, at: string, which: string) => void>> = {
  spool: (catalog, _, which) => catalog.recordSpooled([spooled(which)]),
  spoolUnmined: (catalog, _, which) => catalog.recordSpooled([{ ...spooled(which), isUnmined: true }]),
  prove: (catalog, at, which) => catalog.recordProven(at, entriesOf(catalog, which)),
  damage: (catalog, at, which) => catalog.recordDamaged(at, spooled(which)),
  find: (catalog, at, which) => catalog.replicas.recordFound(at, [spooled(which)]),
  cache: (catalog, _, which) => {
    for (const entry of entriesOf(catalog, which)) catalog.replicas.cached.recordCached(entry);
  },
  evict: (catalog, at, which) => {
    catalog.replicas.cached.recordEvicted(entriesOf(catalog, which).map((entry) => ({ entry, backend: at })));
  },
  fail: (catalog, at, which) => {
    const failure = { code: 'storage/unreachable', message: 'It is away.', nextAttemptMs: 9 };
    const failures = entriesOf(catalog, which).map(({ sequence }) => ({ ...failure, sequence }));
    catalog.replicas.recordFailures(at, failures);
  },
  tryAgain: (catalog) => catalog.replicas.tryAgainNow(),
  letGo: (catalog, _, which) => {
    catalog.unmined.recordLetGo(entriesOf(catalog, which), 'no-room');
  },
  withhold: (catalog, _, which) => catalog.withheld.record([withheld(which)], false),
  letIn: (catalog, _, which) => catalog.withheld.revoke([withheld(which)], false, 7),
  rollBack: (catalog, _, which) => {
    const broken = { ...spooled('broken'), sizeBytes: 0.5 };
    expect(() => catalog.recordSpooled([spooled(which), broken])).toThrow();
    expect(() => catalog.replicas.recordFound('s3', [spooled(which), broken])).toThrow();
  },
};

function withheld(which: string) {
  const { hashType, versionHash } = spooled(which);
  return { hashType, versionHash, archiver: ARCHIVER, reason: 'a test', publicReason: null, atMs: 1, purge: false };
}

/** Before that nothing is known to be in no block. */
function startTheWalk(catalog: Catalog): void {
  catalog.chain.recordStart(1);
  const [hash, previousHash] = [parseBlockHash('11'.repeat(32)), parseBlockHash('00'.repeat(32))];
  const times = { timeSeconds: 1_000, medianTimeSeconds: 1_000 };
  catalog.chain.recordBlocks([{ height: 1, hash, previousHash, ...times, occurrences: [], unclear: [] }], () => false);
}

const entriesOf = (catalog: Catalog, which: string) => catalog.find(spooled(which).versionHash);

const UNMINED_FIRST: readonly [string, (typeof BACKENDS)[number], string][] = [
  ['spoolUnmined', 'local', 'a'],
  ['letGo', 'local', 'a'],
];

test('the length of each queue is what its rows say, after whatever changed them', () => {
  const step = fc.tuple(fc.constantFrom(...Object.keys(steps)), backend, label);
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
    for (const name of ['spoolUnmined', 'damage', 'letGo']) take(name, 'local', 'let go');
    expect(catalog.unmined.letGo(spooled('let go').versionHash)).toHaveLength(1);
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (chosen) => {
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
