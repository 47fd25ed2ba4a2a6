import { Backfill } from '../backfill/backfill.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { RecordedLoss } from '../catalog/loss-ledger.ts';
import type { AuditRange, ChainAuditReport } from '../chain/audit.ts';
import { ChainFollowing, type ChainOptions } from '../chain/chain-following.ts';
import { countAtRisk } from '../chain/deadline-watch.ts';
import { NodeGroup } from '../chain/node-group.ts';
import type { ContentName, NamedHash } from '../core/blob/ids.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import { Inventories } from '../federation/inventories.ts';
import { Fetcher } from '../ingest/fetcher.ts';
import { LeftOver } from '../ingest/left-over.ts';
import { NodeLists } from '../ingest/node-lists.ts';
import { type ChainBinding, Poller, type PollerOptions } from '../ingest/poller.ts';
import { Spooler } from '../ingest/spooler.ts';
import type { ArchiveNode } from '../node/chain-node.ts';
import { ArchiveReader } from '../reading/archive-reader.ts';
import { ChainQuestions } from '../reading/chain-questions.ts';
import { isoTime } from '../reading/content-record.ts';
import { ContentRecords } from '../reading/content-records.ts';
import { WindowPictures } from '../reading/window-pictures.ts';
import { TakeDowns } from '../reading/withhold/take-downs.ts';
import { Adoption } from '../replication/adoption.ts';
import { bytesSources, recordStores } from '../replication/archive-sources.ts';
import type { Backend } from '../replication/backend.ts';
import { CustomKeeper } from '../replication/custom/custom-keeper.ts';
import { CustomUpkeep } from '../replication/custom/custom-upkeep.ts';
import type { ScrubOptions } from '../replication/daily-scrub.ts';
import { DamageWatch } from '../replication/damage-watch.ts';
import { Replication, type ReplicationOptions } from '../replication/replication.ts';
import { Upkeep } from '../replication/upkeep.ts';
import type { CustomStore } from '../storage/custom-store.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import type { RehashRule, Verifier } from '../verify/verified-blob.ts';
import { Activity } from '../view/activity.ts';
import type {
  ArchiveStatus,
  ArchiveView,
  BlobLookup,
  ListingPage,
  ListingQuery,
  RecordLookup,
} from '../view/archive-view.ts';
import type { ChainView } from '../view/chain-view.ts';
import { type HeldBytes, NOTHING_HELD } from '../view/held-bytes.ts';
import type { InventoryView } from '../view/inventory-view.ts';
import type { WindowView } from '../view/window-view.ts';
import { CountedCalls, CountedNode } from './counted-node.ts';
import { Drain } from './drain.ts';
import { ArchiveFigures } from './figures.ts';
import { nodeStatus } from './node-status.ts';
import { Placer } from './placer.ts';
import { Routine } from './routine.ts';
import { standingConditions } from './standing-conditions.ts';

export interface ArchiveOptions extends PollerOptions {
  readonly version: string;
  readonly emulated: boolean;
  /** Requests under way at the node at a time. */
  readonly requests: number;
  readonly chain: ChainOptions;
  readonly replication: ReplicationOptions;
  readonly scrub: ScrubOptions;
  /** A list of names that may not be served, besides what backends say; null: none. */
  readonly withheldFile?: string | null;
  /** The data folder belonged to no chain yet: there is no catalog that could have been lost. */
  readonly isNewFolder?: boolean;
}

export interface ArchiveModules {
  readonly node: ArchiveNode;
  /** Asked when that one does not answer, or has not got something. */
  readonly otherNodes?: readonly ArchiveNode[];
  /** Backends with names: they get the occurrence records. */
  readonly records: readonly ObjectStore[];
  readonly catalog: Catalog;
  readonly store: LocalStore;
  readonly customFolder: CustomStore;
  readonly backends: readonly Backend[];
  readonly binding: ChainBinding;
  readonly hasher: BlobHasher;
  readonly verifier: Verifier;
  readonly rehash: RehashRule;
  readonly conditions: ConditionBoard;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** What this process serves out of memory. */
  readonly held?: HeldBytes;
}

