import type { Catalog } from '../catalog/catalog.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Logger } from '../core/observability/logger.ts';
import { StorageError } from '../storage/errors.ts';
import { blobScrub } from './checked-blobs.ts';
import type { CustomUpkeep } from './custom/custom-upkeep.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { Replication } from './replication.ts';

export interface ScrubOptions {
  /** In so many days everything is read again. */
  readonly days: number;
}

export interface DailyScrubModules {
  readonly catalog: Catalog;
  readonly damage: DamageWatch;
  readonly replication: Replication;
  /** The archiver whose evidence is checked on the backends. */
  readonly archiverId?: string;
  readonly custom: CustomUpkeep;
  readonly conditions: ConditionBoard;
  readonly log: Logger;
}

/** Compares the listings and reads a part of everything again, each day. Bad copies are queued to be repaired. */
export class DailyScrub {
  readonly #options: ScrubOptions;
  readonly #modules: DailyScrubModules;

  constructor(options: ScrubOptions, modules: DailyScrubModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** @throws the reason why a place could not be looked at, after all others were. */
  async slice(signal: AbortSignal): Promise<void> {
    const { replication, conditions, custom, log } = this.#modules;
    // A backend that is away is looked at another day.
    const holdings = replication.holdings(({ isAdmitted }) => isAdmitted);
    const blobs = holdings.map((holding) => blobScrub(holding, this.#modules));
    let failure: unknown = null;
    for (const scrub of [...blobs, ...custom.scrubs(({ isUsable }) => isUsable)]) {
      try {
        const listing = await scrub.check(null, () => {}, signal);
        const reading = await scrub.slice(this.#options.days, signal);
        log.info({ backend: scrub.backend, listing, reading }, 'scrubbed');
        const fault = listing.fault ?? reading.fault;
        if (fault !== null) throw notLooked(fault, scrub.backend);
      } catch (error) {
        if (signal.aborted) return;
        conditions.setError('scrub', error);
        failure = error;
      }
    }
    if (failure !== null) throw failure;
    conditions.set('scrub', null);
  }
}

function notLooked(fault: string, backend: string): StorageError {
  return new StorageError(
    'storage/fault',
    `What ${backend} holds could not be compared with the catalog, or not all of it: ${fault}`,
    {
      details: { backend },
      retryable: true,
      hint: 'Let holdfast list that backend and read there; what is missing is not noticed meanwhile. Holdfast tries again every hour.',
    },
  );
}
