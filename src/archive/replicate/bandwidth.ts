import { Pulse } from '../pulse.ts';

/** Bytes that may go at once before the rate counts: one blob of the largest size. */
const BURST_BYTES = 2_097_152;

/** Bounds the bytes a second that go to one backend. */
export class Bandwidth {
  readonly #bytesPerSecond: number | null;
  readonly #nowMs: () => number;
  readonly #pause = new Pulse();
  /** When all that was taken will have gone, at the rate. */
  #paidUntilMs = 0;

  /** null: no bound. */
  constructor(bytesPerSecond: number | null, nowMs: () => number) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#nowMs = nowMs;
  }

  /** Resolves when so many bytes may go. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#bytesPerSecond === null) return;
    const nowMs = this.#nowMs();
    const burstMs = (BURST_BYTES / this.#bytesPerSecond) * 1_000;
    this.#paidUntilMs = Math.max(this.#paidUntilMs, nowMs - burstMs) + (bytes / this.#bytesPerSecond) * 1_000;
    const waitMs = this.#paidUntilMs - nowMs;
    if (waitMs > 0) await this.#pause.wait(waitMs, signal);
    signal.throwIfAborted();
  }
}
