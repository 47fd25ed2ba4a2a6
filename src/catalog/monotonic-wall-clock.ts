import type { Clock } from '../core/time/clock.ts';

/** No backend's copies take longer to be safe from the loss of its power. */
export const MAX_DURABILITY_DELAY_MS = 600_000;

/**
 * The wall clock, and what it would show had it not stepped forward within that time: what was recorded by the one is
 * at least as old as it seems by the other. A step back makes it seem younger, which only takes longer.
 */
export class MonotonicWallClock {
  readonly #clock: Clock;
  /** Wall time above steady time: the least that was seen since, and in the stretch before. */
  #least = Number.POSITIVE_INFINITY;
  #leastBefore = Number.POSITIVE_INFINITY;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.steadyMs();
    this.nowMs();
  }

  /** Wall time; all recorded times come from here, so that none goes unnoticed. */
  readonly nowMs = (): number => {
    const [wallMs, steadyMs] = [this.#clock.wallMs(), this.#clock.steadyMs()];
    if (steadyMs - this.#sinceMs >= MAX_DURABILITY_DELAY_MS) {
      this.#leastBefore = this.#least;
      this.#least = Number.POSITIVE_INFINITY;
      this.#sinceMs = steadyMs;
    }
    this.#least = Math.min(this.#least, wallMs - steadyMs);
    return wallMs;
  };

  readonly surelyMs = (): number => {
    this.nowMs();
    return this.#clock.steadyMs() + Math.min(this.#least, this.#leastBefore);
  };
}
