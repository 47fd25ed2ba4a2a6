import type Database from 'better-sqlite3';
import { z } from 'zod';
import { ArchiveRule } from '../core/blob/archive-rule.ts';
import type { ContentName, VersionHash } from '../core/blob/ids.ts';
import type { Notifier } from '../core/notifier.ts';
import { isDamagedDatabase, setAsideWhenDamaged } from '../core/sqlite/damage.ts';
import { openDurableDatabase } from '../core/sqlite/durable-database.ts';
import { migrate, readMigrations } from '../core/sqlite/migrate.ts';
import { tidyUp } from '../core/sqlite/tidy-up.ts';
import { Arrivals } from './arrivals.ts';
import type { ArrivingBlobs } from './arriving-blobs.ts';
import { AuditSnapshot } from './audit-snapshot.ts';
import { type MovedBackend, settlePlaces } from './backend-places.ts';
import { BoundedTables } from './bounded-tables.ts';
import { CatalogFigures } from './catalog-figures.ts';
import { type CatalogOptions, configuredBackends, MEMORY } from './catalog-options.ts';
import { ChainAnswers } from './chain-answers.ts';
import { ChainIndex } from './chain-index.ts';
import type { ContentEntry, SpooledContent } from './content-table.ts';
import { CopyTable } from './copy-table.ts';
import { CustomLedger } from './custom-ledger.ts';
import { damagedCatalog } from './errors.ts';
import { EvidenceOutbox } from './evidence-outbox.ts';
import { LeftOutLedger } from './left-out-ledger.ts';
import { LossLedger } from './loss-ledger.ts';
import { MissingContents } from './missing-contents.ts';
import { MonotonicWallClock } from './monotonic-wall-clock.ts';
import { type Placement, PlacementTable } from './placement-table.ts';
import { RecordOutbox } from './record-outbox.ts';
import { ReplicaLedger } from './replica-ledger.ts';
import { recomputeStates } from './replication-basis.ts';
import { type FetchFailure, type QueuedBlob, type QueueKind, SeenTable, type Sighting } from './seen-table.ts';
import type { AfterDamage, CatalogTotals, StateTotals } from './state-totals.ts';
import { StatementTable } from './statement-table.ts';
import { SubscriptionLedger } from './subscription-ledger.ts';
import { Tables } from './tables.ts';
import { TaskRuns } from './task-runs.ts';
import { ToldAlerts } from './told-alerts.ts';
import { UnminedLedger } from './unmined-ledger.ts';
import { WindowRows } from './window-rows.ts';
import { WithheldLedger } from './withheld-ledger.ts';

const REBUILT = z.object({ finishedMs: z.number() });

/**
 * The SQLite index. Each method is one durable transaction; a claim (`spooled`, `stored`) is written only by the
 * transition that has the proof.
 */
export class Catalog {
  readonly #tables: Tables;
  readonly #options: CatalogOptions;
  readonly #arrivals: Arrivals;
  readonly counts: StateTotals;
  /** No row of the fetch queue that was there then is younger. */
  readonly openedMs: number;
  /** Copies on backends beyond the way of a new blob: queues, the cache, the scrub, findings of a rebuild. */
  readonly replicas: ReplicaLedger;
  /** The branch that was walked, and the occurrences on it. */
  readonly chain: ChainIndex;
  /** Occurrence records that are to be written or deleted. */
  /** Objects beside the blobs that are not yet in their wanted state. */
  readonly copies: CopyTable;
  readonly records: RecordOutbox;
  /** Documents that exist nowhere else, on their way to every backend. */
  readonly evidence: EvidenceOutbox;
  /** Contents that no block has: in the local store alone. */
  readonly unmined: UnminedLedger;
  /** Statements of other archivers. */
  readonly statements: StatementTable;
  /** Late content, and content that no source had. */
  readonly losses: LossLedger;
  readonly answers: ChainAnswers;
  readonly missing: MissingContents;
  readonly custom: CustomLedger;
  readonly figures: CatalogFigures;
  readonly withheld: WithheldLedger;
  /** Blobs that the operator's rule leaves out. */
  readonly leftOut: LeftOutLedger;
  readonly window: WindowRows;
  readonly runs: TaskRuns;
  readonly toldAlerts: ToldAlerts;
  readonly subscriptions: SubscriptionLedger;
  /** Names that stand for other places than when it was last opened. */
  readonly moved: readonly MovedBackend[];
  readonly bounded: BoundedTables;
  /** The name that a damaged catalog was given when this one was made in its place; null: it was whole. */
  readonly setAside: string | null;

