import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { SpooledContent } from '../../src/catalog/content-table.ts';
import type { Sighting } from '../../src/catalog/seen-table.ts';
import type { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { type HashType, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { type Clock, SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));

/** A clock that stands until a test moves it. */
export class HandClock {
  ms = 1_767_225_600_000;
  readonly nowMs = () => this.ms;
  readonly wallMs = this.nowMs;
  readonly steadyMs = SYSTEM_CLOCK.steadyMs;
}

export interface CatalogSetup {
  readonly folder?: string;
  readonly backends?: readonly string[];
  readonly replicasRequired?: number;
  readonly clock?: Clock;
  readonly rule?: ArchiveRule;
}

/** A catalog on a real file, closed when the test is over. */
export function openCatalog(setup: CatalogSetup = {}): Catalog {
  const catalog = Catalog.open({
    path: join(setup.folder ?? temporaryFolder(), 'catalog.sqlite'),
    migrationsFolder: MIGRATIONS,
    backends: setup.backends ?? ['local'],
    replicasRequired: setup.replicasRequired ?? 1,
    clock: setup.clock ?? new HandClock(),
    ...(setup.rule === undefined ? {} : { rule: setup.rule }),
  });
  catalog.copies.useBackends(['local']);
  onTestFinished(() => catalog.close());
  return catalog;
}

const hex = (label: string) => createHash('sha256').update(label).digest('hex');

/** A list's entry for a blob of this name. */
export function sighting(label: string, facts: Partial<Sighting> = {}): Sighting {
  return {
    versionHash: parseVersionHash(hex(label)),
    sizeBytes: 100,
    txid: parseTxId(hex(`${label} txid`)),
    medianTimeSeconds: 1_767_000_000,
    ...facts,
  };
}

export function spooled(
  label: string,
  hashType: HashType = 'keccak256',
  facts: Partial<Sighting> = {},
): SpooledContent {
  return { ...sighting(label, facts), hashType, firstSeenMs: 1_767_225_600_000 };
}
