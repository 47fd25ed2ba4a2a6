import { Backfill } from '../backfill/backfill.ts';
import { LossRecord } from '../backfill/loss-record.ts';
import { OwnPlaces } from '../backfill/own-places.ts';
import { RangeInArchive } from '../backfill/range-in-archive.ts';
import { SourceList } from '../backfill/source-list.ts';
import type { ExportModules } from '../bundle/export-bundle.ts';
import type { ImportModules } from '../bundle/importer.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { RecordedLoss } from '../catalog/loss-ledger.ts';
import type { OverdueKind } from '../catalog/seen-table.ts';
import type { AuditRange, ChainAuditReport } from '../chain/audit.ts';
import { ChainAudit } from '../chain/chain-audit.ts';
import { ChainFollowing, type ChainOptions } from '../chain/chain-following.ts';
import { countAtRisk } from '../chain/deadline-watch.ts';
import { LossJudge } from '../chain/loss-judge.ts';
import { LossRule } from '../chain/loss-rule.ts';
import { LossSearch } from '../chain/loss-search.ts';
import { NodeGroup } from '../chain/node-group.ts';
import { NodeSource } from '../chain/node-source.ts';
import { OccurrenceProofs } from '../chain/occurrence-proofs.ts';
import { OutageWatch } from '../chain/outage-watch.ts';
import type { ContentName, NamedHash } from '../core/blob/ids.ts';
import { deadlineOf } from '../core/blob/limits.ts';
import type { Condition } from '../core/conditions/condition.ts';
import type { ConditionBoard, Standing } from '../core/conditions/condition-board.ts';
import { eachOnce } from '../core/conditions/condition-severity.ts';
import { Notifier } from '../core/notifier.ts';
import type { Logger } from '../core/observability/logger.ts';
import type { Clock } from '../core/time/clock.ts';
import { Attestor, type StatementSigner } from '../federation/attestor.ts';
import { Inventories } from '../federation/inventories.ts';
import type { Peer } from '../federation/peer.ts';
import { PeerAudit } from '../federation/peer-audit.ts';
import { PeerClaims } from '../federation/peer-claims.ts';
import { PeerComparer } from '../federation/peer-comparison.ts';
import { PeerRescue } from '../federation/peer-rescue.ts';
import { PeerStatements } from '../federation/peer-statements.ts';
import { Receipts } from '../federation/receipts.ts';
import { BlobIntake } from '../ingest/blob-intake.ts';
import { FetchFailures } from '../ingest/fetch-failures.ts';
import { Fetcher } from '../ingest/fetcher.ts';
import { NodeLists } from '../ingest/node-lists.ts';
import { NodeRequests } from '../ingest/node-requests.ts';
import { OrphanFinder } from '../ingest/orphan-finder.ts';
import { type ChainBinding, Poller, type PollerOptions } from '../ingest/poller.ts';
import { Spooler } from '../ingest/spooler.ts';
import type { ArchiveNode } from '../node/chain-node.ts';
import { Absence } from '../reading/absence.ts';
import { ArchiveBytes } from '../reading/archive-bytes.ts';
import { BlobCache } from '../reading/blob-cache.ts';
import { ChainQuestions } from '../reading/chain-questions.ts';
import { isoTime } from '../reading/content-record.ts';
import { ContentRecords } from '../reading/content-records.ts';
import { CatalogGate } from '../reading/gate.ts';
import { HeldCopies } from '../reading/held-copies.ts';
import { Holders } from '../reading/holders.ts';
import { LastSavedBlock } from '../reading/last-saved-block.ts';
import { ProvenFiles } from '../reading/proven-files.ts';
import { ProvenReader } from '../reading/proven-reader.ts';
import { Doubts } from '../reading/questions/doubts.ts';
import { FinalProofs } from '../reading/questions/final-proofs.ts';
import { NodeHeaders } from '../reading/questions/node-headers.ts';
import { Places } from '../reading/questions/places.ts';
import { Safety } from '../reading/questions/safety.ts';
import { TransactionLists } from '../reading/questions/transaction-lists.ts';
import { WindowEntries } from '../reading/questions/window-entries.ts';
import { WindowPictures } from '../reading/window-pictures.ts';
import { TakeDowns } from '../reading/withhold/take-downs.ts';
import { WithheldPlaces } from '../reading/withhold/withheld-places.ts';
import { WithheldReading } from '../reading/withhold/withheld-reading.ts';
import { holdsEvidence, WithheldSayings } from '../reading/withhold/withheld-sayings.ts';
import { Admissions } from '../replication/admissions.ts';
import { bytesSources, recordStores } from '../replication/archive-sources.ts';
import type { Backend } from '../replication/backend.ts';
import { BackendHandle } from '../replication/backend-handle.ts';
import { BackendReport } from '../replication/backend-report.ts';
import { BlobWriter, sitesTaking } from '../replication/blob-writer.ts';
import { CacheFill } from '../replication/cache-fill.ts';
import { Canary } from '../replication/canary.ts';
import { CatalogRebuild } from '../replication/catalog-rebuild.ts';
import { Copies } from '../replication/copies.ts';
import { CopyWorker } from '../replication/copy-worker.ts';
import { CustomKeeper } from '../replication/custom/custom-keeper.ts';
import { CustomUpkeep } from '../replication/custom/custom-upkeep.ts';
import { DailyScrub, type ScrubOptions } from '../replication/daily-scrub.ts';
import { DamageWatch } from '../replication/damage-watch.ts';
import { DiskQuota } from '../replication/disk-quota.ts';
import { EvictionCheck } from '../replication/eviction-check.ts';
import { EvidenceCopies } from '../replication/evidence-copies.ts';
import { LocalCopies } from '../replication/local-copies.ts';
import { LocalMender } from '../replication/local-mender.ts';
import { LocalUpkeep } from '../replication/local-upkeep.ts';
import { OnePlace } from '../replication/one-place.ts';
import { OrphanSweep } from '../replication/orphan-sweep.ts';
import { RecordCopies } from '../replication/record-copies.ts';
import { reindexedFolder, reindexedSite } from '../replication/reindexed-places.ts';
import { Replication, type ReplicationOptions } from '../replication/replication.ts';
import { Replicator } from '../replication/replicator.ts';
import { RowSalvage } from '../replication/row-salvage.ts';
import { UnminedExpiry } from '../replication/unmined-expiry.ts';
import { Upkeep } from '../replication/upkeep.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import type { Namer, RehashRule, Verifier } from '../verify/verified-blob.ts';
import { Activity } from '../view/activity.ts';
import type {
  ArchiveIdentity,
  ArchiveStatus,
  ArchiveView,
  ListingPage,
  ListingQuery,
  Reader,
  RecordLookup,
} from '../view/archive-view.ts';
import type { ChainState } from '../view/chain-state.ts';
import type { ChainView } from '../view/chain-view.ts';
import type { InventoryView } from '../view/inventory-view.ts';
import type { WindowView } from '../view/window-view.ts';
import { CatalogMaintenance } from './catalog-maintenance.ts';
import { ClockWatch } from './clock-watch.ts';
import { CountedCalls, CountedNode } from './counted-node.ts';
import { Drain } from './drain.ts';
import { ArchiveFigures } from './figures.ts';
import { LocalVerifier } from './local-verifier.ts';
import { nodeStatus } from './node-status.ts';
import { Routine } from './routine.ts';
import { standingConditions } from './standing-conditions.ts';
import { TaskReports } from './task-reports.ts';

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
  /** Whether the chain's dialect knows custom commitments. Default: false. */
  readonly allowsCustom?: boolean;
  /** Memory for bytes that are asked for often; 0, or not given: none. */
  readonly cacheBytes?: number;
  /** The data folder belonged to no chain yet: there is no catalog that could have been lost. */
  readonly isNewFolder?: boolean;
}

