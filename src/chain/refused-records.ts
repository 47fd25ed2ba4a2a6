import { setImmediate as letOthersWork } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard, Subject } from '../core/conditions/condition-board.ts';
import { isOfTheStore, StorageError } from '../storage/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { takesAndGives } from '../storage/probe.ts';
import type { RecordPath } from '../storage/record-path.ts';

export interface RefusedRecordsOptions {
  readonly store: ObjectStore;
  readonly subject: Subject;
  readonly conditions: ConditionBoard;
  /** A clock that never steps. */
  readonly steadyMs: () => number;
}

interface Rest {
  readonly attempts: number;
  readonly untilMs: number;
  readonly round: number;
}

/** Records that rest; of more of them the one that rests longest is tried again in the next round. */
const MAX_RESTING = 10_000;
const RETRY_MS = { first: 15_000, most: 300_000 } as const;

/**
 * Records that one store refuses while it takes others. Each rests for itself, longer after each attempt, and their number
 * is told until the store has taken them or nobody is to bring them there any more.
 */
export class RefusedRecords {
  readonly #options: RefusedRecordsOptions;
  readonly #resting = new LRUCache<RecordPath, Rest>({ max: MAX_RESTING });
  #round = 0;
  #beganMs = 0;

  constructor(options: RefusedRecordsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#resting.size;
  }

  /** Within one round the answer for a record changes only with an attempt: the changes of one record keep their order. */
  beginRound(): void {
    this.#round += 1;
    this.#beganMs = this.#options.steadyMs();
  }

  /** Everything that waits for the store was looked at since the round began: what was not among it waits no more. */
  endRound(): void {
    for (const [path, { round }] of this.#resting.entries()) if (round < this.#round) this.#resting.delete(path);
    this.#clearIfNone();
  }

  /** Is this record left out of this round? */
  isResting(path: RecordPath): boolean {
    const rest = this.#resting.peek(path);
    if (rest === undefined) return false;
    this.#resting.set(path, { ...rest, round: this.#round });
    return rest.untilMs > this.#beganMs;
  }

  /**
   * Resolves with true when the work on this record is done, and with false when the store refuses this record alone: it
   * rests then. Throws what the store as a whole causes.
   */
  async attempt(path: RecordPath, work: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
    try {
      await work();
      if (this.#resting.delete(path)) this.#clearIfNone();
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(await this.#isOfOneRecord(error, signal))) throw error;
      this.#rest(path);
      this.#tell(error);
      // A store that refuses at once, and many times, must not keep everything else from its turn.
      await letOthersWork(undefined, { signal });
      return false;
    }
  }

  /** A store that cannot say whether it takes others is held for the one to blame. */
  async #isOfOneRecord(error: unknown, signal: AbortSignal): Promise<boolean> {
    if (!(error instanceof StorageError) || isOfTheStore(error)) return false;
    const findings = await this.#options.store.probe(signal);
    signal.throwIfAborted();
    return takesAndGives(findings);
  }

  #rest(path: RecordPath): void {
    const attempts = (this.#resting.peek(path)?.attempts ?? 0) + 1;
    const restMs = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** Math.min(attempts - 1, 16));
    this.#resting.set(path, { attempts, untilMs: this.#options.steadyMs() + restMs, round: this.#round });
  }

  #tell(error: unknown): void {
    const { store, subject, conditions } = this.#options;
    if (!(error instanceof HoldfastError)) return;
    const { code, hint } = error;
    const count = this.count < MAX_RESTING ? String(this.count) : `${MAX_RESTING} or more`;
    const message = `The ${store.id} store refuses ${count} records and takes others: they are not written, read or deleted there now. Latest: ${messageOf(error)}`;
    conditions.set(subject, { code, message, hint, blocksReadiness: false });
  }

  #clearIfNone(): void {
    if (this.count === 0) this.#options.conditions.set(this.#options.subject, null);
  }
}
