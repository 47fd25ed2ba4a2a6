import { onTestFinished } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { SpooledContent } from '../../src/catalog/content-table.ts';
import type { ArchiveRule } from '../../src/core/blob/archive-rule.ts';
import type { BlockHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import type { Clock } from '../../src/core/time/clock.ts';
import type { Backend } from '../../src/replication/backend.ts';
import { CatalogRebuild } from '../../src/replication/catalog-rebuild.ts';
import { CustomUpkeep } from '../../src/replication/custom/custom-upkeep.ts';
import type { DiskQuotaOptions } from '../../src/replication/disk-quota.ts';
import { reindexedFolder, reindexedSite } from '../../src/replication/reindexed-places.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { RehashRule, type UnverifiedBlob, type VerifiedBlob, verifyBlob } from '../../src/verify/verified-blob.ts';
import { MIGRATIONS } from '../catalog/catalog-in-folder.ts';
import { hurry } from '../hurried-time.ts';
import { HASHER, NEVER } from '../sample-blobs.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { composeReplication } from './compose-replication.ts';

export interface ReplicationSetup {
  readonly backends: readonly Backend[];
  readonly mode?: 'keep' | 'cache';
  readonly budgetBytes?: number | null;
  readonly disk?: DiskQuotaOptions['disk'];
  readonly replicasRequired?: number;
  readonly backendRules?: ReadonlyMap<string, ArchiveRule>;
  readonly requests?: number;
  readonly bytesPerSecond?: number | null;
  readonly chain?: BlockHash | null;
  readonly folder?: string;
  /** Left out: it knows custom commitments. */
  readonly allowsCustom?: boolean;
  /** `real` for a backend in another process, whose clock does not hurry. Default: `hurried`. */
  readonly time?: 'hurried' | 'real';
}

/** The replication room on a real folder and catalog, with clocks that a test moves. Rests are hurried by default. */
export async function replicationScene(setup: ReplicationSetup) {
  const { backends, mode = 'cache', budgetBytes = null, bytesPerSecond = null, chain = null } = setup;
  const { allowsCustom: isAllowed = true, time: pace = 'hurried' } = setup;
  if (pace === 'hurried') hurry();
  const clock = { wallMs: 1_790_000_000_000, steadyMs: 1_000_000 };
  const nowMs = () => clock.wallMs;
  const time: Clock = { wallMs: nowMs, steadyMs: () => clock.steadyMs };
  const folder = setup.folder ?? temporaryFolder();
  const store = await LocalStore.open(folder);
  onTestFinished(() => store.close());
  const ids = backends.map(({ id }) => id);
  const catalog = Catalog.open({
    path: `${folder}/catalog.sqlite`,
    migrationsFolder: MIGRATIONS,
    backends: mode === 'keep' ? [store.id, ...ids] : ids,
    localIsCache: mode === 'cache',
    ...(setup.backendRules === undefined ? {} : { backendRules: setup.backendRules }),
    replicasRequired: setup.replicasRequired ?? 1,
    clock: time,
  });
  onTestFinished(() => catalog.close());
  const log = createLogger('fatal', { write: () => {} });
  const conditions = new ConditionBoard(log, nowMs);
  const rehash = new RehashRule(HASHER, { entries: 100, periodMs: 60_000, steadyMs: () => clock.steadyMs });
  const verifier = { verify: async (candidate: UnverifiedBlob) => verifyBlob(candidate, HASHER) };
  const disk = setup.disk ?? (async () => ({ freeBytes: 2 ** 40, totalBytes: 2 ** 41 }));
  const { replication, copies, writer, local, damage, activity } = composeReplication(
    { requests: setup.requests ?? 4, bytesPerSecond, local: { mode, budgetBytes, disk, freeBytes: () => null } },
    { backends, store, catalog, rehash, verifier, conditions, log, chain: async () => chain, clock: time },
  );
  const { sites } = replication;
  const hasher = HASHER;
  const custom = new CustomUpkeep({ catalog, hasher, store, sites, conditions, isAllowed, clock: time });
  catalog.copies.useBackends(custom.places.all.map(({ id }) => id));
  const catalogRebuild = new CatalogRebuild({
    ...{ catalog, conditions, sites, custom, isNewFolder: false, found: new Notifier() },
    places: {
      folder: reindexedFolder(local, catalog, damage, replication.room),
      backend: (site) => reindexedSite(site, catalog, damage),
    },
  });
  /** Does what the fetcher does: durable here, or where the blob was written through, and then in the catalog. */
  const spool = async (blob: VerifiedBlob, facts: Partial<SpooledContent> = {}) => {
    const { hashType, versionHash } = blob;
    const content = {
      hashType,
      versionHash,
      sizeBytes: blob.bytes.length,
      txid: null,
      medianTimeSeconds: 1_790_000_000,
      firstSeenMs: clock.wallMs,
      ...facts,
    };
    const where = await writer.put(blob, NEVER);
    if (where === store.id) catalog.recordSpooled([content]);
    else catalog.replicas.recordFound(where, [content]);
    return where;
  };
  const start = () => {
    const stopping = new AbortController();
    const running = replication.run(stopping.signal);
    const stop = async () => {
      stopping.abort();
      await running;
    };
    onTestFinished(stop);
    return { stop };
  };
  return {
    replication,
    copies,
    writer,
    catalog,
    store,
    local,
    conditions,
    damage,
    activity,
    rehash,
    clock,
    time,
    folder,
    custom,
    catalogRebuild,
    spool,
    start,
  };
}
