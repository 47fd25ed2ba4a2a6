import type { Catalog } from '../../catalog/catalog.ts';
import type { WithheldEntry } from '../../catalog/withheld-ledger.ts';
import { ArchiveError } from '../../core/archive-errors.ts';
import { type ContentName, HASH_TYPES, type NamedHash } from '../../core/blob/ids.ts';
import type { Logger } from '../../core/observability/logger.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { PurgeOutcome } from './purge.ts';
import { FILE } from './withheld-file.ts';
import type { WithheldPlaces } from './withheld-places.ts';
import type { WithheldSayings } from './withheld-sayings.ts';

export type { WithheldEntry } from '../../catalog/withheld-ledger.ts';

export interface TakeDownModules {
  readonly sayings: WithheldSayings;
  readonly catalog: Catalog;
  readonly places: WithheldPlaces;
  /** Brings the evidence that waits to each backend; gives why some could not get it. */
  readonly evidence: { deliverNow(signal: AbortSignal): Promise<ReadonlyMap<string, string>> };
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

/** Take-downs as this archiver orders them: recorded, published to every backend, carried out, and reversible. */
export class TakeDowns {
  readonly #modules: TakeDownModules;
  /** Bytes are deleted and found again in turn: what a revocation found must not be deleted after it. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(modules: TakeDownModules) {
    this.#modules = modules;
  }

  /** In the order of their times, of every archiver. */
  list(): WithheldEntry[] {
    return this.#modules.catalog.withheld.list();
  }

  /** From this record on, the content is not served, fetched, repaired or replicated. */
  async withhold(name: NamedHash, how: TakeDownStatement, signal: AbortSignal): Promise<TakeDownReport> {
    const { catalog, sayings, places, clock, evidence, log } = this.#modules;
    const archiver = sayings.archiverId;
    const { versionHash } = name;
    const { purge } = how;
    const onChain = HASH_TYPES.filter((hashType) => catalog.chain.lastHeight({ hashType, versionHash }) !== null);
    const types = catalog.withheld.typesOf(name, onChain);
    const entries = types.map((hashType) => ({ hashType, versionHash, archiver, ...how, atMs: clock.wallMs() }));
    sayings.record(entries, true);
    log.warn({ versionHash, ...how }, 'a blob is withheld');
    const withheld = catalog.withheld.find(name).filter((entry) => entry.archiver === archiver);
    const carryOut = async () => {
      await places.admit(signal);
      return purge ? await this.#purge(withheld, signal) : [];
    };
    // The turn is taken with the record: a purge of what is left sees the record too, and would leave nothing to report here.
    const purged = purge ? await this.#inTurn(carryOut) : await carryOut();
    return { withheld, purged, undelivered: Object.fromEntries(await evidence.deliverNow(signal)) };
  }

  /** Throws `ArchiveError` `archive/not-withheld`. */
  revoke(name: NamedHash, signal: AbortSignal): Promise<RevocationReport> {
    return this.#inTurn(() => this.#revoke(name, signal));
  }

  async #revoke(name: NamedHash, signal: AbortSignal): Promise<RevocationReport> {
    const { catalog, sayings, places, clock, evidence, log } = this.#modules;
    const { archiverId } = sayings;
    const all = catalog.withheld.find(name);
    const own = all.filter(({ archiver }) => archiver === archiverId);
    const stillWithheldBy = [...new Set(all.map(({ archiver }) => archiver))].filter((one) => one !== archiverId);
    if (own.length === 0) throw notWithheld(name, stillWithheldBy);
    const left = sayings.revoke(own, true, clock.wallMs());
    log.warn({ versionHash: name.versionHash }, 'a blob is withheld no more');
    await places.admit(signal);
    const found: string[] = [];
    for (const one of left) found.push(...(await places.locate(one, signal)));
    const undelivered = Object.fromEntries(await evidence.deliverNow(signal));
    return {
      revoked: own.map(({ hashType, versionHash }) => ({ hashType, versionHash })),
      found,
      stillWithheldBy,
      undelivered,
    };
  }

  /** Deletes what a backend could not delete at once, or a crash left. */
  async purgeWhatIsLeft(signal: AbortSignal): Promise<void> {
    // A revocation or a take-down need not wait for the whole list.
    for (const entry of this.list().filter(({ purge }) => purge)) {
      await this.#inTurn(() => this.#purge([entry], signal));
    }
  }

  /** The caller holds the turn. */
  async #purge(entries: readonly WithheldEntry[], signal: AbortSignal): Promise<PurgeOutcome[]> {
    const { catalog, places, log } = this.#modules;
    const outcomes: PurgeOutcome[] = [];
    for (const entry of entries) {
      // The take-down may have been revoked since the list was made.
      if (catalog.withheld.isToBePurged(entry)) outcomes.push(...(await places.purge(entry, signal)));
    }
    for (const outcome of outcomes) {
      if (outcome.outcome !== 'not-there')
        log.warn({ ...outcome }, 'bytes of a withheld blob were purged, or could not be');
    }
    return outcomes;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    // The caller gets the failure; the next one has its turn all the same.
    this.#turn = turn.catch(() => {});
    return turn;
  }
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
