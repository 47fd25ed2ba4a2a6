import type { WithheldEntry } from '../../catalog/withheld-ledger.ts';
import type { ConditionBoard } from '../../core/conditions/condition-board.ts';
import { BACKOFF } from '../../core/time/backoff.ts';
import type { Clock } from '../../core/time/clock.ts';
import { type Next, runLoop } from '../../core/time/run-loop.ts';
import { StorageError } from '../../storage/errors.ts';
import type { TakeDowns } from './take-downs.ts';
import { FILE, namesListedIn } from './withheld-file.ts';
import type { WithheldPlaces } from './withheld-places.ts';
import type { WithheldRecordStore } from './withheld-records.ts';
import type { TakeDownSummary, WithheldSayings } from './withheld-sayings.ts';

export interface WithheldReadingModules {
  readonly sayings: WithheldSayings;
  readonly places: Pick<WithheldPlaces, 'locate'>;
  readonly takeDowns: Pick<TakeDowns, 'purgeWhatIsLeft'>;
  /** The data folder, and each backend that has names for records. A backend is read before it is let in. */
  readonly stores: readonly WithheldRecordStore[];
  /** A list of names besides, for what no backend tells; null: none. */
  readonly withheldFile: string | null;
  readonly conditions: ConditionBoard;
  readonly clock: Clock;
}

export interface TakeDownStatus extends TakeDownSummary {
  /** When all backends were last asked; null: not since the start. */
  readonly readAt: string | null;
}

const REFRESH_MS = 300_000;
/** Until a backend that could not be read is asked again. */
const UNREAD_MS = 15_000;
/** Nothing is so urgent that it could not wait for this: a window is hours long. */
const FIRST_READING_MS = 5_000;

/** The reading of what archivers record on the backends: honoured from every author until it is recorded there no more. */
export class WithheldReading {
  readonly #modules: WithheldReadingModules;
  #readAtMs: number | null = null;

  constructor(modules: WithheldReadingModules) {
    this.#modules = modules;
  }

  get status(): TakeDownStatus {
    const readAt = this.#readAtMs === null ? null : new Date(this.#readAtMs).toISOString();
    return { ...this.#modules.sayings.summary, readAt };
  }

  /** Resolves when the backends were asked once, or did not answer in time: then what is missing may be fetched. */
  async first(signal: AbortSignal): Promise<void> {
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(FIRST_READING_MS)]);
    await this.refresh(waiting).catch((error: unknown) => {
      if (!waiting.aborted) this.#modules.conditions.setError('withheld', error, false);
    });
  }

  /** Keeps up with what other archivers record, and finishes purges that a backend could not do at once. */
  async run(signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      const isWhole = await this.refresh(signal);
      await this.#modules.takeDowns.purgeWhatIsLeft(signal);
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
    const { sayings, places, clock, conditions } = this.#modules;
    const said: WithheldEntry[] = [];
    const faults: StorageError[] = [];
    for (const read of this.#sources()) {
      try {
        const entries = await read(signal);
        said.push(...entries);
        // At once: the next source may not answer for long.
        sayings.recordNew(entries);
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
    for (const name of sayings.endUnsaid(said, clock.wallMs())) await places.locate(name, signal);
    this.#readAtMs = clock.wallMs();
    return true;
  }

  #sources(): ((signal: AbortSignal) => Promise<WithheldEntry[]>)[] {
    const { sayings, stores, withheldFile, clock } = this.#modules;
    const ofStores = stores.map((store) => (signal: AbortSignal) => sayings.saidBy(store, signal));
    if (withheldFile === null) return ofStores;
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
    return [...ofStores, fromFile];
  }
}
