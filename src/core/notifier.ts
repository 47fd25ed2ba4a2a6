/** Wakes waiting tasks when a change is announced, when the time is up, or when the signal aborts. */
export class Notifier {
  #wake: (() => void)[] = [];
  #notifications = 0;
  readonly #followers: Notifier[] = [];

  /** Notifies with each of these. Its own notifications reach none of them. */
  static following(...others: readonly Notifier[]): Notifier {
    const notifier = new Notifier();
    for (const other of others) other.#followers.push(notifier);
    return notifier;
  }

  /** Number of announced changes: tells a change from a mere wake-up. */
  get notifications(): number {
    return this.#notifications;
  }

  /** Announces a change and wakes every waiting task. */
  notify(): void {
    this.#notifications += 1;
    this.#wakeAll();
    for (const other of this.#followers) other.notify();
  }

  /** Wakes every waiting task without announcing a change. */
  wakeUp(): void {
    this.#wakeAll();
    for (const other of this.#followers) other.wakeUp();
  }

  #wakeAll(): void {
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
