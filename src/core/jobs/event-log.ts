import { JobError } from './errors.ts';
import type { JobEvent } from './job-kind.ts';

/** Lines of history that a late or slow watcher still sees. */
const MAX_LINES = 1_000;
const MAX_CHARS = 1_048_576;

/** Events of one job as lines of JSON. The log keeps the newest lines, within a limit, for any number of watchers. */
export class EventLog {
  readonly #lines: string[] = [];
  #chars = 0;
  /** Number of the oldest kept line, counted from the job's first line. */
  #first = 0;
  #closed = false;
  #changed = Promise.withResolvers<void>();

  append(event: JobEvent): void {
    const line = lineOf(event);
    this.#lines.push(line);
    this.#chars += line.length;
    while (this.#lines.length > MAX_LINES || (this.#chars > MAX_CHARS && this.#lines.length > 1)) {
      this.#chars -= this.#lines.shift()?.length ?? 0;
      this.#first += 1;
    }
    this.#wake();
  }

  /** Marks the log as complete. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** Drops the lines of an ended job in favour of a newer one. */
  forget(): void {
    this.#first += this.#lines.length;
    this.#lines.length = 0;
    this.#chars = 0;
  }

  /**
   * Iterates over every kept line and then each new one, until the log is closed or the signal aborts. After `aliveMs`
   * milliseconds of silence it yields a keep-alive line, so that neither end takes the connection for dead.
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
