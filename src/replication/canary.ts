import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import type { Clock } from '../core/time/clock.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { Holding } from './holding.ts';

/** The outcome of fetching one blob through one backend. */
export interface CanaryResult {
  readonly backend: string;
  readonly age: 'old' | 'new';
  readonly isGood: boolean;
  readonly seconds: number;
}

/**
 * Fetches one old and one new blob through each backend, as a restore would, and hashes them. A backend that
 * is written to all day and read from never is trusted for nothing.
 */
export class Canary {
  readonly #catalog: Catalog;
  readonly #damage: DamageWatch;
  readonly #conditions: ConditionBoard;
  readonly #holdings: () => readonly Holding[];
  /** 0 to 1: which old blob. */
  readonly #random: () => number;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** The results of the last run, by backend and age. */
  readonly results = new Map<string, CanaryResult>();

  constructor(
    catalog: Catalog,
    damage: DamageWatch,
    conditions: ConditionBoard,
    holdings: () => readonly Holding[],
    random: () => number,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#catalog = catalog;
    this.#damage = damage;
    this.#conditions = conditions;
    this.#holdings = holdings;
    this.#random = random;
    this.#clock = clock;
  }

  async run(signal: AbortSignal): Promise<void> {
    const holdings = this.#holdings;
    const failures: string[] = [];
    for (const holding of holdings()) {
      for (const [age, entry] of this.#chosen(holding.id)) {
        const failure = await this.#fetch(holding, age, entry, signal);
        if (failure !== null) failures.push(failure);
      }
    }
    this.#conditions.set(
      'canary',
      failures.length === 0
        ? null
        : {
            code: 'canary/failed',
            message: failures.join(' '),
            hint: 'Fetch that blob yourself (holdfast get), and look at that backend: what cannot be read back is no copy.',
            blocksReadiness: false,
          },
    );
  }

  /** The newest blob that is proven to be there, and one from anywhere. */
  #chosen(backend: string): (readonly ['old' | 'new', ContentEntry])[] {
    const newest = this.#catalog.replicas.newestGood(backend);
    if (newest === null) return [];
    const from = Math.floor(this.#random() * newest.sequence);
    const [old = newest] = this.#catalog.replicas.goodAfter(backend, from, 1);
    return [
      ['old', old],
      ['new', newest],
    ];
  }

  async #fetch(holding: Holding, age: 'old' | 'new', entry: ContentEntry, signal: AbortSignal): Promise<string | null> {
    const begunMs = this.#clock.steadyMs();
    const note = (isGood: boolean) => {
      const seconds = (this.#clock.steadyMs() - begunMs) / 1_000;
      this.results.set(`${holding.id} ${age}`, { backend: holding.id, age, isGood, seconds });
    };
    try {
      const kind = await holding.look(entry, signal);
      note(kind === 'good');
      if (kind === 'good') return null;
      this.#damage.report(holding.id, entry);
      return `The ${holding.id} copy of ${entry.versionHash} is ${kind}.`;
    } catch (error) {
      signal.throwIfAborted();
      note(false);
      return `${holding.id} did not give ${entry.versionHash}: ${messageOf(error)}`;
    }
  }
}
