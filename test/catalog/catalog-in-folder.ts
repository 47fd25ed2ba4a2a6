import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { BlockRow } from '../../src/catalog/block-table.ts';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { SpooledContent } from '../../src/catalog/content-table.ts';
import type { Sighting } from '../../src/catalog/seen-table.ts';
import type { WalkedBlock } from '../../src/catalog/walked-block.ts';
import type { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import { type HashType, parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import type { Senders } from '../../src/core/blob/sender.ts';
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
  readonly localIsCache?: boolean;
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
    localIsCache: setup.localIsCache ?? false,
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

/** The next block of a branch, with one transaction that has this blob. Blocks of one height differ in their `mark`. */
export function blockOn(
  below: Pick<BlockRow, 'height' | 'hash'>,
  label: string,
  mark: string,
  senders: Senders = null,
): WalkedBlock {
  const { versionHash, hashType, medianTimeSeconds } = spooled(label);
  const place = { txid: parseTxId(hex(`${mark} txid`)), vout: 0, transactionIndex: 1, makeRecord: () => '{}' };
  return {
    height: below.height + 1,
    hash: parseBlockHash(hex(mark)),
    previousHash: below.hash,
    timeSeconds: 1_000,
    medianTimeSeconds: medianTimeSeconds ?? 0,
    occurrences: [{ versionHash, hashType, senders, ...place }],
    unclear: [],
  };
}