export interface ArchiveModules {
  readonly node: ArchiveNode;
  /** Nodes to ask when the followed one does not answer, or lacks the content. */
  readonly otherNodes?: readonly ArchiveNode[];
  readonly catalog: Catalog;
  readonly store: LocalStore;
  readonly backends: readonly Backend[];
  readonly binding: ChainBinding;
  readonly hasher: BlobHasher;
  readonly verifier: Verifier & Namer;
  readonly rehash: RehashRule;
  readonly conditions: ConditionBoard;
  readonly log: Logger;
  readonly clock: Clock;
  /** Archives to ask for content that the nodes lack. */
  readonly peers?: readonly Peer[];
  /** Signs what this archive states. */
  readonly signer: StatementSigner;
}

/** The way of a blob, put together: listed → fetched → verified → spooled → stored; and the view of it for readers. */
export class Archive implements ArchiveView {
  readonly activity = new Activity();
  readonly #options: ArchiveOptions;
  readonly #modules: ArchiveModules;
  readonly #nodes: NodeGroup;
  readonly #calls = new CountedCalls();
  readonly #poller: Poller;
  readonly #fetcher: Fetcher;
  readonly #localVerifier: LocalVerifier;
  readonly #catalogRebuild: CatalogRebuild;
  readonly #records: ContentRecords;
  readonly #chain: ChainFollowing;
  readonly #audit: ChainAudit;
  readonly #evidence: EvidenceCopies;
  /** Workers that bring evidence and records to every backend with names. */
  readonly #copies: readonly { run(signal: AbortSignal): Promise<void> }[];
  readonly #customWorker: CustomUpkeep['worker'];
  readonly #losses: LossJudge;
  readonly #outages: OutageWatch;
  readonly #replication: Replication;
  readonly #peers: readonly Peer[];
  readonly #rescue: PeerRescue;
  /** Bytes that match neither hash. */
  readonly custom: CustomKeeper;
  /** Fetches content that is on chain and absent here from named sources. */
  readonly backfill: Backfill;
  /** Takes blobs from files. */
  readonly importing: ImportModules;
  /** Writes the blobs of a range of heights into one file. */
  readonly exporting: ExportModules;
  /** For commands that work on an archive that does not run. */
  readonly upkeep: Upkeep;
  readonly reader: Reader;
  /** Names that may not be served. */
  readonly takeDowns: TakeDowns;
  /** The records of every archiver about such names. */
  readonly withheldReading: WithheldReading;
  /** The chain as readers may query it. */
  readonly chainView: ChainView;
  /** State of the chain now. */
  readonly chainState: ChainState;
  readonly figures: ArchiveFigures;
  /** The window, for people to look at. */
  readonly windowView: WindowView;
  /** Held final content in numbers, for other archives. */
  readonly inventory: InventoryView;
  /** Signed statements about this archive. */
  readonly attestor: Attestor;
  /** Signed receipts for single blobs. */
  readonly receipts: Receipts;
  /** Comparison with peers. */
  readonly comparer: PeerComparer;
  /** Regular maintenance. */
  readonly routine: Routine;
  /** Conditions of scheduled tasks. */
  readonly reports: TaskReports;