/** The way of a blob, put together: listed → fetched → verified → spooled → stored; and the view of it for readers. */
export class Archive implements ArchiveView {
  readonly activity = new Activity();
  readonly #options: ArchiveOptions;
  readonly #modules: ArchiveModules;
  readonly #node: ArchiveNode;
  readonly #calls: CountedCalls;
  readonly #poller: Poller;
  readonly #fetcher: Fetcher;
  readonly #placer: Placer;
  readonly #adoption: Adoption;
  readonly #reader: ArchiveReader;
  readonly #records: ContentRecords;
  readonly #chain: ChainFollowing;
  readonly #replication: Replication;
  /** Bytes that match neither hash. */
  readonly custom: CustomKeeper;
  /** Fetches from whoever is named what is on chain and not here. */
  readonly backfill: Backfill;
  /** For commands that work on an archive that does not run. */
  readonly upkeep: Upkeep;
  /** What may not be served. */
  readonly takeDowns: TakeDowns;
  /** What readers may ask of the chain. */
  readonly chainView: ChainView;
  readonly figures: ArchiveFigures;
  /** The window, for people to look at. */
  readonly windowView: WindowView;
  /** What is held of what is final, for other archives. */
  readonly inventory: InventoryView;
  /** What is looked after at its times. */
  readonly routine: Routine;

