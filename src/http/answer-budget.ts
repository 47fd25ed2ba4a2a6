import type { Clock } from '../core/time/clock.ts';

/** The memory of one request and its answer, held from before it is used until the answer is sent or the client is gone. */
export interface BudgetShare {
  readonly heldBytes: number;
  /** Whole answers that slow readers hold may take a part of the memory; the rest is for those that are read in parts. */
  readonly isTight: boolean;
  /**
   * Holds so many bytes more. Where they are not free, the share is given back while it waits its turn. false: they did not
   * become free in time, too many wait, or the client went away.
   */
  grow(bytes: number, signal: AbortSignal): Promise<boolean>;
  /** Holds so many bytes more at once. false: they are not free. */
  growNow(bytes: number): boolean;
  /**
   * The same, for an answer that could do with less memory and would be slower. While memory is scarce a client has one such
   * answer: one reader that reads is served at full speed, and a hundred that do not read hold little.
   */
  growForSpeed(bytes: number): boolean;
  /** The answer turned out to need less. */
  shrinkTo(bytes: number): void;
  /** A second call does nothing. */
  giveBack(): void;
  /** From now on the answer waits for its reader alone. `cut` ends that, where others wait and it has had its time. */
  sending(cut: () => void): void;
  /** The answer was ended short for others, and not by the budget. */
  countCut(): void;
}

/** The memory that one client holds. */
interface Holder {
  small: number;
  large: number;
  waiting: number;
  /** Shares that it has, whatever they hold. */
  shares: number;
}

interface Sending {
  readonly sinceMs: number;
  readonly holder: Holder;
  readonly heldBytes: () => number;
  readonly cut: () => void;
}

interface Waiting {
  readonly bytes: number;
  readonly holder: Holder;
  readonly admit: (isAdmitted: boolean) => void;
}

/** Shares up to this size pass larger ones. */
export const SMALL_BYTES = 65_536;
/** A client always has this much for small answers, as long as any memory is free. */
const SMALL_FOR_EACH_BYTES = 1_048_576;
/** No share may hold more than this part of all memory. A single answer that is larger takes this part alone. */
const LARGEST_SHARE = 1 / 2;
const SPARE_SHARE = 1 / 4;
const MAX_WAITING_PER_CLIENT = 64;
const MAX_WAITING = 1_024;
/** The interval at which the budget looks for answers that keep others waiting. */
const RELIEF_MS = 500;

/**
 * The memory that requests and answers may hold. A client may hold at most as much as stays free: one client gets half of
 * the memory, five get a sixth each, and a sixth is left for the next client. Small answers pass large ones. A large
 * answer that does not fit waits its turn, and holds nothing meanwhile. A reader that takes longer than the waiting time
 * loses its answer to those who wait.
 */
export class AnswerBudget {
  readonly #totalBytes: number;
  readonly #waitMs: number;
  #free: number;
  /** Requests that were told to come again, since the start. */
  refused = 0;
  /** Answers that a slow reader lost to those who waited, since the start. */
  cut = 0;
  readonly #holders = new Map<string, Holder>();
  readonly #waiting = new Set<Waiting>();
  readonly #sending = new Set<Sending>();
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #relief: NodeJS.Timeout | null = null;

  constructor(totalBytes: number, waitMs: number, clock: Pick<Clock, 'steadyMs'>) {
    this.#clock = clock;
    this.#totalBytes = totalBytes;
    this.#waitMs = waitMs;
    this.#free = totalBytes;
  }

  get limitBytes(): number {
    return this.#totalBytes;
  }

