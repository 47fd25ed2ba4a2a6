/** A part of the budget, held from before an answer is made until it is sent or its client is gone. */
export interface BudgetShare {
  /** The answer turned out to need less. */
  shrinkTo(bytes: number): void;
  /** A second call does nothing. */
  giveBack(): void;
}

interface Waiting {
  readonly bytes: number;
  readonly admit: (share: BudgetShare | null) => void;
}

const SPARE_SHARE = 0.25;

/**
 * The memory that answers may hold, all clients together: a reader that does not read holds its answer's bytes, and a
 * thousand of them must not hold a thousand. What does not fit waits its turn, first come first served, for a while.
 */
export class AnswerBudget {
  readonly #totalBytes: number;
  readonly #waitMs: number;
  #free: number;
  readonly #waiting = new Set<Waiting>();

  constructor(totalBytes: number, waitMs: number) {
    this.#totalBytes = totalBytes;
    this.#waitMs = waitMs;
    this.#free = totalBytes;
  }

  get heldBytes(): number {
    return this.#totalBytes - this.#free;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** null: so much is held already that whoever can do with less should. */
  takeSpare(bytes: number): BudgetShare | null {
    return this.isTight || this.heldBytes + bytes > this.#totalBytes ? null : this.#share(bytes);
  }

  /** Whole answers that slow readers hold may take a part of it; the rest is for those that are read in parts. */
  get isTight(): boolean {
    return this.#waiting.size > 0 || this.heldBytes > this.#totalBytes * SPARE_SHARE;
  }

  /** null: it did not become free in time, or the client went away. What is larger than all there is takes all. */
  async take(wantedBytes: number, signal: AbortSignal): Promise<BudgetShare | null> {
    const bytes = Math.min(wantedBytes, this.#totalBytes);
    if (this.#waiting.size === 0 && bytes <= this.#free) return this.#share(bytes);
    const { promise, resolve } = Promise.withResolvers<BudgetShare | null>();
    const waiting: Waiting = { bytes, admit: resolve };
    this.#waiting.add(waiting);
    const giveUp = () => {
      this.#waiting.delete(waiting);
      resolve(null);
      // Who waits behind may want less.
      this.#admit();
    };
    const timer = setTimeout(giveUp, this.#waitMs);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  }

  #share(bytes: number): BudgetShare {
    let held = bytes;
    this.#free -= bytes;
    const shrinkTo = (less: number) => {
      const freed = held - Math.min(Math.max(less, 0), held);
      held -= freed;
      this.#free += freed;
      if (freed > 0) this.#admit();
    };
    return { shrinkTo, giveBack: () => shrinkTo(0) };
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (waiting.bytes > this.#free) return;
      this.#waiting.delete(waiting);
      waiting.admit(this.#share(waiting.bytes));
    }
  }
}
