import fc from 'fast-check';
import { expect } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { spooled } from './catalog-in-folder.ts';

export const BACKENDS = ['local', 's3', 'ipfs'] as const;
const ARCHIVER = '0123456789abcdef';

const backend = fc.constantFrom(...BACKENDS);
const label = fc.constantFrom('a', 'b', 'c', 'd', 'e');

/** Everything that changes what a backend is to hold, or is proven to. */
export const steps: Readonly<Record<string, (catalog: Catalog, at: string, which: string) => void>> = {
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
  evictUnmined: (catalog, _, which) => {
    catalog.unmined.recordEvicted(entriesOf(catalog, which), 'no-room');
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
export function startTheWalk(catalog: Catalog): void {
  catalog.chain.recordStart(1);
  const [hash, previousHash] = [parseBlockHash('11'.repeat(32)), parseBlockHash('00'.repeat(32))];
  const times = { timeSeconds: 1_000, medianTimeSeconds: 1_000 };
  catalog.chain.recordBlocks([{ height: 1, hash, previousHash, ...times, occurrences: [], unclear: [] }], () => false);
}

export const entriesOf = (catalog: Catalog, which: string) => catalog.find(spooled(which).versionHash);

/** Names of steps of a table, each with the backend and the blob that it is about. */
export function someSteps(table: Readonly<Record<string, unknown>>) {
  const one = fc.tuple(fc.constantFrom(...Object.keys(table)), backend, label);
  return fc.array(one, { minLength: 1, maxLength: 30 });
}
