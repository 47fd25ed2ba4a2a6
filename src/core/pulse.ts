/** A bell: whoever waits wakes when somebody rings, when the time is up, or when the signal aborts. */
export class Pulse {
  #wake: (() => void)[] = [];
  #rings = 0;

  /** How often it rang: tells news from a mere nudge. */
  get rings(): number {
    return this.#rings;
  }

  /** There is news. */
  ring(): void {
    this.#rings += 1;
    this.nudge();
  }

  /** Wakes whoever waits, without news. */
  nudge(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }

  /** Never rejects; the caller looks at its signal afterwards. */
  wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#wake = this.#wake.filter((wake) => wake !== done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      signal.addEventListener('abort', done, { once: true });
      this.#wake.push(done);
    });
  }
}