  /** Puts the parts together, each after those that it needs: none is handed over as a promise of what comes later. */
  constructor(options: ArchiveOptions, modules: ArchiveModules) {
    this.#options = options;
    this.#modules = modules;
    const { activity } = this;
    const { catalog, store, binding, hasher, verifier, rehash, conditions, log, clock } = modules;
    const { wallMs: nowMs } = clock;
    const { archiverId } = options.chain;
    const held = new BlobCache(options.cacheBytes ?? 0, clock);
    const gate = new CatalogGate(catalog);

    // The chain, as the nodes tell it.
    const counted = (node: ArchiveNode) => new CountedNode(node, this.#calls);
    const others = (modules.otherNodes ?? []).map(counted);
    const nodes = new NodeGroup([counted(modules.node), ...others], () => binding.boundChain(), clock);
    this.#nodes = nodes;
    const node = nodes.followed;
    const poller = new Poller(options, { node, catalog, binding, conditions, activity, clock });
    this.#poller = poller;
    const boundChain = () => binding.boundChain();
    const lists = new NodeLists(nodes.all, options.pageEntries, boundChain, clock);
    const chain = new ChainFollowing(options.chain, { nodes, catalog, poller, conditions, activity, clock }, lists);
    this.#chain = chain;
    this.chainState = chain;
    this.#audit = new ChainAudit(catalog, poller, chain, conditions, clock);

    // Places of bytes.
    const local = new LocalCopies(store, rehash, verifier);
    const homes = [store.id, ...modules.backends.map(({ id }) => id)];
    const damage = new DamageWatch(catalog, conditions, activity, homes);
    const sayings = new WithheldSayings(archiverId, catalog, damage);
    const sites = modules.backends.map((backend) => new BackendHandle(backend, verifier, clock));
    const copies = new Copies(local, verifier, sites, held);
    const eviction = new EvictionCheck(catalog, sites, damage);
    const knowsWhatIsMined = () => poller.isListCurrent() && chain.isCurrent;
    const quota = { store, catalog, conditions, eviction, knowsWhatIsMined, clock };
    const room = new DiskQuota(options.replication.local, quota);
    const sitesFor = sitesTaking(sites, catalog);
    const writer = new BlobWriter({ local, room, sitesFor, damage, conditions, clock });
    const cacheFill = new CacheFill(local, room, catalog, conditions);
    const replicated = { copies, catalog, damage, conditions, clock };
    const replication = new Replication({
      ...{ local, room },
      admissions: new Admissions(sites, {
        ...{ conditions, log, chain: boundChain },
        places: new OnePlace(sites, catalog, conditions),
        beforeAdmit: (site, signal) => sayings.readFrom(site, signal),
      }),
      replicators: sites.map((site) => new Replicator(options.replication, { ...replicated, site })),
      folder: new LocalUpkeep(
        new LocalMender({ local, writer, copies, catalog, damage, conditions }),
        new RowSalvage(local, catalog, damage, conditions),
        new OrphanSweep(local, catalog, room, damage, conditions, log),
        cacheFill,
        new UnminedExpiry(catalog, room, damage, poller, conditions, Notifier.following(chain.moved, poller.changes)),
      ),
      report: new BackendReport(catalog, room, sites, poller),
    });
    this.#replication = replication;
    const custom = new CustomUpkeep({
      ...{ catalog, hasher, store, sites, conditions, clock },
      isAllowed: options.allowsCustom ?? false,
    });
    this.#customWorker = custom.worker;
    this.custom = new CustomKeeper(catalog, hasher, custom.places);
    const catalogRebuild = new CatalogRebuild({
      ...{ catalog, conditions, sites, custom },
      places: {
        folder: reindexedFolder(local, catalog, damage, room),
        backend: (site) => reindexedSite(site, catalog, damage),
      },
      isNewFolder: options.isNewFolder ?? false,
      found: poller.changes,
    });
    this.#catalogRebuild = catalogRebuild;

    // The way of new bytes.
    const spooler = new Spooler(writer, catalog, conditions, activity, clock);
    const orphans = new OrphanFinder(store, hasher, catalog.openedMs, catalogRebuild);
    const failures = new FetchFailures(catalog, poller, conditions, activity);
    const requests = new NodeRequests(node, poller, failures, conditions, clock);
    const intake = new BlobIntake(orphans, verifier, this.custom, spooler, failures, conditions);
    this.#fetcher = new Fetcher(options.requests, catalog, poller, requests, intake, failures);
    const { peers = [] } = modules;
    this.#peers = peers;
    const fetcher = this.#fetcher;
    const changes = Notifier.following(poller.changes, fetcher.rested);
    this.#rescue = new PeerRescue(peers, catalog, poller, changes, spooler, conditions, clock);
    this.#localVerifier = new LocalVerifier({ local, catalog, damage, conditions, fetcher, clock });

    // Stores of records, and sources for content that this archive lacks.
    const stores = recordStores([store], sites);
    const sources = bytesSources(store, sites);
    catalog.copies.useBackends(stores.map(({ id }) => id));
    const { signer } = modules;
    const ownKeys = () => [...signer.keys.map(({ statement }) => statement.key), signer.publicKey];
    this.#evidence = new EvidenceCopies(archiverId, ownKeys, catalog, stores, conditions);
    const evidence = new CopyWorker(this.#evidence, catalog, conditions);
    const recordCopies = new RecordCopies(catalog, stores, chain, node);
    this.#copies = [evidence, new CopyWorker(recordCopies, catalog, conditions)];
    const lossRule = new LossRule(catalog, poller, chain, activity, catalogRebuild);
    const search = new LossSearch({
      ...{ verifier, held, conditions, clock },
      sources: [...sources, ...peers],
      nodes: nodes.all.map((node) => new NodeSource(node, poller)),
    });
    this.#losses = new LossJudge(
      { catalog, rule: lossRule, search, spooler, conditions, clock },
      Notifier.following(chain.moved, changes),
    );
    // The same events end the alarms before a deadline.
    activity.on('tip', () => this.#losses.tellOverdue());
    activity.on('walked', () => this.#losses.tellOverdue());
    this.#outages = new OutageWatch({
      ...{ catalog, poller, chain, activity, conditions, audit: this.#audit },
      sources: [...nodes.all.map(({ name }) => `node ${name}`), ...[...sources, ...peers].map(({ name }) => name)],
    });

    // Work that operators, schedules and commands request.
    this.upkeep = new Upkeep({
      ...{ catalog, store, damage, catalogRebuild, replication, custom, archiverId },
    });
    const holdings = () => replication.holdings(({ isAdmitted }) => isAdmitted);
    this.reports = new TaskReports(conditions);
    this.routine = new Routine({
      scrub: new DailyScrub(options.scrub, {
        blobs: { catalog, damage, replication, archiverId, catalogRebuild },
        ...{ replication, custom, conditions, log },
      }),
      canary: new Canary(catalog, damage, conditions, holdings, Math.random, clock),
      audit: this.#audit,
      clock: new ClockWatch(catalog, sites, conditions, activity, clock),
      maintenance: new CatalogMaintenance(catalog, log),
      replication,
    });
    const places = new WithheldPlaces(catalog, local, replication, custom, poller, clock);
    this.takeDowns = new TakeDowns({ sayings, catalog, places, evidence, log, clock });
    this.withheldReading = new WithheldReading({
      ...{ sayings, places, takeDowns: this.takeDowns, conditions, clock },
      stores: [store, ...sites.map((site) => site.store)].filter(holdsEvidence),
      withheldFile: options.withheldFile ?? null,
    });
    const own = new OwnPlaces(store, sites, catalog, verifier, held, catalogRebuild);
    this.backfill = new Backfill({
      archive: new RangeInArchive(catalog, chain, replication, evidence, conditions, clock),
      sources: new SourceList(nodes, poller, catalog, verifier, clock),
      losses: new LossRecord({ catalog, rule: lossRule, chain, own, peers, clock }),
      ...{ own, spooler, clock },
    });

    this.importing = { catalog, namer: verifier, spooler, boundChain, clock };

    // The readers' side.
    const holders = new Holders(store, sites, clock);
    const absence = new Absence({ catalog, holders, poller, lists, catalogRebuild, chain });
    const files = new ProvenFiles(store, rehash, gate);
    const copiesHeld = new HeldCopies(store.id, copies, damage, cacheFill);
    const bytes = new ArchiveBytes(catalog, files, copiesHeld, custom.places, absence);
    this.reader = new ProvenReader(gate, held, bytes);
    const proofs = new OccurrenceProofs(catalog, stores);
    const folder = { path: store.properties.where, boundChain, reservedBytes: () => room.reservedBytes() };
    this.exporting = { catalog, hasher, reader: this.reader, proofs, folder, chain, catalogRebuild, clock };
    this.#records = new ContentRecords(catalog, gate, absence, chain);
    const doubts = new Doubts(catalog, catalogRebuild, poller, chain);
    const headers = new NodeHeaders(node, clock);
    this.chainView = new ChainQuestions(
      new Places(catalog, chain, doubts, new TransactionLists(poller, lists, catalog.chain), headers),
      new Safety(catalog, gate, chain, doubts, new LastSavedBlock(catalog, clock)),
      new FinalProofs(catalog, gate, chain, proofs),
      new WindowEntries(catalog, doubts, clock),
      headers,
    );
    this.windowView = new WindowPictures(catalog, chain, nowMs);
    const inventories = new Inventories(catalog, hasher, chain, catalogRebuild, boundChain, clock);
    this.inventory = inventories;
    this.attestor = new Attestor(archiverId, signer, inventories, catalog, clock);
    const records = this.#records;
    this.receipts = new Receipts({ archiverId, signer, catalog, gate, chain, boundChain, records, clock });
    const statements = new PeerStatements(catalog, conditions, clock);
    this.comparer = new PeerComparer({
      ...{ peers, inventories, statements, conditions },
      claims: new PeerClaims(catalog, spooler),
      audit: new PeerAudit(catalog, hasher, clock),
    });
    this.figures = new ArchiveFigures({ archive: this, catalog, sites, damage, routine: this.routine, activity });
  }

  /** Works until the signal aborts; resolves when everything under way has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const withheldKnown = this.withheldReading.first(signal);
    await Promise.all([
      this.#placeWhatIsHere(withheldKnown, signal),
      this.#replication.run(signal),
      this.#poller.run(signal),
      withheldKnown.then(() => this.#fetcher.run(signal)),
      this.#runChain(signal),
      this.withheldReading.run(signal),
      this.#customWorker.run(signal),
      withheldKnown.then(() => this.#rescue.run(signal)),
    ]);
  }

  /**
   * Runs only the parts that a standalone backfill needs: follows the chain and fills the backends, and fetches nothing
   * itself.
   */
  async runForBackfill(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#placeFolder(signal),
      this.#replication.run(signal),
      this.#poller.run(signal),
      this.#runChain(signal),
    ]);
  }

