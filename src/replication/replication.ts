import type { Catalog } from '../catalog/catalog.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import type { Clock } from '../core/time/clock.ts';
import { bindTo } from '../storage/chain-binding.ts';
import { StorageError } from '../storage/errors.ts';
import type { VerifiedBlob, Verifier } from '../verify/verified-blob.ts';
import type { Activity } from '../view/activity.ts';
import type { BackendStatus } from '../view/archive-view.ts';
import type { HeldBytes } from '../view/held-bytes.ts';
import { Admission } from './admission.ts';
import type { Backend } from './backend.ts';
import { BackendHandle } from './backend-handle.ts';
import { BlobWriter } from './blob-writer.ts';
import { CacheFill } from './cache-fill.ts';
import { Copies } from './copies.ts';
import type { DamageWatch } from './damage-watch.ts';
import { DiskQuota, type DiskQuotaOptions } from './disk-quota.ts';
import { EvictionCheck } from './eviction-check.ts';
import { type Holding, localHolding, siteHolding } from './holding.ts';
import type { LocalCopies } from './local-copies.ts';
import { LocalMender } from './local-mender.ts';
import { tellOfMove } from './moved-backend.ts';
import { OnePlace } from './one-place.ts';
import { OrphanSweep } from './orphan-sweep.ts';
import { Replicator, type ReplicatorOptions } from './replicator.ts';
import { RowSalvage } from './row-salvage.ts';
import { type NodeListing, UnminedExpiry } from './unmined-expiry.ts';

export interface ReplicationOptions extends ReplicatorOptions {
  readonly local: DiskQuotaOptions;
}

export interface ReplicationModules {
  readonly backends: readonly Backend[];
  readonly local: LocalCopies;
  readonly catalog: Catalog;
  readonly held: HeldBytes;
  readonly verifier: Verifier;
  readonly damage: DamageWatch;
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
  readonly log: Logger;
  /** The chain that the data folder is bound to; null before. */
  readonly chain: (signal: AbortSignal) => Promise<BlockHash | null>;
  readonly poller: NodeListing;
  readonly beforeAdmit?: (site: BackendHandle, signal: AbortSignal) => Promise<void>;
  /** Reports whether a blob that no known block has is in no block at all. */
  readonly knowsWhatIsMined: () => boolean;
  readonly clock: Clock;
}

/** Keeps copies of each blob in more than one place: backends, the data folder and what moves between them. */
export class Replication {
  readonly sites: readonly BackendHandle[];
  readonly copies: Copies;
  readonly writer: BlobWriter;
  readonly room: DiskQuota;
  readonly mender: LocalMender;
  readonly cacheFill: CacheFill;
  readonly rowSalvage: RowSalvage;
  readonly orphans: OrphanSweep;
  readonly #modules: ReplicationModules;
  #isRunning = false;
  readonly #expiry: UnminedExpiry;
  readonly #admissions: readonly Admission[];
  readonly #replicators: readonly Replicator[];

  constructor(options: ReplicationOptions, modules: ReplicationModules) {
    this.#modules = modules;
    const { backends, verifier, clock } = modules;
    this.sites = backends.map((backend) => new BackendHandle(backend, verifier, clock));
    const { local, catalog, held, damage, conditions, activity, poller } = modules;
    this.copies = new Copies(local, verifier, this.sites, held);
    const eviction = new EvictionCheck(catalog, this.sites, damage);
    this.room = new DiskQuota(options.local, { ...modules, store: local.store, eviction });
    const sitesFor = ({ versionHash, bytes }: VerifiedBlob) =>
      this.sites.filter(({ id }) => catalog.replicas.takes(id, { versionHash, sizeBytes: bytes.length }));
    this.writer = new BlobWriter({ ...modules, room: this.room, sitesFor });
    this.mender = new LocalMender({ ...modules, writer: this.writer, copies: this.copies });
    this.rowSalvage = new RowSalvage(local, catalog, damage, conditions);
    this.orphans = new OrphanSweep(local, catalog, this.room, conditions, modules.log);
    this.cacheFill = new CacheFill(local, this.room, catalog, conditions);
    this.#expiry = new UnminedExpiry(catalog, this.room, poller, conditions, activity);
    const places = new OnePlace(this.sites, modules.catalog, modules.conditions);
    this.#admissions = this.sites.map((site) => new Admission({ ...modules, site, places }));
    this.#replicators = this.sites.map((site) => new Replicator(options, { ...modules, site, copies: this.copies }));
  }

