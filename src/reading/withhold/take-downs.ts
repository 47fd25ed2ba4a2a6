import type { Catalog } from '../../catalog/catalog.ts';
import type { SpooledContent } from '../../catalog/content-table.ts';
import type { WithheldEntry } from '../../catalog/withheld-ledger.ts';
import { ArchiveError } from '../../core/archive-errors.ts';
import { type ContentName, HASH_TYPES, type NamedHash } from '../../core/blob/ids.ts';
import type { ConditionBoard } from '../../core/conditions/condition-board.ts';
import type { Logger } from '../../core/observability/logger.ts';
import { BACKOFF } from '../../core/time/backoff.ts';
import type { Clock } from '../../core/time/clock.ts';
import { type Next, runLoop } from '../../core/time/run-loop.ts';
import type { BackendHandle } from '../../replication/backend-handle.ts';
import type { CustomUpkeep } from '../../replication/custom/custom-upkeep.ts';
import { StorageError } from '../../storage/errors.ts';
import type { LocalStore } from '../../storage/local/local-store.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import { forgetBytes, type RehashRule } from '../../verify/verified-blob.ts';
import { type PurgeOutcome, purgeEverywhere } from './purge.ts';
import { namesListedIn } from './withheld-file.ts';
import type { WithheldRecordStore } from './withheld-records.ts';
import type { WithheldSayings } from './withheld-sayings.ts';

export type { WithheldEntry } from '../../catalog/withheld-ledger.ts';

export interface TakeDownModules {
  readonly sayings: WithheldSayings;
  readonly catalog: Catalog;
  readonly store: LocalStore;
  readonly replication: { readonly sites: readonly BackendHandle[]; admit(signal: AbortSignal): Promise<unknown> };
  /** Records of the data folder; those of the sites are read from them, before they are let in. */
  readonly records: readonly WithheldRecordStore[];
  /** Brings the evidence that waits to each of them; gives why some could not get it. */
  readonly evidence: { deliverNow(signal: AbortSignal): Promise<ReadonlyMap<string, string>> };
  /** A list of names besides, for what no backend tells; null: none. */
  readonly withheldFile: string | null;
  readonly rehash: RehashRule;
  readonly custom: CustomUpkeep;
  readonly poller: { forget(versionHash: ContentName['versionHash']): void };
  readonly conditions: ConditionBoard;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The operator's input for a take-down. */
export type TakeDownStatement = Pick<WithheldEntry, 'reason' | 'publicReason' | 'purge'>;

export interface TakeDownReport {
  /** Recorded entries in force. */
  readonly withheld: readonly WithheldEntry[];
  /** Result of a purge for each place. */
  readonly purged: readonly PurgeOutcome[];
  /** Backends that have not got the record yet, and why; it goes there as soon as it can. */
  readonly undelivered: Readonly<Record<string, string>>;
}

export interface RevocationReport {
  readonly revoked: readonly ContentName[];
  /** Places where a good copy was found. */
  readonly found: readonly string[];
  /** Other archivers that go on withholding it. */
  readonly stillWithheldBy: readonly string[];
  readonly undelivered: Readonly<Record<string, string>>;
}

export interface TakeDownStatus {
  readonly count: number;
  /** Archivers whose records are in force besides this archiver's own. */
  readonly others: readonly string[];
  /** When all backends were last asked; null: not since the start. */
  readonly readAt: string | null;
}

const REFRESH_MS = 300_000;
/** Until a backend that could not be read is asked again. */
const UNREAD_MS = 15_000;
/** Nothing is so urgent that it could not wait for this: a window is hours long. */
const FIRST_READING_MS = 5_000;
/** Author of the take-downs in the configured list. */
const FILE = 'file';

/** Take-downs: recorded, published to every backend, honoured from every author, and reversible. */
export class TakeDowns {
  readonly #modules: TakeDownModules;
  #readAtMs: number | null = null;
  /** Bytes are deleted and found again in turn: what a revocation found must not be deleted after it. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(modules: TakeDownModules) {
    this.#modules = modules;
  }

  get status(): TakeDownStatus {
    const { catalog, sayings } = this.#modules;
    const { count, archivers } = catalog.withheld.summary;
    return {
      count,
      others: archivers.filter((archiver) => archiver !== sayings.archiverId),
      readAt: this.#readAtMs === null ? null : new Date(this.#readAtMs).toISOString(),
    };
  }

  /** In the order of their times, of every archiver. */
  list(): WithheldEntry[] {
    return this.#modules.catalog.withheld.list();
  }

