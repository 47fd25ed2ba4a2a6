import type { ScheduleTime } from '../../src/app/scheduled-work.ts';

interface Waiting {
  readonly untilMs: number;
  readonly go: () => void;
}

/** The clock of a daemon's schedules. It stands still until a test moves it, so that no test depends on real time. */
export class MovedTime implements ScheduleTime {
  #ms = Date.now();
  readonly #waiting = new Set<Waiting>();

  readonly clock = { wallMs: () => this.#ms, steadyMs: () => this.#ms };
  readonly random = (): number => 0;

  readonly wait = (ms: number, signal: AbortSignal): Promise<void> => {
    if (ms <= 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = { untilMs: this.#ms + ms, go: () => end() };
      const end = () => {
        this.#waiting.delete(waiting);
        signal.removeEventListener('abort', end);
        resolve();
      };
      this.#waiting.add(waiting);
      signal.addEventListener('abort', end);
    });
  };

  /** Lets a minute go by: whatever waited for a time within it goes on. */
  minute(): void {
    this.#ms += 60_000;
    for (const { untilMs, go } of [...this.#waiting]) if (untilMs <= this.#ms) go();
  }
}
