import type Database from 'better-sqlite3';
import type { ContentName, VersionHash } from '../core/blob/ids.ts';
import { isDamagedDatabase, setAsideWhenDamaged } from '../core/sqlite/damage.ts';
import { openDurableDatabase } from '../core/sqlite/durable-database.ts';
import { migrate, readMigrations } from '../core/sqlite/migrate.ts';
import { tidyUp } from '../core/sqlite/tidy-up.ts';
import { Arrivals } from './arrivals.ts';
import { AuditSnapshot } from './audit-snapshot.ts';
import { type MovedBackend, settlePlaces } from './backend-places.ts';
import { BoundedTables } from './bounded-tables.ts';
import { CatalogFigures } from './catalog-figures.ts';
import { type CatalogOptions, configuredBackends, MEMORY } from './catalog-options.ts';
import { ChainAnswers } from './chain-answers.ts';
import { ChainIndex } from './chain-index.ts';
import { type ContentEntry, ContentTable, type SpooledContent, type StoredState } from './content-table.ts';
import { CustomLedger } from './custom-ledger.ts';
import { catalogFault, damagedCatalog } from './errors.ts';
import { EvidenceOutbox } from './evidence-outbox.ts';
import { LossLedger } from './loss-ledger.ts';
import { MissingContents } from './missing-contents.ts';
import { type Placement, PlacementTable, SPOOL } from './placement-table.ts';
import { RecordOutbox } from './record-outbox.ts';
import { ReplicaLedger } from './replica-ledger.ts';
import { recomputeStates } from './replication-basis.ts';
import { SettlingClock } from './settling-clock.ts';
import { type AfterDamage, type CatalogTotals, StateTotals } from './state-totals.ts';
import { TaskRuns } from './task-runs.ts';
import { UnminedLedger } from './unmined-ledger.ts';
import { type FetchFailure, type Sighting, type WantedBlob, type WantedKind, WantedTable } from './wanted-table.ts';
import { WindowRows } from './window-rows.ts';
import { WithheldLedger } from './withheld-ledger.ts';

/**
 * The SQLite index. Each method is one durable transaction; a claim (`spooled`, `stored`) is written only by the
 * transition that has the proof.
 */
export class Catalog {
  readonly #database: Database.Database;
  readonly #wanted: WantedTable;
  readonly #content: ContentTable;
  readonly #placements: PlacementTable;
  readonly #options: CatalogOptions;
  readonly #arrivals: Arrivals;
  readonly counts: StateTotals;
  /** No row of the fetch queue that was there then is younger. */
  readonly openedMs: number;
  /** What backends hold, beyond the way of a new blob: their queues, the cache, the scrub, what a rebuild finds. */
  readonly replicas: ReplicaLedger;
  /** The branch that was walked, and the occurrences on it. */
  readonly chain: ChainIndex;
  /** Occurrence records that are to be written or deleted. */
  readonly records: RecordOutbox;
  /** What exists nowhere else, on its way to every backend. */
  readonly evidence: EvidenceOutbox;
  /** What no block has: in the local store alone. */
  readonly unmined: UnminedLedger;
  /** What is late, and what nobody had. */
  readonly losses: LossLedger;
  readonly answers: ChainAnswers;
  readonly missing: MissingContents;
  readonly custom: CustomLedger;
  readonly figures: CatalogFigures;
  readonly withheld: WithheldLedger;
  readonly window: WindowRows;
  readonly runs: TaskRuns;
  /** Names that stand for other places than when it was last opened. */
  readonly moved: readonly MovedBackend[];
  readonly bounded: BoundedTables;
  /** The name that a damaged catalog was given when this one was made in its place; null: it was whole. */
  readonly setAside: string | null;