  /** From this record on, the content is not served, fetched, repaired or replicated. */
  async withhold(name: NamedHash, how: TakeDownStatement, signal: AbortSignal): Promise<TakeDownReport> {
    const { catalog, sayings, clock, evidence, replication, log } = this.#modules;
    const archiver = sayings.archiverId;
    const { versionHash } = name;
    const { purge } = how;
    const onChain = HASH_TYPES.filter((hashType) => catalog.chain.lastHeight({ hashType, versionHash }) !== null);
    const types = catalog.withheld.typesOf(name, onChain);
    const entries = types.map((hashType) => ({ hashType, versionHash, archiver, ...how, atMs: clock.wallMs() }));
    this.#modules.sayings.record(entries, true);
    await replication.admit(signal);
    log.warn({ versionHash, ...how }, 'a blob is withheld');
    const withheld = catalog.withheld.find(name).filter((entry) => entry.archiver === archiver);
    const purged = purge ? await this.#purge(withheld, signal) : [];
    return { withheld, purged, undelivered: Object.fromEntries(await evidence.deliverNow(signal)) };
  }

  /** Throws `ArchiveError` `archive/not-withheld`. */
  revoke(name: NamedHash, signal: AbortSignal): Promise<RevocationReport> {
    return this.#inTurn(() => this.#revoke(name, signal));
  }

  async #revoke(name: NamedHash, signal: AbortSignal): Promise<RevocationReport> {
    const { catalog, sayings, clock, evidence, replication, poller, log } = this.#modules;
    const { archiverId } = sayings;
    const all = catalog.withheld.find(name);
    const own = all.filter(({ archiver }) => archiver === archiverId);
    const stillWithheldBy = [...new Set(all.map(({ archiver }) => archiver))].filter((one) => one !== archiverId);
    if (own.length === 0) throw notWithheld(name, stillWithheldBy);
    const left = catalog.withheld.revoke(own, true, clock.wallMs());
    log.warn({ versionHash: name.versionHash }, 'a blob is withheld no more');
    await replication.admit(signal);
    const found: string[] = [];
    for (const one of left) {
      poller.forget(one.versionHash);
      found.push(...(await this.#locate(one, signal)));
    }
    const undelivered = Object.fromEntries(await evidence.deliverNow(signal));
    return {
      revoked: own.map(({ hashType, versionHash }) => ({ hashType, versionHash })),
      found,
      stillWithheldBy,
      undelivered,
    };
  }

  /** Resolves when the backends were asked once, or did not answer in time: then what is missing may be fetched. */
  async firstReading(signal: AbortSignal): Promise<void> {
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(FIRST_READING_MS)]);
    await this.refresh(waiting).catch((error: unknown) => {
      if (!waiting.aborted) this.#modules.conditions.setError('withheld', error, false);
    });
  }

