import type { Catalog } from '../../src/catalog/catalog.ts';
import type { BlockHash } from '../../src/core/blob/ids.ts';
import type { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../src/core/notifier.ts';
import type { Logger } from '../../src/core/observability/logger.ts';
import type { Clock } from '../../src/core/time/clock.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { BlobCache } from '../../src/reading/blob-cache.ts';
import { Admissions } from '../../src/replication/admissions.ts';
import type { Backend } from '../../src/replication/backend.ts';
import { BackendHandle } from '../../src/replication/backend-handle.ts';
import { BackendReport } from '../../src/replication/backend-report.ts';
import { BlobWriter, sitesTaking } from '../../src/replication/blob-writer.ts';
import { CacheFill } from '../../src/replication/cache-fill.ts';
import { Copies } from '../../src/replication/copies.ts';
import { DamageWatch } from '../../src/replication/damage-watch.ts';
import { DiskQuota } from '../../src/replication/disk-quota.ts';
import { EvictionCheck } from '../../src/replication/eviction-check.ts';
import { LocalCopies } from '../../src/replication/local-copies.ts';
import { LocalMender } from '../../src/replication/local-mender.ts';
import { LocalUpkeep } from '../../src/replication/local-upkeep.ts';
import { OnePlace } from '../../src/replication/one-place.ts';
import { OrphanSweep } from '../../src/replication/orphan-sweep.ts';
import { Replication, type ReplicationOptions } from '../../src/replication/replication.ts';
import { Replicator } from '../../src/replication/replicator.ts';
import { RowSalvage } from '../../src/replication/row-salvage.ts';
import { UnminedExpiry } from '../../src/replication/unmined-expiry.ts';
import type { LocalStore } from '../../src/storage/local/local-store.ts';
import type { RehashRule, Verifier } from '../../src/verify/verified-blob.ts';
import { Activity } from '../../src/view/activity.ts';

export interface ReplicationFacts {
  readonly backends: readonly Backend[];
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly rehash: RehashRule;
  readonly verifier: Verifier;
  readonly conditions: ConditionBoard;
  readonly log: Logger;
  readonly chain: () => Promise<BlockHash | null>;
  readonly clock: Clock;
}

/** The replication room put together as the archive does it, on an archive whose list and walk are always current. */
export function composeReplication(options: ReplicationOptions, facts: ReplicationFacts) {
  const { backends, store, catalog, conditions, verifier, log, clock } = facts;
  const activity = new Activity();
  const poller = { state: { tip: null }, isListed: () => false };
  const damage = new DamageWatch(catalog, conditions, activity, [store.id, ...backends.map(({ id }) => id)]);
  const local = new LocalCopies(store, facts.rehash, verifier);
  const sites = backends.map((backend) => new BackendHandle(backend, verifier, clock));
  const copies = new Copies(local, verifier, sites, new BlobCache(0, SYSTEM_CLOCK));
  const eviction = new EvictionCheck(catalog, sites, damage);
  const knowsWhatIsMined = () => true;
  const room = new DiskQuota(options.local, { store, catalog, conditions, eviction, knowsWhatIsMined, clock });
  const writer = new BlobWriter({ local, room, sitesFor: sitesTaking(sites, catalog), damage, conditions, clock });
  const places = new OnePlace(sites, catalog, conditions);
  const replication = new Replication({
    ...{ local, room },
    admissions: new Admissions(sites, { places, conditions, log, chain: facts.chain }),
    replicators: sites.map((site) => new Replicator(options, { site, copies, catalog, damage, conditions, clock })),
    folder: new LocalUpkeep(
      new LocalMender({ local, writer, copies, catalog, damage, conditions }),
      new RowSalvage(local, catalog, damage, conditions),
      new OrphanSweep(local, catalog, room, damage, conditions, log),
      new CacheFill(local, room, catalog, conditions),
      new UnminedExpiry(catalog, room, damage, poller, conditions, new Notifier()),
    ),
    report: new BackendReport(catalog, room, sites, poller),
  });
  return { replication, copies, writer, local, damage, activity };
}
