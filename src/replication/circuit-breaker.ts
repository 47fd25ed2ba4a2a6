import { BACKOFF, type Backoff, backoffMs } from '../core/time/backoff.ts';

export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number;
  readonly backoff: Backoff;
  /** 0 to 1: pauses differ, so that several archivers do not come back in one moment. */
  readonly random: () => number;
}

export const BREAKER: BreakerOptions = {
  failures: 5,
  backoff: BACKOFF.remote,
  random: Math.random,
};

/**
 * Leaves a backend that fails alone: after some failures in a row nothing is asked of it for a pause, then one question
 * tries whether it is back. Each failed try doubles the pause.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #pauses = 0;
  #openUntilMs = 0;
  #isTrying = false;

  constructor(options: BreakerOptions = BREAKER) {
    this.#options = options;
  }

  /** Reports whether a request may go now, on a clock that never steps. true after a pause spends the one try. */
  admits(nowMs: number): boolean {
    if (this.#pauses === 0) return true;
    if (this.#isTrying || nowMs < this.#openUntilMs) return false;
    this.#isTrying = true;
    return true;
  }

  /** Reports whether the backend is left alone now. */
  isOpen(nowMs: number): boolean {
    return this.#pauses > 0 && (this.#isTrying || nowMs < this.#openUntilMs);
  }

  /** Reports whether one more failure would open the breaker, or keep it open. */
  get isAtItsLimit(): boolean {
    return this.#pauses > 0 || this.#failures + 1 >= this.#options.failures;
  }

  /** When the next try is due; 0: it is closed. */
  get openUntilMs(): number {
    return this.#pauses === 0 ? 0 : this.#openUntilMs;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pauses = 0;
    this.#isTrying = false;
  }

  failed(nowMs: number): void {
    this.#failures += 1;
    const wasTrying = this.#isTrying;
    this.#isTrying = false;
    if (this.#failures < this.#options.failures) return;
    // Requests that were under way when the breaker opened fail as well: only a failed try makes the pause longer.
    if (this.#pauses > 0 && !wasTrying) return;
    const { backoff, random } = this.#options;
    this.#pauses += 1;
    this.#openUntilMs = nowMs + backoffMs(backoff, this.#pauses, random);
  }

  /** The try that `admits` gave was not made. */
  notTried(): void {
    this.#isTrying = false;
  }
}
