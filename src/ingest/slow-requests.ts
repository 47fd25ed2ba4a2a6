import type { ConditionBoard } from '../core/conditions/condition-board.ts';

/** A request that runs longer than this is told of. */
const SLOW_MS = 10_000;

/** Tells of requests that do not come back: they hold slots that others wait for. */
export class SlowRequests {
  readonly #conditions: ConditionBoard;
  readonly #slowMs: number;
  #slow = 0;

  constructor(conditions: ConditionBoard, slowMs = SLOW_MS) {
    this.#conditions = conditions;
    this.#slowMs = slowMs;
  }

  async watch<T>(what: string, work: Promise<T>): Promise<T> {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      this.#slow += 1;
      this.#tell(what);
    }, this.#slowMs);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      if (isSlow) {
        this.#slow -= 1;
        if (this.#slow === 0) this.#conditions.set('slow', null);
      }
    }
  }

  #tell(what: string): void {
    this.#conditions.set('slow', {
      code: 'archive/slow-request',
      message: `A request to the node for ${what} has run for ${this.#slowMs / 1_000} seconds.`,
      hint: 'Look at the node and at the way to it. Other blobs are asked for meanwhile, and this one again.',
      blocksReadiness: false,
    });
  }
}
