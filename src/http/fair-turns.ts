/** Begins a piece of work now, or in a later turn of the event loop. */
export type TakeTurn = (begin: () => void) => void;

/**
 * Gives each client the same part of every turn of the event loop, which is all that this process has to share. What a client
 * asks beyond its part waits for the next turns, in the order of its coming. A client alone loses nothing: its turns are short.
 */
export class FairTurns {
  readonly #mostPerTurn: number;
  /** Pieces of work that each client has begun in this turn. */
  readonly #begun = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();
  #isTurnSet = false;

  constructor(mostPerTurn: number) {
    this.#mostPerTurn = mostPerTurn;
  }

  take(client: string, begin: () => void): void {
    this.#setTurn();
    const queue = this.#waiting.get(client);
    const begun = this.#begun.get(client) ?? 0;
    if (queue !== undefined) {
      queue.push(begin);
    } else if (begun < this.#mostPerTurn) {
      this.#begun.set(client, begun + 1);
      begin();
    } else {
      this.#waiting.set(client, [begin]);
    }
  }

  #setTurn(): void {
    if (this.#isTurnSet) return;
    this.#isTurnSet = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isTurnSet = false;
    this.#begun.clear();
    if (this.#waiting.size === 0) return;
    this.#setTurn();
    for (const [client, queue] of [...this.#waiting]) {
      const now = queue.splice(0, this.#mostPerTurn);
      this.#begun.set(client, now.length);
      if (queue.length === 0) this.#waiting.delete(client);
      for (const begin of now) begin();
    }
  }
}
