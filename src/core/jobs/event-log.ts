import { JobError } from './errors.ts';
import type { JobEvent } from './job-kind.ts';

/** Whoever comes late, or reads slowly, still sees this much of what went before. */
const MOST_LINES = 1_000;
const MOST_CHARS = 1_048_576;

/** The events of one job as lines of JSON: the newest are kept, within a bound, for as many watchers as there are. */
export class EventLog {
  readonly #lines: string[] = [];
  #chars = 0;
  /** The number of the oldest line that is kept, counted from the first that ever was. */
  #first = 0;
  #closed = false;
  #changed = Promise.withResolvers<void>();

  append(event: JobEvent): void {
    const line = lineOf(event);
    this.#lines.push(line);
    this.#chars += line.length;
    while (this.#lines.length > MOST_LINES || (this.#chars > MOST_CHARS && this.#lines.length > 1)) {
      this.#chars -= this.#lines.shift()?.length ?? 0;
      this.#first += 1;
    }
    this.#wake();
  }

  /** Nothing more will come. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** Ended, and a newer one matters more. */
  forget(): void {
    this.#first += this.#lines.length;
    this.#lines.length = 0;
    this.#chars = 0;
  }

  /**
   * Every line that is kept, then each as it comes, until the log is closed or the signal aborts. When nothing comes for
   * `aliveMs`, a line that says only that: neither end takes a quiet connection for a dead one.
   */
  async *follow(signal: AbortSignal, aliveMs: number): AsyncGenerator<string, void> {
    let next = 0;
    while (!signal.aborted) {
      if (next < this.#first) {
        yield lineOf({ event: 'skipped', count: this.#first - next });
        next = this.#first;
      }
      const line = this.#lines[next - this.#first];
      if (line !== undefined) {
        next += 1;
        yield line;
      } else if (this.#closed) return;
      else if ((await this.#change(signal, aliveMs)) === 'quiet') yield lineOf({ event: 'alive' });
    }
  }

  async #change(signal: AbortSignal, aliveMs: number): Promise<'changed' | 'quiet'> {
    const { promise, resolve } = Promise.withResolvers<'changed' | 'quiet'>();
    const changed = () => resolve('changed');
    const timer = setTimeout(() => resolve('quiet'), aliveMs);
    signal.addEventListener('abort', changed, { once: true });
    void this.#changed.promise.then(changed);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', changed);
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

function lineOf(event: JobEvent): string {
  try {
    return JSON.stringify(event);
  } catch (cause) {
    throw new JobError('jobs/bad-event', `The event ${event.event} cannot be written as JSON.`, {
      details: { event: event.event },
      retryable: false,
      hint: 'This is a bug of holdfast: please report it.',
      cause,
    });
  }
}
