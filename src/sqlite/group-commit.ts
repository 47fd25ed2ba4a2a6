interface Waiting<T> {
  readonly item: T;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/**
 * What arrives in the same turn of the event loop shares one synced commit: a thousand small writes then cost a few
 * syncs, and a single one waits for nobody.
 */
export class GroupCommit<T> {
  readonly #commit: (items: readonly T[]) => void;
  readonly #limit: number;
  #waiting: Waiting<T>[] = [];

  /** `commit` writes all items in one durable transaction, or throws and has written none. */
  constructor(commit: (items: readonly T[]) => void, limit: number) {
    this.#commit = commit;
    this.#limit = limit;
  }

  /** Resolves when the commit that holds the item is durable. */
  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.flush());
      else if (this.#waiting.length >= this.#limit) this.flush();
    });
  }

  flush(): void {
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
