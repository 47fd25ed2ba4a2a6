/** A part of the budget, held from before an answer is made until it is sent or its client is gone. */
export interface BudgetShare {
  /** The answer turned out to need less. */
  shrinkTo(bytes: number): void;
  /** A second call does nothing. */
  giveBack(): void;
  /** From now on it waits for its reader alone. `cut` ends that, where others wait and it has had its time. */
  sending(cut: () => void): void;
}

interface Sending {
  readonly sinceMs: number;
  readonly heldBytes: () => number;
  readonly cut: () => void;
}

interface Waiting {
  readonly bytes: number;
  readonly admit: (share: BudgetShare | null) => void;
}

const SPARE_SHARE = 0.25;
/** How often is looked for answers that keep others waiting. */
const RELIEF_MS = 500;

/**
 * The memory that answers may hold, all clients together: a reader that does not read holds its answer's bytes, and a
 * thousand of them must not hold a thousand. What does not fit waits its turn, first come first served, for a while. Who
 * takes longer than that to read an answer loses it to those who wait: otherwise a few that never read would keep out all.
 */
export class AnswerBudget {
  readonly #totalBytes: number;
  readonly #waitMs: number;
  #free: number;
  readonly #waiting = new Set<Waiting>();
  readonly #sending = new Set<Sending>();
  #relief: NodeJS.Timeout | null = null;

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
    this.#relief ??= setInterval(() => this.#relieve(), Math.min(RELIEF_MS, this.#waitMs));
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
      if (this.#waiting.size === 0) this.#stopRelief();
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
    let sent: Sending | null = null;
    return {
      shrinkTo,
      giveBack: () => {
        if (sent !== null) this.#sending.delete(sent);
        shrinkTo(0);
      },
      sending: (cut) => {
        if (held === 0) return;
        sent = { sinceMs: performance.now(), heldBytes: () => held, cut };
        this.#sending.add(sent);
      },
    };
  }

  /** Cuts as many as those who wait need: of those that have had their time, the largest. */
  #relieve(): void {
    let needed = [...this.#waiting].reduce((sum, { bytes }) => sum + bytes, -this.#free);
    const overdueMs = performance.now() - this.#waitMs;
    const overdue = [...this.#sending].filter(({ sinceMs }) => sinceMs <= overdueMs);
    for (const sent of overdue.toSorted((a, b) => b.heldBytes() - a.heldBytes())) {
      if (needed <= 0) return;
      needed -= sent.heldBytes();
      this.#sending.delete(sent);
      sent.cut();
    }
  }

  #stopRelief(): void {
    if (this.#relief !== null) clearInterval(this.#relief);
    this.#relief = null;
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (waiting.bytes > this.#free) return;
      this.#waiting.delete(waiting);
      waiting.admit(this.#share(waiting.bytes));
    }
  }
}
