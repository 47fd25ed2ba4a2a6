import type { Clock } from '../core/time/clock.ts';
import type { BudgetShare } from './answer-budget.ts';
import type { TakeTurn } from './fair-turns.ts';
import { LARGE_PART_BYTES, type PartMemory } from './part-memory.ts';

/** The part for readers that take their time while memory is scarce. An answer in parts holds this much in any case. */
export const SMALL_PART_BYTES = 65_536;
/** The smaller parts, for when memory has no room for the largest. */
const LARGER_PARTS = [LARGE_PART_BYTES, 131_072];
/** The cost of a part besides its bytes, in bytes that take as long. */
const PART_COST_BYTES = 196_608;
/** A reader that takes longer for a part is not held up by its size. */
const SLOW_MS = 250;

/** Sends an answer in turns with all others, in large parts to readers that take them quickly, as far as memory allows. */
export class Pace {
  /** The memory for its parts. */
  readonly memory: PartMemory;
  readonly #share: BudgetShare | null;
  readonly #takeTurn: TakeTurn;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #partBytes = SMALL_PART_BYTES;
  #sentMs: number | null = null;

  /** null: its route stands outside of the memory for answers. */
  constructor(share: BudgetShare | null, takeTurn: TakeTurn, clock: Pick<Clock, 'steadyMs'>, memory: PartMemory) {
    this.memory = memory;
    this.#share = share;
    this.#takeTurn = takeTurn;
    this.#clock = clock;
  }

  /** The memory that the answer holds besides a small part. */
  get moreBytes(): number {
    return this.#partBytes - SMALL_PART_BYTES;
  }

  turn(bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#takeTurn(bytes, resolve);
    return promise;
  }

  /** Waits for a turn for the next part, and says how large it is. The one before holds nothing any more. */
  async part(leftBytes: number): Promise<number> {
    const isSlow = this.#sentMs !== null && this.#clock.steadyMs() - this.#sentMs > SLOW_MS;
    if (isSlow && this.#share?.isTight === true) this.#shrink();
    else if (leftBytes > this.#partBytes) this.#grow();
    const bytes = Math.min(this.#partBytes, leftBytes);
    await this.turn(PART_COST_BYTES + bytes);
    return bytes;
  }

  /** A part is on its way to the reader. */
  sent(): void {
    this.#sentMs = this.#clock.steadyMs();
  }

  #grow(): void {
    const larger = LARGER_PARTS.find(
      (bytes) => bytes > this.#partBytes && (this.#share?.growForSpeed(bytes - this.#partBytes) ?? true),
    );
    this.#partBytes = larger ?? this.#partBytes;
  }

  #shrink(): void {
    this.#share?.shrinkTo(this.#share.heldBytes - this.moreBytes);
    this.#partBytes = SMALL_PART_BYTES;
  }
}
