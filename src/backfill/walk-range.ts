import type { Catalog } from '../catalog/catalog.ts';
import type { ChainFollowing } from '../chain/chain-following.ts';
import { ArchiveError } from '../core/archive-errors.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { assertUpright, type HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import { pollUntil } from '../core/time/run-loop.ts';
import type { ChainState } from '../view/chain-state.ts';
import type { BackfillEvent } from './backfill-report.ts';
import type { BackfillParameters } from './parameters.ts';

const LOOK_MS = 100;
/** The walk has not moved for so long: it will not, as things are. */
const PATIENCE_MS = 60_000;
/** With one of these it does not get better by waiting. */
const HOPELESS = new Set(['chain/pruned-block', 'archive/other-chain']);

/**
 * Sees to it that the range is walked: waits for the walk to come up to its end, and walks history down to its beginning.
 * @throws ArchiveError `archive/not-walked`, `archive/beyond-tip`; ChainError `chain/pruned-block`
 */
export async function walkRange(
  { fromHeight, toHeight }: Pick<BackfillParameters, 'fromHeight' | 'toHeight'>,
  catalog: Pick<Catalog, 'chain'>,
  following: Pick<ChainFollowing, 'isCurrent' | 'hasLookedForFinal' | 'history'>,
  conditions: Pick<ConditionBoard, 'all'>,
  report: (event: BackfillEvent) => void,
  clock: Pick<Clock, 'steadyMs'>,
  signal: AbortSignal,
): Promise<HeightRange> {
  assertUpright(fromHeight, toHeight);
  await untilWalked(catalog, following, conditions, report, clock, signal);
  const { startHeight, tip } = catalog.chain.state;
  if (startHeight === null || tip === null) throw notWalked(null);
  const from = fromHeight ?? Math.min(startHeight, toHeight ?? startHeight);
  const to = toHeight ?? tip.height;
  if (to > tip.height || from > to) throw beyondTip(Math.max(from, to), tip.height);
  const { lowestHeight } = catalog.chain.state;
  if (lowestHeight !== null && from < lowestHeight) {
    report({ event: 'walking', height: lowestHeight, target: from });
    const progress = (height: number) => report({ event: 'walking', height, target: from });
    await following.history.downTo(from, progress, signal);
  }
  return { from, to };
}

/** The walk is at the node's tip, and what is final is known: of that there are records to be placed. */
async function untilWalked(
  catalog: Pick<Catalog, 'chain'>,
  chain: Pick<ChainState, 'isCurrent' | 'hasLookedForFinal'>,
  conditions: Pick<ConditionBoard, 'all'>,
  report: (event: BackfillEvent) => void,
  clock: Pick<Clock, 'steadyMs'>,
  signal: AbortSignal,
): Promise<void> {
  let lastHeight: number | null = null;
  let movedMs = clock.steadyMs();
  const look = (): true | null => {
    if (chain.isCurrent && chain.hasLookedForFinal && catalog.chain.state.tip !== null) return true;
    const raised = conditions.all();
    const hopeless = raised.find(({ code }) => HOPELESS.has(code));
    if (hopeless !== undefined) throw notWalked(hopeless);
    const height = catalog.chain.state.tip?.height ?? null;
    if (height !== lastHeight && height !== null) report({ event: 'walking', height, target: height });
    if (height !== lastHeight) movedMs = clock.steadyMs();
    lastHeight = height;
    if (clock.steadyMs() - movedMs > PATIENCE_MS) throw notWalked(raised[0] ?? null);
    return null;
  };
  await pollUntil(look, () => LOOK_MS, signal);
}

function notWalked(condition: { code: string; message: string; hint: string } | null): ArchiveError {
  // A one-shot command on another chain is a wrong configuration, and says so by its code.
  const code = condition?.code === 'archive/other-chain' ? condition.code : 'archive/not-walked';
  const message = condition?.message ?? 'The chain has not been walked, and the walk does not move.';
  return new ArchiveError(code, message, {
    details: { condition: condition?.code ?? null },
    retryable: true,
    hint: condition?.hint ?? 'Look at the node: it may still be catching up. What was walked is kept.',
  });
}

function beyondTip(asked: number, tip: number): ArchiveError {
  return new ArchiveError('archive/beyond-tip', `The chain ends at height ${tip}; height ${asked} is not there yet.`, {
    details: { asked, tip },
    retryable: true,
    hint: 'Name a range that is there, or leave --to-height out.',
  });
}
