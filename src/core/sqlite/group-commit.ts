interface Waiting<T> {
  readonly item: T;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/** How long the first of a group waits for company. A sync takes about as long. */
const LINGER_MS = 5;
/** While company keeps coming it waits on, but no longer than this: in a flood, syncs are what everybody waits for. */
const LONGEST_MS = 25;
/** So many that come while one lingers are a flood: more than one request to the node brings. */
const FLOOD = 40;

/**
 * What arrives within a few milliseconds shares one synced commit: a thousand small writes then cost a few syncs, and a
 * single one waits hardly longer than its own sync takes.
 */
export class GroupCommit<T> {
  readonly #commit: (items: readonly T[]) => void;
  readonly #limit: number;
  readonly #lingerMs: number;
  #waiting: Waiting<T>[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** When the first of the group came, by the clock that never steps. */
  #begunMs = 0;

  /** `commit` writes all items in one durable transaction, or throws and has written none. */
  constructor(commit: (items: readonly T[]) => void, limit: number, lingerMs = LINGER_MS) {
    this.#commit = commit;
    this.#limit = limit;
    this.#lingerMs = lingerMs;
  }

  /** Resolves when the commit that holds the item is durable. */
  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#waiting.length >= this.#limit) this.flush();
      else if (this.#timer === undefined) {
        this.#begunMs = performance.now();
        this.#wait();
      }
    });
  }

  #wait(): void {
    const before = this.#waiting.length;
    this.#timer = setTimeout(() => {
      const isFlood = this.#waiting.length - before >= FLOOD;
      if (isFlood && performance.now() - this.#begunMs + this.#lingerMs <= LONGEST_MS) this.#wait();
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