  private constructor(database: Database.Database, given: CatalogOptions, setAside: string | null) {
    this.setAside = setAside;
    const clock = new SettlingClock(given.nowMs, given.steadyMs);
    const options = { ...given, nowMs: clock.nowMs };
    this.#database = database;
    this.#options = options;
    this.openedMs = options.nowMs();
    this.#wanted = new WantedTable(database, this.openedMs);
    this.#content = new ContentTable(database);
    const backends = configuredBackends(options);
    this.moved = settlePlaces(database, options.places ?? new Map());
    this.#placements = new PlacementTable(database, backends);
    recomputeStates(database, backends, options.replicasRequired, options.nowMs());
    this.counts = new StateTotals(this.#content.totals());
    const parts = {
      content: this.#content,
      wanted: this.#wanted,
      nowMs: options.nowMs,
      reading: <T>(operation: string, work: () => T) => this.#reading(operation, work),
      transaction: <T>(operation: string, work: () => T) => this.#transaction(operation, work),
    };
    this.records = new RecordOutbox(database, options.nowMs);
    this.unmined = new UnminedLedger(database, {
      ...parts,
      placements: this.#placements,
      left: (entry) => this.counts.leave(entry),
    });
    this.chain = new ChainIndex(database, { ...parts, records: this.records, unmined: this.unmined });
    this.evidence = new EvidenceOutbox(database, parts.reading);
    this.losses = new LossLedger(database, { ...parts, evidence: this.evidence, chain: this.chain });
    this.answers = new ChainAnswers(database, parts.reading);
    this.missing = new MissingContents(database);
    this.custom = new CustomLedger(database, { ...parts, places: [SPOOL, ...options.backends] });
    this.figures = new CatalogFigures(database, this.#placements);
    this.window = new WindowRows(database, parts.reading);
    this.runs = new TaskRuns(database, parts);
    this.bounded = new BoundedTables(database, { ...parts, records: this.records });
    this.#arrivals = new Arrivals({
      ...parts,
      placements: this.#placements,
      unmined: this.unmined,
      records: this.records,
      counts: this.counts,
    });
    this.replicas = new ReplicaLedger(database, {
      ...parts,
      placements: this.#placements,
      surelyMs: clock.surelyMs,
      replicasRequired: options.replicasRequired,
      recount: (entry) => this.#recount(entry),
      queueRecords: (name) => this.#arrivals.queueRecords(name),
      moved: (from, to, sizeBytes) => {
        if (from !== null) this.counts.leaveUncounted(from);
        this.counts.enter(to, sizeBytes);
      },
    });
    this.withheld = new WithheldLedger(database, {
      ...parts,
      evidence: this.evidence,
      placements: this.#placements,
      replicas: this.replicas,
      chain: this.chain,
      counts: this.counts,
      custom: this.custom,
      recount: (entry) => this.#recount(entry),
    });
  }

  /** @throws CatalogError `catalog/damaged` where SQLite says that of the file. */
  static open(options: CatalogOptions): Catalog {
    const { path, remakesDamaged = false, migrationsFolder } = options;
    const setAside = remakesDamaged ? setAsideWhenDamaged(path) : null;
    let database: Database.Database | null = null;
    try {
      database = openDurableDatabase(path, MEMORY);
      migrate(database, readMigrations(migrationsFolder));
      return new Catalog(database, options, setAside);
    } catch (cause) {
      database?.close();
      throw isDamagedDatabase(cause) ? damagedCatalog(path, cause) : cause;
    }
  }

  /** Does it hold everything that was in the folder when it was made? Stays true over restarts. */
  isRebuilt(): boolean {
    const look = () => this.#database.prepare('SELECT 1 FROM rebuilt').get() !== undefined;
    return this.#reading('look whether it is whole', look);
  }

  recordRebuilt(): void {
    this.#transaction('record that it is whole', () =>
      this.#database
        .prepare('INSERT INTO rebuilt (only, finished_ms) VALUES (1, ?) ON CONFLICT DO NOTHING')
        .run(this.#options.nowMs()),
    );
  }

  /** Notes what a list named. Gives how many of them were neither held nor queued. */
  noteListed(sightings: readonly Sighting[]): number {
    if (sightings.length === 0) return 0;
    return this.#transaction('note what the node lists', () => {
      let added = 0;
      for (const sighting of sightings) {
        if (this.#content.isHeld(sighting.versionHash)) continue;
        if (this.#wanted.add(sighting, this.#options.nowMs())) added += 1;
      }
      return added;
    });
  }

  /** What may be fetched now, nearest deadline first; `fresh` never failed, `failed` did. */
  nextWanted(limit: number, which: WantedKind = 'all'): WantedBlob[] {
    return this.#reading('read the queue', () => this.#wanted.next(this.#options.nowMs(), limit, which));
  }