  get heldBytes(): number {
    return this.#totalBytes - this.#free;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** The most that one share may hold. */
  get largestBytes(): number {
    return Math.max(1, Math.floor(this.#totalBytes * LARGEST_SHARE));
  }

  /** A share of this client that holds nothing yet. The opener of a share gives it back. */
  open(client: string): BudgetShare {
    const holder = this.#holders.get(client) ?? { small: 0, large: 0, waiting: 0, shares: 0 };
    this.#holders.set(client, holder);
    holder.shares += 1;
    let held = 0;
    let isOver = false;
    let isRefused = false;
    let sent: Sending | null = null;
    const hold = (bytes: number) => {
      this.#account(holder, held, bytes);
      held = bytes;
    };
    /** Once a request, however many calls it carries; who is gone is told nothing. */
    const refuse = (signal: AbortSignal | null) => {
      if (isOver || isRefused || signal?.aborted === true) return false;
      this.refused += 1;
      isRefused = true;
      return false;
    };
    const isTight = () => this.#waiting.size > 0 || this.heldBytes > this.#totalBytes * SPARE_SHARE;
    const shrinkTo = (bytes: number) => {
      if (bytes >= held) return;
      hold(Math.max(bytes, 0));
      this.#admit();
    };
    /** A share that holds a large answer already gets no more than there may be; a first one takes what it can have. */
    const neededWith = (more: number) => {
      const wanted = held + Math.max(more, 0);
      return held > SMALL_BYTES ? wanted : Math.min(wanted, this.largestBytes);
    };
    const growNow = (bytes: number) => {
      const wanted = neededWith(bytes);
      if (wanted <= held) return true;
      if (isOver || wanted > this.largestBytes || !this.#fits(holder, held, wanted)) return false;
      hold(wanted);
      return true;
    };
    return {
      get heldBytes() {
        return held;
      },
      get isTight() {
        return isTight();
      },
      growNow: (bytes) => growNow(bytes) || refuse(null),
      growForSpeed: (bytes) => {
        const others = held > SMALL_BYTES ? holder.large - held : holder.large;
        return (!isTight() || others === 0) && growNow(bytes);
      },
      grow: async (bytes, signal) => {
        if (growNow(bytes)) return true;
        // The memory of a large share is in use: waiting with it could keep all others waiting.
        if (isOver || held > SMALL_BYTES) return refuse(signal);
        const wanted = neededWith(bytes);
        shrinkTo(0);
        if (!(await this.#turn(holder, wanted, signal))) return refuse(signal);
        // `#admit` has accounted for it.
        held = wanted;
        if (isOver) shrinkTo(0);
        return !isOver;
      },
      shrinkTo,
      giveBack: () => {
        if (sent !== null) this.#sending.delete(sent);
        shrinkTo(0);
        if (isOver) return;
        isOver = true;
        holder.shares -= 1;
        if (holder.shares === 0) this.#holders.delete(client);
      },
      sending: (cut) => {
        if (held === 0 || isOver) return;
        sent = { sinceMs: this.#clock.steadyMs(), holder, heldBytes: () => held, cut };
        this.#sending.add(sent);
      },
      countCut: () => {
        this.cut += 1;
      },
    };
  }

  #account(holder: Holder, before: number, after: number): void {
    if (before <= SMALL_BYTES) holder.small -= before;
    else holder.large -= before;
    if (after <= SMALL_BYTES) holder.small += after;
    else holder.large += after;
    this.#free += before - after;
  }

  #fits(holder: Holder, before: number, after: number): boolean {
    const free = this.#free + before - after;
    if (free < 0) return false;
    const held = holder.small + holder.large - before + after;
    if (held <= free) return true;
    return after <= SMALL_BYTES && holder.small - before + after <= SMALL_FOR_EACH_BYTES;
  }

  async #turn(holder: Holder, bytes: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || holder.waiting >= MAX_WAITING_PER_CLIENT || this.#waiting.size >= MAX_WAITING) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting: Waiting = { bytes, holder, admit: resolve };
    this.#waiting.add(waiting);
    holder.waiting += 1;
    this.#relief ??= setInterval(() => this.#relieve(), Math.min(RELIEF_MS, this.#waitMs));
    const giveUp = () => {
      if (this.#waiting.delete(waiting)) resolve(false);
    };
    const timer = setTimeout(giveUp, this.#waitMs);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await promise;
    } finally {
      holder.waiting -= 1;
      if (this.#waiting.size === 0) this.#stopRelief();
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Makes room for those who wait: of the answers that have had their time, the largest go, of clients that hold more. */
  #relieve(): void {
    const overdueMs = this.#clock.steadyMs() - this.#waitMs;
    const overdue = [...this.#sending]
      .filter(({ sinceMs }) => sinceMs <= overdueMs)
      .toSorted((a, b) => b.heldBytes() - a.heldBytes());
    for (const { holder, bytes } of [...this.#waiting]) {
      let needed = bytes;
      for (const sent of overdue) {
        if (needed <= 0) break;
        if (!this.#sending.has(sent)) continue;
        if (sent.holder !== holder && sent.holder.small + sent.holder.large <= holder.small + holder.large) continue;
        needed -= sent.heldBytes();
        this.#sending.delete(sent);
        this.cut += 1;
        sent.cut();
      }
    }
  }

  #stopRelief(): void {
    if (this.#relief !== null) clearInterval(this.#relief);
    this.#relief = null;
  }

  /** Serves all that fit, in the order of their coming. One that does not fit keeps no other waiting. */
  #admit(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.holder, 0, waiting.bytes)) continue;
      this.#waiting.delete(waiting);
      this.#account(waiting.holder, 0, waiting.bytes);
      waiting.admit(true);
    }
  }
}
