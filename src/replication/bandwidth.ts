import { Notifier } from '../core/notifier.ts';
import type { Clock } from '../core/time/clock.ts';

/** Bytes that may go at once before the rate counts: one blob of the largest size. */
const BURST_BYTES = 2_097_152;

/** The longest wait of a timer. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/** Bounds the bytes a second that go to one backend. */
export class Bandwidth {
  readonly #bytesPerSecond: number | null;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #pause = new Notifier();
  /** When all that was taken will have gone, at the rate. */
  #paidUntilMs = Number.NEGATIVE_INFINITY;

  /** null: no bound. */
  constructor(bytesPerSecond: number | null, clock: Pick<Clock, 'steadyMs'>) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#clock = clock;
  }

  /** Resolves when so many bytes may go. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#bytesPerSecond === null) return;
    const nowMs = this.#clock.steadyMs();
    const burstMs = (BURST_BYTES / this.#bytesPerSecond) * 1_000;
    this.#paidUntilMs = Math.max(this.#paidUntilMs, nowMs - burstMs) + (bytes / this.#bytesPerSecond) * 1_000;
    const waitMs = Math.min(this.#paidUntilMs - nowMs, LONGEST_WAIT_MS);
    if (waitMs > 0) await this.#pause.wait(waitMs, signal);
    signal.throwIfAborted();
  }
}