  /** The bytes of these are durable in the local store. */
  recordSpooled(contents: readonly SpooledContent[]): void {
    this.#transaction('record what is spooled', () => this.#arrivals.record(contents));
  }

  recordFailures(failures: readonly FetchFailure[]): void {
    this.#transaction('record why blobs are not here yet', () => {
      for (const failure of failures) this.#wanted.fail(failure);
    });
  }

  /** What a backend has still to prove that it holds, most urgent first. */
  unprovenAt(backend: string, limit: number): ContentEntry[] {
    const sequences = () => this.#placements.wanted(backend, this.#options.nowMs(), limit);
    return this.#reading('read what is to be placed', () => sequences().flatMap((one) => this.#content.at(one) ?? []));
  }

  /**
   * These were fetched back from the backend after the write, and hash to their names. Gives how many have enough good
   * copies with it.
   */
  recordProven(backend: string, contents: readonly ContentEntry[]): number {
    const nowMs = this.#options.nowMs();
    return this.#transaction('record what is stored', () => {
      let stored = 0;
      for (const entry of contents) {
        this.#placements.set(backend, entry.sequence, 'good', nowMs);
        if (this.#recount(entry) === 'stored') stored += 1;
      }
      return stored;
    });
  }

  /** The backend's copy is missing or does not hash to its name. With no other good copy the content is queued again. */
  recordDamaged(backend: string, name: ContentName): AfterDamage {
    return this.#transaction('record a damaged copy', () => {
      const entry = this.#content.find(name.versionHash).find((one) => one.hashType === name.hashType);
      if (entry === undefined) return 'to-be-fetched-again';
      this.#placements.set(backend, entry.sequence, 'damaged', null);
      return this.#recount(entry) === 'seen' ? 'to-be-fetched-again' : 'other-copies-left';
    });
  }

  /** Gives a content the state that its copies prove now, whatever it was before. */
  #recount({ sequence }: ContentEntry): StoredState {
    const entry = this.#content.at(sequence);
    if (entry === null) return 'seen';
    const isStored = this.#placements.hasGoodCopies(sequence, this.#options.replicasRequired);
    const state = isStored ? 'stored' : this.#placements.heldCopies(sequence) > 0 ? 'spooled' : 'seen';
    if (state !== entry.state) {
      this.#content.setState(sequence, state, isStored ? this.#options.nowMs() : null);
      this.counts.leave(entry);
      this.counts.enter(state, entry.sizeBytes);
    }
    if (state === 'seen') {
      this.#wanted.add({ ...entry, medianTimeSeconds: entry.medianTimeSeconds ?? 0 }, this.#options.nowMs());
    } else if (entry.state === 'seen') this.#wanted.remove(entry.versionHash);
    return state;
  }

  find(versionHash: VersionHash): ContentEntry[] {
    return this.#reading('look a version hash up', () => this.#content.find(versionHash));
  }

  /** Everything as it is now, for whoever reads for long. To be closed. */
  snapshot(): AuditSnapshot {
    return this.#reading('open for reading', () => new AuditSnapshot(this.#options.path));
  }

  findWanted(versionHash: VersionHash): WantedBlob | null {
    return this.#reading('look a version hash up', () => this.#wanted.find(versionHash));
  }

  placementsOf(entry: ContentEntry): Placement[] {
    return this.#reading('read the replicas', () => this.#placements.of(entry.sequence));
  }

  page(order: 'oldest' | 'newest', after: number | null, limit: number): ContentEntry[] {
    return this.#reading('list', () => this.#content.page(order, after, limit));
  }

  queueSummary(): ReturnType<WantedTable['summary']> {
    return this.#reading('measure the queue', () => this.#wanted.summary());
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
    this.#reading('tidy up', () => tidyUp(this.#database));
  }

  close(): void {
    this.#database.close();
  }

  #transaction<T>(operation: string, work: () => T): T {
    const putBack = [this.counts.remember(), this.#wanted.remember(), this.#placements.counts.remember()];
    try {
      return this.#database.transaction(work).immediate();
    } catch (cause) {
      // The totals follow the transaction: what was rolled back was not counted.
      for (const put of putBack) put();
      throw catalogFault(operation, cause, this.#database.name);
    }
  }

  #reading<T>(operation: string, work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw catalogFault(operation, cause, this.#database.name);
    }
  }
}
