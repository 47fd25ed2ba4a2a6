import { AsyncLocalStorage } from 'node:async_hooks';

/** The owner of an event: a process loses its events when it is killed, and the world goes on. */
export type Owner = 'archiver' | 'other' | 'world';

export interface ScheduledEvent {
  readonly atMs: number;
  readonly owner: Owner;
  cancel(): void;
}

interface Entry extends ScheduledEvent {
  readonly turn: number;
  run: (() => void) | null;
}

/** Taken before this process loses its real timers. */
const realTurn = setImmediate;
const realDateNow = Date.now;

/** Milliseconds of the real clock, for the one figure that is about this machine: how fast the simulation is. */
export const realMs = (): number => realDateNow();

/**
 * The only clock and the only queue of a simulation. Time moves to the next event when everything that is ready has run: a
 * turn of the real event loop ends when no promise is left to settle, and nothing here waits for anything real.
 */
export class SimulatedTime {
  #steadyMs = 1_000_000;
  /** Offset of the wall clock, which an operator or a time server sets. */
  #wallAheadMs: number;
  /** Share by which the wall clock goes faster, and since when. */
  #drift = { share: 0, sinceMs: 0 };
  #turns = 0;
  #heap: Entry[] = [];
  #soon: Entry[] = [];
  readonly #running = new AsyncLocalStorage<Owner>();
  /** Events that have run. */
  ran = 0;

  constructor(wallMs: number) {
    this.#wallAheadMs = wallMs - this.#steadyMs;
  }

  get steadyMs(): number {
    return this.#steadyMs;
  }

  get wallMs(): number {
    return this.#steadyMs + this.#wallAheadMs + this.#drift.share * (this.#steadyMs - this.#drift.sinceMs);
  }

  /** The process whose code runs now: what it begins is its own. The world acts for the archiver that is watched. */
  get running(): Owner {
    return this.#running.getStore() ?? 'archiver';
  }

  /** Runs this, and everything that follows from it, as that process. */
  as<T>(owner: Owner, work: () => T): T {
    return this.#running.run(owner, work);
  }

  stepWall(byMs: number): void {
    this.#wallAheadMs += byMs;
  }

  /** From now on the wall clock goes faster by this share, or slower; what it is ahead by now, it stays ahead by. */
  driftWall(share: number): void {
    this.#wallAheadMs = this.wallMs - this.#steadyMs;
    this.#drift = { share, sinceMs: this.#steadyMs };
  }

  after(delayMs: number, owner: Owner, run: () => void): ScheduledEvent {
    const entry = this.#entry(this.#steadyMs + Math.max(delayMs, 0), owner, run);
    this.#push(entry);
    return entry;
  }

  /** Behind what is ready now, and before time moves. */
  soon(owner: Owner, run: () => void): ScheduledEvent {
    const entry = this.#entry(this.#steadyMs, owner, run);
    this.#soon.push(entry);
    return entry;
  }

  /** The number of events that it waits for. */
  waitingOf(owner: Owner): number {
    return [...this.#heap, ...this.#soon].filter((entry) => entry.owner === owner && entry.run !== null).length;
  }

  /** The process is gone: nothing that it waited for comes any more. */
  dropOf(owner: Owner): void {
    for (const entry of [...this.#heap, ...this.#soon]) if (entry.owner === owner) entry.run = null;
  }

  /** Runs events until that moment, one after the other; `between` sees what each of them led to, and may end it. */
  async runUntil(endMs: number, between: () => boolean): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => void realTurn(resolve));
      if (!between()) return;
      const entry = this.#next(endMs);
      const run = entry?.run ?? null;
      if (entry === null || run === null) break;
      entry.run = null;
      this.#steadyMs = Math.max(this.#steadyMs, entry.atMs);
      this.ran += 1;
      if (entry.owner === 'other') this.as('other', run);
      else run();
    }
    this.#steadyMs = Math.max(this.#steadyMs, endMs);
  }

  /** Gives the next entry that was not cancelled. */
  #next(endMs: number): Entry | null {
    for (;;) {
      const entry = this.#soon.shift() ?? this.#due(endMs);
      if (entry === null || entry.run !== null) return entry;
    }
  }

  #due(endMs: number): Entry | null {
    const [first] = this.#heap;
    if (first === undefined || first.atMs > endMs) return null;
    return this.#pop();
  }

  #entry(atMs: number, owner: Owner, run: () => void): Entry {
    this.#turns += 1;
    const entry: Entry = {
      ...{ atMs, owner, run, turn: this.#turns },
      cancel: () => {
        entry.run = null;
      },
    };
    return entry;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(entry, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): Entry | null {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (first === last) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      if (one === undefined) break;
      const [child, next] = other !== undefined && isBefore(other, one) ? [other, left + 1] : [one, left];
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = next;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.turn < b.turn);
}