  /** false: a command works alone on the archive, and what is queued stays so. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    await Promise.all([
      this.#expiry.run(signal),
      ...this.#modules.catalog.moved.map((moved) =>
        tellOfMove(moved, this.#modules.catalog, this.#modules.conditions, signal),
      ),
      ...this.#admissions.map((admission) => admission.run(signal)),
      ...this.#replicators.map((replicator) => replicator.run(signal)),
      this.mender.run(signal),
      this.rowSalvage.run(signal),
      // Blobs that are read from backends are cached only after the sweep, which may be looking at the same ones.
      this.orphans.run(signal).then(() => this.cacheFill.run(signal)),
    ]);
  }

  /**
   * Tries once to let each backend in, for commands that run once. Gives why some cannot be used: one that does not say
   * which chain it belongs to is not let in. Throws `storage/other-chain` where backends belong to different chains.
   */
  async admit(signal: AbortSignal): Promise<Map<string, string>> {
    const faults = new Map<string, string>();
    const bound = new Map<BlockHash, string>();
    const own = await this.#modules.chain(signal);
    await Promise.all(
      this.#admissions.map(async (admission) => {
        try {
          const genesis = own === null ? await admission.boundChain(signal) : null;
          if (genesis !== null) bound.set(genesis, admission.id);
        } catch (error) {
          signal.throwIfAborted();
          faults.set(admission.id, messageOf(error));
        }
      }),
    );
    if (bound.size > 1) throw severalChains(bound);
    await Promise.all(
      this.#admissions.map(async (admission) => {
        if (admission.isDone || faults.has(admission.id)) return;
        const fault = await admission.tryOnce(own, signal);
        if (fault !== null) faults.set(admission.id, fault);
      }),
    );
    return faults;
  }

  /**
   * Brings to these backends all that can be brought there now. Beside an archive that runs, which brings new blobs there
   * by itself and for ever: until nothing is damaged there, or no more of it can be repaired.
   */
  async drain(backends: readonly string[], signal: AbortSignal): Promise<void> {
    const chosen = this.#replicators.filter(({ id }) => backends.includes(id));
    await Promise.all(chosen.map((replicator) => replicator.drain(signal, this.#isRunning)));
  }

  /** The places whose copies are checked: the data folder, unless it is a cache, and these backends. */
  holdings(which: (site: BackendHandle) => boolean = () => true): Holding[] {
    const local = this.room.isCache ? [] : [localHolding(this.#modules.local)];
    const sites = this.sites.filter(which).map((site) => {
      if (!site.store.properties.holds.has('binding')) return siteHolding(site);
      return siteHolding(site, async (signal) => {
        const genesis = await this.#modules.chain(signal);
        if (genesis !== null) await site.judged(() => bindTo(site.store, genesis, signal), signal);
      });
    });
    return [...local, ...sites];
  }

  /** Asks every backend in use how much room it has. */
  async lookAtRoom(signal: AbortSignal): Promise<void> {
    await Promise.all(this.sites.map((site) => site.lookAtRoom(signal)));
  }

  status(): BackendStatus[] {
    const { catalog, local, poller } = this.#modules;
    const tipSeconds = poller.state.tip?.medianTimeSeconds ?? null;
    const countsOf = (id: string) => ({
      queued: catalog.replicas.queued(id),
      oldestQueuedSeconds: secondsSince(catalog.figures.earliestQueued(id), tipSeconds),
      damaged: catalog.replicas.damagedCount(id),
      rule: catalog.replicas.ruleOf(id),
    });
    const { freeBytes: localFreeBytes } = this.room.status;
    const own = { id: local.id, state: 'good' as const, freeBytes: localFreeBytes, ...countsOf(local.id) };
    const remote = this.sites.map(({ id, isAdmitted, isLeftAlone, freeBytes }) => ({
      id,
      freeBytes,
      state: !isAdmitted ? ('not-admitted' as const) : isLeftAlone ? ('left-alone' as const) : ('good' as const),
      ...countsOf(id),
    }));
    return this.room.isCache ? remote : [own, ...remote];
  }
}

function secondsSince(since: number | null, nowSeconds: number | null): number | null {
  return since === null || nowSeconds === null ? null : Math.max(0, nowSeconds - since);
}

function severalChains(bound: ReadonlyMap<BlockHash, string>): StorageError {
  const whose = [...bound].map(([genesis, id]) => `${id} to the one that begins with ${genesis}`).join(', ');
  return new StorageError('storage/other-chain', `The backends belong to different chains: ${whose}.`, {
    details: { bound: Object.fromEntries([...bound].map(([genesis, id]) => [id, genesis])) },
    retryable: false,
    hint: 'Configure the backends of one chain, or name the data folder of that chain (HOLDFAST_DATA_DIR).',
  });
}