  /** Runs only the parts that a standalone import needs: fills the backends, and asks no node. */
  async runForImport(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#placeFolder(signal),
      this.#replication.run(signal),
      ...this.#copies.map((worker) => worker.run(signal)),
    ]);
  }

  /** Lets the backends in once, for a command that reads from an archive that stands still. */
  async admitBackends(signal: AbortSignal): Promise<void> {
    await this.#replication.admit(signal);
  }

  /** Up to here everything is final now; of an archive that stands still, as it was when the archive ran last. */
  finalHeight(isAlone: boolean): number | null {
    return isAlone ? this.#chain.finalHeightAtRest : this.#chain.finalHeight;
  }

  async #placeFolder(signal: AbortSignal): Promise<void> {
    await this.#catalogRebuild.adoptFolder(signal);
    if (!this.#replication.room.isCache) await this.#localVerifier.run(signal);
  }

  async #runChain(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#chain.run(signal),
      this.#losses.run(signal),
      ...this.#copies.map((worker) => worker.run(signal)),
      this.#outages.run(signal),
    ]);
  }

  async #placeWhatIsHere(withheldKnown: Promise<void>, signal: AbortSignal): Promise<void> {
    // A catalog that is made again does not know yet what of that may not be served.
    if (!this.#catalogRebuild.isDone) await withheldKnown;
    await this.#catalogRebuild.adoptFolder(signal);
    const keeps = !this.#replication.room.isCache;
    await Promise.all([
      this.#catalogRebuild.adoptBackends(signal),
      ...(keeps ? [this.#localVerifier.run(signal)] : []),
    ]);
  }

  record(name: NamedHash, signal: AbortSignal, occurrencesAfter: string | null = null): Promise<RecordLookup> {
    return this.#records.record(name, signal, occurrencesAfter);
  }

  list(query: ListingQuery): ListingPage {
    return this.#records.list(query);
  }

  /** Modules that prepare a planned stop. */
  drainWith(jobs: ConstructorParameters<typeof Drain>[0]): Drain {
    const { catalog, conditions, clock } = this.#modules;
    const [replication, poller, fetcher] = [this.#replication, this.#poller, this.#fetcher];
    return new Drain(jobs, { catalog, replication, poller, fetcher, conditions, clock });
  }

  auditChain(range: AuditRange, signal: AbortSignal): Promise<ChainAuditReport> {
    return this.#audit.audit(range, signal);
  }

  /** Contents that no source had when their deadline passed, with each source's answer. */
  losses(after: ContentName | null = null, limit = 1_000): RecordedLoss[] {
    return this.#modules.catalog.losses.page(after, limit);
  }

  /** Kind of blobs past their deadline that is counted as overdue. */
  get toldOverdue(): OverdueKind {
    return this.#losses.toldOverdue;
  }

  status(): ArchiveStatus {
    const { catalog, conditions } = this.#modules;
    const { tip, sweptMs, entries } = this.#poller.state;
    const { version, genesis, network } = this.identity();
    const queue = catalog.queueSummary();
    const slack = tip === null || queue.earliest === null ? null : deadlineOf(queue.earliest) - tip.medianTimeSeconds;
    return {
      version,
      emulated: this.#options.emulated,
      node: nodeStatus(this.#nodes.name, this.#poller.state, this.#calls, conditions.has('node')),
      chain: {
        genesis,
        network,
        ...this.#chain.status,
        evidence: this.#evidence.status,
        outage: this.#outages.report,
      },
      list: { sweptAt: isoTime(sweptMs), entries },
      content: {
        ...catalog.totals(),
        failing: queue.failing,
        atRisk: tip === null ? null : countAtRisk(catalog, tip.medianTimeSeconds),
      },
      archiveRule: archiveRuleOf(catalog.leftOut),
      local: this.#replication.room.status,
      backends: this.#replication.status(),
      peers: this.#peers.map(({ status }) => status),
      attested: this.attestor.summary,
      withheld: this.withheldReading.status,
      smallestSlackSeconds: slack,
      conditions: this.conditions(),
    };
  }

  conditions(): readonly Condition[] {
    return eachOnce(this.standing().map(({ subject: _, ...condition }) => condition));
  }

  identity(): ArchiveIdentity {
    const { tip, genesis } = this.#poller.state;
    return { version: this.#options.version, genesis, network: tip?.network ?? null };
  }

  /** Conditions that hold now with their subjects, the most severe first. */
  standing(): readonly Standing[] {
    const { conditions, clock } = this.#modules;
    return standingConditions(conditions, this.#chain, this.#poller.state.sweptMs !== null, clock.wallMs());
  }
}

function archiveRuleOf({ rule, summary }: Catalog['leftOut']): ArchiveStatus['archiveRule'] {
  return { says: rule, notArchived: summary.count, since: isoTime(summary.sinceMs) };
}