  constructor(options: ArchiveOptions, modules: ArchiveModules) {
    this.#options = options;
    this.#modules = modules;
    const calls = new CountedCalls();
    const [first, ...others] = [modules.node, ...(modules.otherNodes ?? [])].map(
      (node) => new CountedNode(node, calls),
    );
    if (first === undefined) throw new TypeError('an archive follows at least one node');
    const nodes = [first, ...others];
    const group = new NodeGroup([first, ...others], () => modules.binding.boundChain());
    this.#node = others.length === 0 ? first : group;
    this.#calls = calls;
    const parts = { ...modules, held: modules.held ?? NOTHING_HELD, node: this.#node, activity: this.activity };
    this.#poller = new Poller(options, parts);
    const homes = [modules.store.id, ...modules.backends.map(({ id }) => id)];
    const damage = new DamageWatch(modules.catalog, modules.conditions, this.#poller.news, homes);
    const chain = () => modules.binding.boundChain();
    const knowsWhatIsMined = () => this.#poller.isListCurrent() && this.#chain.isCurrent();
    this.#replication = new Replication(options.replication, {
      ...parts,
      damage,
      chain,
      poller: this.#poller,
      knowsWhatIsMined,
      welcome: (site, signal) => this.takeDowns.readFrom(site, signal),
    });
    const replication = this.#replication;
    const { home, copies, cacheFill, sites } = replication;
    const custom = new CustomUpkeep({ ...parts, sites });
    this.custom = new CustomKeeper({ ...parts, places: custom.places, mender: custom.mender });
    this.#adoption = new Adoption({
      ...parts,
      custom,
      damage,
      sites,
      isNewFolder: options.isNewFolder ?? false,
      found: this.#poller.news,
    });
    const { archiverId } = options.chain;
    this.upkeep = new Upkeep({ ...parts, archiverId, damage, replication, custom, adoption: this.#adoption });
    const spooler = new Spooler({ ...parts, home });
    this.activity.on('spooled', () => this.#replication.news.ring());
    const leftOver = new LeftOver(
      modules.store,
      modules.hasher,
      modules.catalog.openedMs,
      () => !this.#adoption.isDone,
    );
    const fetching = { ...parts, poller: this.#poller, spooler, leftOver, custom: this.custom };
    this.#fetcher = new Fetcher(options.requests, fetching);
    this.#placer = new Placer({ ...parts, damage, spooled: spooler.news, isFetching: () => !this.#fetcher.idle });
    this.#chain = new ChainFollowing(options.chain, {
      ...parts,
      nodes,
      askLast: (names) => group.askLast(names),
      poller: this.#poller,
      spooler,
      sources: bytesSources(modules.store, sites),
      records: recordStores(modules.records, sites),
    });
    const watched = { ...parts, archiverId, damage, replication, custom };
    this.routine = new Routine(options.scrub, {
      ...watched,
      audit: (range, signal) => this.auditChain(range, signal),
      finalHeight: () => this.#chain.finalHeight,
    });
    this.figures = new ArchiveFigures({ ...watched, chain: this.#chain, poller: this.#poller, routine: this.routine });
    const lists = new NodeLists(nodes, options.pageEntries, chain);
    const beside = { poller: this.#poller, adoption: this.#adoption, chain: this.#chain, lists };
    this.#reader = new ArchiveReader({ ...parts, ...beside, copies, cacheFill, sites, damage });
    this.backfill = new Backfill({
      ...parts,
      ...beside,
      sites,
      spooler,
      replication,
      evidence: this.#chain.evidence,
    });
    this.chainView = new ChainQuestions({
      ...parts,
      ...beside,
      records: recordStores(modules.records, sites),
    });
    this.#records = new ContentRecords({ ...parts, reader: this.#reader, chain: this.#chain });
    this.takeDowns = new TakeDowns({
      ...parts,
      archiverId,
      withheldFile: options.withheldFile ?? null,
      records: modules.records,
      evidence: this.#chain.evidence,
      replication,
      custom,
      damage,
      poller: this.#poller,
    });
    this.inventory = new Inventories({ ...parts, ...beside, boundChain: chain });
    this.windowView = new WindowPictures({ ...parts, chain: this.#chain });
  }

  /** Works until the signal aborts; resolves when everything under way has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const withheldKnown = this.takeDowns.firstReading(signal);
    await Promise.all([
      this.#placeWhatIsHere(withheldKnown, signal),
      this.#replication.run(signal),
      this.#poller.run(signal),
      withheldKnown.then(() => this.#fetcher.run(signal)),
      this.#chain.run(signal),
      this.takeDowns.run(signal),
      this.custom.run(signal),
    ]);
  }

  /** As much of it as a backfill needs that runs alone: it follows the chain and fills the backends, and fetches nothing itself. */
  async runForBackfill(signal: AbortSignal): Promise<void> {
    const keeps = !this.#replication.room.isCache;
    const placing = this.#adoption.adoptFolder(signal).then(() => (keeps ? this.#placer.run(signal) : undefined));
    await Promise.all([placing, this.#replication.run(signal), this.#poller.run(signal), this.#chain.run(signal)]);
  }

  async #placeWhatIsHere(withheldKnown: Promise<void>, signal: AbortSignal): Promise<void> {
    // A catalog that is made again does not know yet what of that may not be served.
    if (!this.#adoption.isDone) await withheldKnown;
    await this.#adoption.adoptFolder(signal);
    const keeps = !this.#replication.room.isCache;
    await Promise.all([this.#adoption.adoptBackends(signal), ...(keeps ? [this.#placer.run(signal)] : [])]);
  }

  read(name: NamedHash, signal: AbortSignal): Promise<BlobLookup> {
    return this.#reader.read(name, signal);
  }

  readonly open: NonNullable<ArchiveView['open']> = (name, signal) => this.#reader.open(name, signal);
  readonly glance: NonNullable<ArchiveView['glance']> = (versionHash) => this.#reader.glance(versionHash);
  readonly isWithheld: NonNullable<ArchiveView['isWithheld']> = (name) => this.#reader.isWithheld(name);

  record(name: NamedHash, signal: AbortSignal, occurrencesAfter: string | null = null): Promise<RecordLookup> {
    return this.#records.record(name, signal, occurrencesAfter);
  }

  list(query: ListingQuery): ListingPage {
    return this.#records.list(query);
  }

  /** What a planned stop is prepared with. */
  drainWith(jobs: ConstructorParameters<typeof Drain>[0]): Drain {
    return new Drain(jobs, {
      ...this.#modules,
      replication: this.#replication,
      poller: this.#poller,
      fetcher: this.#fetcher,
    });
  }

  auditChain(range: AuditRange, signal: AbortSignal): Promise<ChainAuditReport> {
    return this.#chain.audit(range, signal);
  }

  /** What nobody had when its deadline passed, with who answered what. */
  losses(after: ContentName | null = null, limit = 1_000): RecordedLoss[] {
    return this.#modules.catalog.losses.page(after, limit);
  }

  status(): ArchiveStatus {
    const { catalog, conditions } = this.#modules;
    const { tip, genesis, sweptMs, entries } = this.#poller.state;
    const queue = catalog.queueSummary();
    const slack =
      tip === null || queue.earliest === null ? null : queue.earliest + RETENTION_SECONDS - tip.medianTimeSeconds;
    return {
      version: this.#options.version,
      emulated: this.#options.emulated,
      node: nodeStatus(this.#node.name, this.#poller.state, this.#calls, conditions.has('node')),
      chain: { genesis, network: tip?.network ?? null, ...this.#chain.status },
      list: { sweptAt: isoTime(sweptMs), entries },
      content: {
        ...catalog.totals(),
        failing: queue.failing,
        atRisk: tip === null ? null : countAtRisk(catalog, tip.medianTimeSeconds),
      },
      backends: this.#replication.status(),
      withheld: this.takeDowns.status,
      smallestSlackSeconds: slack,
      conditions: standingConditions(conditions, this.#chain, sweptMs !== null, this.#modules.nowMs()),
    };
  }
}