  /** Keeps up with what other archivers record, and finishes purges that a backend could not do at once. */
  async run(signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      const isWhole = await this.refresh(signal);
      await this.#purge(
        this.list().filter(({ purge }) => purge),
        signal,
      );
      return isWhole ? REFRESH_MS : UNREAD_MS;
    };
    // A reading raises and clears the condition by itself.
    const tell = (error: unknown) => {
      if (error !== null) this.#modules.conditions.setError('withheld', error, false);
    };
    await runLoop('withheld', step, { signal, backoff: BACKOFF.remote, tell });
  }

  /** Reads the records of every archiver. false: some backend could not be read, and what it said last goes on counting. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { catalog, clock, conditions } = this.#modules;
    const said = new Map<string, WithheldEntry>();
    const faults: StorageError[] = [];
    for (const read of this.#sources()) {
      try {
        const entries = await read(signal);
        for (const entry of entries) said.set(keyOf(entry), entry);
        // At once: the next source may not answer for long.
        this.#modules.sayings.recordNew(entries);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
        faults.push(error);
      }
    }
    const raise = (fault: StorageError) =>
      conditions.setErrorBeside('withheld', fault, `backend:${fault.details['backend']}`);
    if (!faults.some(raise)) conditions.set('withheld', null);
    if (faults.length > 0) return false;
    const ended = this.list().filter(
      (entry) => entry.archiver !== this.#modules.sayings.archiverId && !said.has(keyOf(entry)),
    );
    for (const name of catalog.withheld.revoke(ended, false, clock.wallMs())) {
      this.#modules.poller.forget(name.versionHash);
      await this.#locate(name, signal);
    }
    this.#readAtMs = clock.wallMs();
    return true;
  }

  #sources(): ((signal: AbortSignal) => Promise<WithheldEntry[]>)[] {
    const { records, replication, withheldFile, clock } = this.#modules;
    const named = replication.sites.map(({ store }) => store).filter(holdsEvidence);
    const stores = [...records, ...named].map(
      (store) => (signal: AbortSignal) => this.#modules.sayings.saidBy(store, signal),
    );
    if (withheldFile === null) return stores;
    const fromFile = async () =>
      (await namesListedIn(withheldFile)).map((name) => {
        return {
          ...name,
          archiver: FILE,
          reason: 'listed by the operator',
          publicReason: null,
          atMs: clock.wallMs(),
          purge: false,
        };
      });
    return [...stores, fromFile];
  }

  async #purge(entries: readonly WithheldEntry[], signal: AbortSignal): Promise<PurgeOutcome[]> {
    const { catalog, store, replication, log } = this.#modules;
    const places = [store, ...replication.sites.map((site) => site.store)];
    const outcomes: PurgeOutcome[] = [];
    for (const entry of entries) {
      // The take-down may have been revoked since the list was made.
      const isToBe = () => catalog.withheld.find(entry).some(({ purge }) => purge);
      const purge = async () => (isToBe() ? await purgeEverywhere(entry, places, signal) : []);
      outcomes.push(...(await this.#inTurn(purge)));
    }
    for (const outcome of outcomes) {
      if (outcome.outcome !== 'not-there')
        log.warn({ ...outcome }, 'bytes of a withheld blob were purged, or could not be');
    }
    return outcomes;
  }

  /**
   * Searches for bytes that a revoked take-down left in place, and verifies them before they count. Returns the places
   * where they were found. A place that does not answer has the content queued, and its replicator finds out.
   */
  async #locate(name: ContentName, signal: AbortSignal): Promise<string[]> {
    const { catalog, store, replication, rehash, custom, clock } = this.#modules;
    const { sites } = replication;
    const entry = catalog.find(name.versionHash).find(({ hashType }) => hashType === name.hashType);
    const content = (sizeBytes: number): SpooledContent => ({
      ...name,
      sizeBytes,
      txid: entry?.txid ?? null,
      medianTimeSeconds: entry?.medianTimeSeconds ?? null,
      firstSeenMs: entry?.firstSeenMs ?? clock.wallMs(),
    });
    const lookHere = async () => {
      const copy = await store.copy(name, signal);
      if (copy === null || rehash.prove(name, copy.blob.bytes, copy.identity) === null) return false;
      catalog.recordSpooled([content(copy.blob.bytes.length)]);
      return true;
    };
    const lookAt = async (site: BackendHandle) => {
      const finding = await site.read(name, signal);
      if (finding.kind !== 'good') return false;
      catalog.replicas.recordFound(site.id, [content(finding.blob.bytes.length)]);
      forgetBytes(finding.blob);
      return true;
    };
    const places = [
      { id: store.id, look: lookHere },
      ...sites.map((site) => ({ id: site.id, look: () => lookAt(site) })),
    ];
    const found: string[] = [];
    for (const { id, look } of places) {
      try {
        if (await look()) found.push(id);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
      }
    }
    // Content that is still withheld under another hash type is skipped.
    const customs = Object.entries(await custom.adopt(null, name.versionHash, signal));
    return [...found, ...customs.filter(([, { adopted }]) => adopted > 0).map(([id]) => `${id} (custom)`)];
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    // The caller gets the failure; the next one has its turn all the same.
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

function keyOf({ hashType, versionHash, archiver }: WithheldEntry): string {
  return `${hashType}/${versionHash}/${archiver}`;
}

function notWithheld({ versionHash }: NamedHash, others: readonly string[]): ArchiveError {
  const by = others.map((archiver) => (archiver === FILE ? 'the configured list' : `the archiver ${archiver}`));
  return new ArchiveError(
    'archive/not-withheld',
    others.length === 0
      ? `${versionHash} is not withheld.`
      : `${versionHash} is not withheld by this archiver, but by ${by.join(' and ')}.`,
    {
      details: { versionHash, others },
      retryable: false,
      hint:
        others.length === 0
          ? '`holdfast withhold --list` shows what is.'
          : 'Have it revoked there, or delete that record below audit/ on the backends.',
    },
  );
}

function holdsEvidence({ properties }: ObjectStore): boolean {
  return properties.holds.has('evidence');
}