  private constructor(database: Database.Database, options: CatalogOptions, setAside: string | null) {
    this.setAside = setAside;
    const clock = new MonotonicWallClock(options.clock);
    this.#options = options;
    this.openedMs = clock.nowMs();
    const seen = new SeenTable(database, this.openedMs);
    const backends = configuredBackends(options);
    this.moved = settlePlaces(database, options.places ?? new Map());
    const placements = new PlacementTable(database, backends);
    recomputeStates(database, backends, options.replicasRequired, clock.nowMs());
    const tables = new Tables(database, placements, seen, clock, options.replicasRequired);
    this.#tables = tables;
    this.counts = tables.counts;
    this.copies = new CopyTable(tables);
    this.records = new RecordOutbox(tables, this.copies);
    this.unmined = new UnminedLedger(tables);
    this.evidence = new EvidenceOutbox(tables, this.copies);
    this.leftOut = new LeftOutLedger(tables, this.evidence, options.rule ?? ArchiveRule.EVERYTHING);
    this.chain = new ChainIndex(tables, this.records, this.unmined, this.leftOut);
    this.statements = new StatementTable(tables);
    this.losses = new LossLedger(tables, this.evidence, this.chain, this.leftOut);
    this.answers = new ChainAnswers(database, tables.reading);
    this.missing = new MissingContents(database);
    this.custom = new CustomLedger(tables, this.copies);
    this.figures = new CatalogFigures(database, placements);
    this.window = new WindowRows(database, tables.reading);
    this.runs = new TaskRuns(tables);
    this.toldAlerts = new ToldAlerts(tables);
    this.subscriptions = new SubscriptionLedger(tables);
    this.bounded = new BoundedTables(tables, this.records, this.leftOut);
    this.#arrivals = new Arrivals(tables, this.unmined, this.records, this.leftOut);
    this.replicas = new ReplicaLedger(tables, this.#arrivals);
    this.withheld = new WithheldLedger(tables, this.evidence, this.replicas, this.chain, this.custom);
  }

  /** @throws CatalogError `catalog/damaged` where SQLite says that of the file. */
  static open(options: CatalogOptions): Catalog {
    const { path, remakesDamaged = false, migrationsFolder, clock } = options;
    const setAside = remakesDamaged ? setAsideWhenDamaged(path, clock.wallMs()) : null;
    let database: Database.Database | null = null;
    try {
      database = openDurableDatabase(path, MEMORY);
      migrate(database, readMigrations(migrationsFolder), clock);
      return new Catalog(database, options, setAside);
    } catch (cause) {
      database?.close();
      throw isDamagedDatabase(cause) ? damagedCatalog(path, cause) : cause;
    }
  }

  /** Reports whether the catalog has everything that was in the folder when it was made. Stays true over restarts. */
  isRebuilt(): boolean {
    return this.#tables.reading('look whether it is whole', () => this.#tables.facts.get('rebuilt', REBUILT)) !== null;
  }

  recordRebuilt(): void {
    if (this.isRebuilt()) return;
    const { nowMs, facts, transaction } = this.#tables;
    transaction('record that it is whole', () => facts.put('rebuilt', { finishedMs: nowMs() }));
  }

  /** Notes what a list named. Gives how many of them were neither held nor queued, and are not left out by a rule. */
  noteListed(sightings: readonly Sighting[]): number {
    if (sightings.length === 0) return 0;
    return this.#tables.transaction('note what the node lists', () => {
      let added = 0;
      for (const sighting of sightings) {
        if (this.#tables.content.isHeld(sighting.versionHash)) continue;
        const wanted = this.leftOut.judgeListed(sighting);
        if (wanted === null) continue;
        const nowMs = this.#tables.nowMs();
        if (this.#tables.seen.add(wanted, nowMs, this.leftOut.askListedAfterMs(wanted, nowMs))) added += 1;
      }
      this.leftOut.recordEvidence();
      return added;
    });
  }

  /** Contents that may be fetched now, nearest deadline first; `fresh` never failed, `failed` did: those past their deadline last. */
  nextQueued(limit: number, which: QueueKind = 'all'): QueuedBlob[] {
    const { seen, nowMs, reading } = this.#tables;
    const tipSeconds = this.chain.state.tip?.medianTimeSeconds ?? 0;
    return reading('read the queue', () => seen.next(nowMs(), limit, which, tipSeconds));
  }

  /** Blobs whose bytes no eviction deletes now. */
  get arriving(): ArrivingBlobs {
    return this.#tables.arriving;
  }

  /** Notifies when something more may be fetched. */
  get queueChanges(): Notifier {
    return this.#tables.seen.changes;
  }

  /** The time by which things are due here. */
  nowMs(): number {
    return this.#tables.nowMs();
  }

  /** The time that the fetching loop may sleep unless it is notified, when it last looked after `lookedMs`. */
  queueIdleMs(lookedMs: number): number {
    const { seen, nowMs, reading } = this.#tables;
    return reading('look when a blob is due', () => seen.idleMs(nowMs(), lookedMs));
  }

  /**
   * The bytes of these are durable in the local store. Gives those that were held already, or are withheld: of these nothing
   * was recorded.
   */
  recordSpooled(contents: readonly SpooledContent[]): readonly SpooledContent[] {
    return this.#tables.transaction('record what is spooled', () => this.#arrivals.record(contents));
  }

  /** A peer gave the bytes: its record says so for good. */
  recordGiver(name: ContentName, peer: string): void {
    this.#tables.transaction('record who gave a blob', () => this.#tables.content.setGiver(name, peer));
  }

  recordFailures(failures: readonly FetchFailure[]): void {
    this.#tables.transaction('record why blobs are not here yet', () => {
      for (const failure of failures) this.#tables.seen.fail(failure);
    });
  }

  /** Contents that a backend has still to prove, most urgent first. */
  unprovenAt(backend: string, limit: number): ContentEntry[] {
    const sequences = () => this.#tables.placements.wanted(backend, this.#tables.nowMs(), limit);
    return this.#tables.reading('read what is to be placed', () =>
      sequences().flatMap((one) => this.#tables.content.at(one) ?? []),
    );
  }

  /**
   * Records contents that were fetched back from the backend after the write and hash to their names. Returns how many
   * have enough good copies with it.
   */
  recordProven(backend: string, contents: readonly ContentEntry[]): number {
    const nowMs = this.#tables.nowMs();
    return this.#tables.transaction('record what is stored', () => {
      let stored = 0;
      for (const entry of contents) {
        this.#tables.placements.set(backend, entry.sequence, 'good', nowMs);
        if (this.#tables.recount(entry) === 'stored') stored += 1;
      }
      return stored;
    });
  }

  /**
   * The backend's copy is missing or does not hash to its name. With no other good copy the content is queued again. With one, a
   * backend whose rule leaves the blob out is not to get it again.
   */
  recordDamaged(backend: string, name: ContentName): AfterDamage {
    return this.#tables.transaction('record a damaged copy', () => {
      const entry = this.#tables.content.find(name.versionHash).find((one) => one.hashType === name.hashType);
      if (entry === undefined) return 'to-be-fetched-again';
      this.#tables.placements.set(backend, entry.sequence, 'damaged', null);
      if (this.#tables.recount(entry) === 'seen') return 'to-be-fetched-again';
      return this.#tables.placements.takes(backend, entry) ? 'other-copies-left' : 'not-replaced-by-rule';
    });
  }

  find(versionHash: VersionHash): ContentEntry[] {
    return this.#tables.reading('look a version hash up', () => this.#tables.content.find(versionHash));
  }

  /** A snapshot for long reads. The caller closes it. */
  snapshot(): AuditSnapshot {
    return this.#tables.reading('open for reading', () => new AuditSnapshot(this.#options.path));
  }

  findQueued(versionHash: VersionHash): QueuedBlob | null {
    return this.#tables.reading('look a version hash up', () => this.#tables.seen.find(versionHash));
  }

  placementsOf(entry: ContentEntry): Placement[] {
    return this.#tables.reading('read the replicas', () => this.#tables.placements.of(entry.sequence));
  }

  page(order: 'oldest' | 'newest', after: number | null, limit: number): ContentEntry[] {
    return this.#tables.reading('list', () => this.#tables.content.page(order, after, limit));
  }

  queueSummary(): ReturnType<SeenTable['summary']> {
    return this.#tables.reading('measure the queue', () => this.#tables.seen.summary());
  }

  totals(): CatalogTotals {
    const stored = this.counts.of('stored');
    return {
      seen: this.queueSummary().count,
      spooled: this.counts.of('spooled').count,
      stored: stored.count,
      storedBytes: stored.bytes,
    };
  }

  /** Gives free pages back to the disk and empties the write-ahead log; in small parts, for everything else waits. */
  maintain(): void {
    this.#tables.reading('tidy up', () => tidyUp(this.#tables.database));
  }

  close(): void {
    this.#tables.database.close();
  }
}
