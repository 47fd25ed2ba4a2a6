import type { Catalog } from '../catalog/catalog.ts';
import type { HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import { pollUntil } from '../core/time/run-loop.ts';
import type { ChainState } from '../view/chain-state.ts';
import type { BackfillEvent } from './backfill-report.ts';

export interface Placed {
  readonly notStored: number;
  readonly recordsWaiting: number;
}

const LOOK_MS = 200;
const REST_FACTOR = 20;
const TELL_MS = 1_000;
/** Nothing has come to a backend for so long: one is away, or full. What waits goes on waiting for the archive. */
const PATIENCE_MS = 60_000;

/**
 * Waits until what is durable here is on as many backends as are required, and the records of what is final are written;
 * or until nothing moves any more. Gives what is left.
 */
export async function untilPlaced(
  { from, to }: HeightRange,
  catalog: Catalog,
  chain: Pick<ChainState, 'finalHeight'>,
  report: (event: BackfillEvent) => void,
  clock: Pick<Clock, 'steadyMs'>,
  signal: AbortSignal,
): Promise<Placed> {
  const count = (): Placed => {
    const notStored = catalog.missing.notStored(from, to);
    const final = Math.min(to, chain.finalHeight ?? -1);
    const recordsWaiting = final < from ? 0 : catalog.records.dueBetween(from, final);
    return { notStored, recordsWaiting };
  };
  const left = ({ notStored, recordsWaiting }: Placed) => notStored + recordsWaiting;
  return await untilNothingMoves(count, left, (placed) => report({ event: 'placing', ...placed }), clock, signal);
}

/** Counts what waits until nothing is left of it, or nothing has moved for a minute. Gives what is left. */
export async function untilNothingMoves<Waiting>(
  count: () => Waiting,
  leftOf: (waiting: Waiting) => number,
  tell: (waiting: Waiting) => void,
  clock: Pick<Clock, 'steadyMs'>,
  signal: AbortSignal,
): Promise<Waiting> {
  let movedMs = clock.steadyMs();
  let toldMs = clock.steadyMs();
  let before = Number.POSITIVE_INFINITY;
  let lookMs = 0;
  const look = (): { readonly waiting: Waiting } | null => {
    const begunMs = clock.steadyMs();
    const waiting = count();
    const nowMs = clock.steadyMs();
    const left = leftOf(waiting);
    if (left !== before) movedMs = nowMs;
    before = left;
    if (left === 0 || nowMs - movedMs > PATIENCE_MS) return { waiting };
    if (nowMs - toldMs >= TELL_MS) {
      tell(waiting);
      toldMs = nowMs;
    }
    lookMs = clock.steadyMs() - begunMs;
    return null;
  };
  // With very many rows a look takes long and blocks other work meanwhile.
  return (await pollUntil(look, () => Math.max(LOOK_MS, lookMs * REST_FACTOR), signal)).waiting;
}
