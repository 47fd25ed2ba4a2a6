import { DAY_MS, HOUR_MS, type Plan } from './plan.ts';

/** The archiver has so long to find out what an event has done, and to put it right. */
const AFTER_MS = 4 * HOUR_MS;
/** The time that it has to save the blobs of a block. */
const AFTER_BLOBS_MS = HOUR_MS;
/** A loop looks this often, however long nothing happens. */
const LONGEST_MS = 6 * HOUR_MS;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The times of a plan at which nothing goes on: loops that wait for a change sleep longer then, as if time were skipped. */
export class Calm {
  readonly #busy: readonly Span[];
  #blocks: readonly Span[] = [];

  /** `beganMs`: time at which the plan begins. Its end is busy: everything is looked at there. */
  constructor({ days, events }: Pick<Plan, 'days' | 'events'>, beganMs: number) {
    const around = events.map(({ atMs, forMs }) => ({ fromMs: atMs, toMs: atMs + forMs + AFTER_MS }));
    const begin = { fromMs: 0, toMs: AFTER_MS };
    const end = { fromMs: days * DAY_MS, toMs: Number.POSITIVE_INFINITY };
    this.#busy = [begin, ...around, end].map(({ fromMs, toMs }) => ({
      fromMs: beganMs + fromMs,
      toMs: beganMs + toMs,
    }));
  }

  /** The next block comes at this time: nothing sleeps past it. */
  expectBlock(nowMs: number, atMs: number, hasBlobs: boolean): void {
    const block = { fromMs: atMs, toMs: hasBlobs ? atMs + AFTER_BLOBS_MS : atMs };
    this.#blocks = [...this.#blocks.filter(({ toMs }) => toMs > nowMs), block];
  }

  /** Reports whether no event goes on, or did only just. */
  isWithoutEvents(nowMs: number): boolean {
    return untilSome(this.#busy, nowMs) > 0;
  }

  /** Milliseconds until an event or a block, from now on; 0: an event goes on, or blobs came only just. */
  leftMs(nowMs: number): number {
    return untilSome([...this.#busy, ...this.#blocks], nowMs);
  }
}

/** Milliseconds until one of these begins; 0: one goes on. */
function untilSome(spans: readonly Span[], nowMs: number): number {
  const goesOn = spans.some(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs);
  if (goesOn) return 0;
  const coming = spans.filter(({ fromMs }) => fromMs > nowMs).map(({ fromMs }) => fromMs - nowMs);
  return Math.min(LONGEST_MS, ...coming);
}
