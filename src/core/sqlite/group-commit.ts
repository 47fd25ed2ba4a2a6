import type { Clock } from '../time/clock.ts';

interface Waiting<T> {
  readonly item: T;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/** Milliseconds that the first item of a group waits for others. A sync takes about as long. */
const LINGER_MS = 5;
/** Longest wait in milliseconds while items keep arriving: in a flood, every caller waits for syncs. */
const LONGEST_MS = 25;
/** Items during one wait that count as a flood: more than one request to the node brings. */
const FLOOD = 40;

/**
 * Groups items that arrive within a few milliseconds into one synchronous commit. A thousand small writes then cost a
 * few syncs, and a lone item waits little longer than its own sync.
 */
export class GroupCommit<T> {
  readonly #commit: (items: readonly T[]) => void;
  readonly #limit: number;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #lingerMs: number;
  #waiting: Waiting<T>[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Time of the group's first item, on the steady clock. */
  #begunMs = 0;

  /** @param commit writes all items in one durable transaction, or throws without writing any */
  constructor(
    commit: (items: readonly T[]) => void,
    limit: number,
    clock: Pick<Clock, 'steadyMs'>,
    lingerMs = LINGER_MS,
  ) {
    this.#commit = commit;
    this.#limit = limit;
    this.#clock = clock;
    this.#lingerMs = lingerMs;
  }

  /** Resolves when the item's commit is durable. */
  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#waiting.length >= this.#limit) this.flush();
      else if (this.#timer === undefined) {
        this.#begunMs = this.#clock.steadyMs();
        this.#wait();
      }
    });
  }

  #wait(): void {
    const before = this.#waiting.length;
    this.#timer = setTimeout(() => {
      const isFlood = this.#waiting.length - before >= FLOOD;
      if (isFlood && this.#clock.steadyMs() - this.#begunMs + this.#lingerMs <= LONGEST_MS) this.#wait();
      else this.flush();
    }, this.#lingerMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0) return;
    try {
      this.#commit(group.map(({ item }) => item));
    } catch (cause) {
      for (const { reject } of group) reject(cause);
      return;
    }
    for (const { resolve } of group) resolve();
  }
}
