import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LiveSettings } from '../../src/app/live-settings.ts';
import { openBackends } from '../../src/app/open-backends.ts';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { SettingValues } from '../../src/config/index.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import type { Logger } from '../../src/core/observability/logger.ts';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { createNodeHasher, HashThread } from '../../src/hashing/index.ts';
import { Spooler } from '../../src/ingest/spooler.ts';
import { DataFolder } from '../../src/storage/local/data-folder.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { declareBackendMetrics } from '../../src/storage/metrics.ts';
import { RehashRule, type VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { composeReplication } from '../replication/compose-replication.ts';

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));
const GENESIS = parseBlockHash('ab'.repeat(32));

/** A daemon's way from a verified blob to its backends, on its own settings, without the node that blobs come from. */
export async function openReplication(settings: SettingValues, log: Logger) {
  const folder = await DataFolder.claim(settings.dataDir);
  await folder.settleMode('cache', true);
  await folder.bindTo(GENESIS);
  const store = await LocalStore.open(folder.path);
  const backends = await openBackends(
    await LiveSettings.read(settings),
    settings,
    declareBackendMetrics(new MetricsRegistry()),
  );
  const ids = backends.map(({ id }) => id);
  const catalog = Catalog.open({
    path: join(folder.path, 'catalog.sqlite'),
    migrationsFolder: MIGRATIONS,
    backends: ids,
    localIsCache: true,
    replicasRequired: settings.replicasRequired,
    clock: SYSTEM_CLOCK,
  });
  const hasher = await createNodeHasher();
  const verifier = new HashThread(hasher);
  const conditions = new ConditionBoard(log, SYSTEM_CLOCK.wallMs);
  const rehash = new RehashRule(hasher, {
    entries: 10_000,
    periodMs: settings.scrubDays * 86_400_000,
    steadyMs: SYSTEM_CLOCK.steadyMs,
  });
  const { replication, writer, activity } = composeReplication(
    {
      requests: settings.replicasRequests,
      bytesPerSecond: settings.replicasBytesPerSecond,
      local: {
        mode: 'cache',
        budgetBytes: settings.localBytes,
        disk: () => folder.room(),
        freeBytes: () => folder.freeBytes(),
      },
    },
    { backends, store, catalog, rehash, verifier, conditions, log, chain: async () => GENESIS, clock: SYSTEM_CLOCK },
  );
  const spooler = new Spooler(writer, catalog, conditions, activity, SYSTEM_CLOCK);
  return {
    async admit(signal: AbortSignal): Promise<void> {
      const [fault] = await replication.admit(signal);
      if (fault !== undefined) throw new Error(fault.join(': '));
    },
    spool(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
      const facts = { sizeBytes: blob.bytes.length, txid: null, medianTimeSeconds: 0, firstSeenMs: 0 };
      return spooler.spool(blob, facts, signal);
    },
    drain: (signal: AbortSignal) => replication.drain(ids, signal),
    stored: () => catalog.totals().stored,
    async close(): Promise<void> {
      await verifier.stop();
      catalog.close();
      for (const { store: remote } of backends) await remote.close();
      await store.close();
      await folder.release();
    },
  };
}
