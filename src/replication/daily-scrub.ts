import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import { StorageError } from '../storage/errors.ts';
import { blobScrub, type CheckedBlobsModules } from './checked-blobs.ts';
import type { CustomUpkeep } from './custom/custom-upkeep.ts';
import type { Replication } from './replication.ts';
import type { BackendFindings, ReadingFindings, Scrub } from './scrub.ts';

export interface ScrubOptions {
  /** In so many days everything is read again. */
  readonly days: number;
}

export interface DailyScrubModules {
  /** Modules of the checks of blobs and documents. */
  readonly blobs: CheckedBlobsModules;
  readonly replication: Replication;
  readonly custom: CustomUpkeep;
  readonly conditions: ConditionBoard;
  readonly log: Logger;
}

/** Findings of this day's scrub at one place; null: not done. */
interface DoneToday {
  readonly listing: BackendFindings | null;
  readonly reading: ReadingFindings | null;
}

/** Compares the listings and reads a part of everything again, each day. Bad copies are queued to be repaired. */
export class DailyScrub {
  readonly #options: ScrubOptions;
  readonly #modules: DailyScrubModules;
  readonly #done = new Map<string, DoneToday>();

  constructor(options: ScrubOptions, modules: DailyScrubModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /**
   * Lists each place and reads its part. A repeat leaves out the listings and parts that succeeded earlier in the day.
   *
   * @param isRepeat whether an earlier run of this day failed.
   * @throws the reason why a place could not be looked at, after all others were
   */
  async slice(signal: AbortSignal, isRepeat = false): Promise<void> {
    const { replication, conditions, custom } = this.#modules;
    if (!isRepeat) this.#done.clear();
    // A backend that is away is looked at another day.
    const holdings = replication.holdings(({ isAdmitted }) => isAdmitted);
    const blobs = holdings.map((holding) => blobScrub(holding, this.#modules.blobs));
    const places = [
      ...blobs.map((scrub) => [`blobs ${scrub.backend}`, scrub] as const),
      ...custom.scrubs(({ isUsable }) => isUsable).map((scrub) => [`custom ${scrub.backend}`, scrub] as const),
    ];
    let failure: unknown = null;
    for (const [name, scrub] of places) {
      try {
        await this.#look(name, scrub, signal);
      } catch (error) {
        if (signal.aborted) return;
        // Only admission decides whether a backend blocks readiness. One copy or bucket that gives nothing never does.
        conditions.setError('scrub', error, false);
        failure = error;
      }
    }
    if (failure !== null) throw failure;
    conditions.set('scrub', null);
  }

  async #look(
    name: string,
    scrub: Pick<Scrub<never>, 'backend' | 'check' | 'slice' | 'readAgain'>,
    signal: AbortSignal,
  ) {
    const done = this.#done.get(name);
    const isListed = done?.listing?.fault === null;
    const listing = isListed && done.listing !== null ? done.listing : await scrub.check(null, () => {}, signal);
    this.#done.set(name, { listing, reading: done?.reading ?? null });
    const reading = await this.#read(scrub, done?.reading ?? null, signal);
    this.#done.set(name, { listing, reading });
    const told = { ...reading, unread: reading.unread.length };
    this.#modules.log.info({ backend: scrub.backend, listing, reading: told }, 'scrubbed');
    const fault = listing.fault ?? reading.fault;
    if (fault !== null) throw notLooked(fault, scrub.backend);
  }

  /** Each part is read once a day, because a bucket charges for reads. A repeat reads only what could not be looked at. */
  async #read(scrub: Pick<Scrub<never>, 'slice' | 'readAgain'>, before: ReadingFindings | null, signal: AbortSignal) {
    if (before === null) return await scrub.slice(this.#options.days, signal);
    return before.fault === null ? before : await scrub.readAgain(before.unread, signal);
  }
}

function notLooked(fault: string, backend: string): StorageError {
  return new StorageError(
    'storage/fault',
    `What ${backend} holds could not be compared with the catalog, or not all of it: ${fault}`,
    {
      details: { backend },
      retryable: true,
      hint: 'Let holdfast list that backend and read there; what is missing is not noticed meanwhile. Every hour Holdfast tries again what failed; it reads the next part the next day.',
    },
  );
}
