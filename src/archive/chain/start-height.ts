import { RETENTION_SECONDS } from '../../blob/limits.ts';
import type { ChainTip } from '../blob-node.ts';
import type { ChainNode } from './chain-node.ts';
import { ChainError } from './errors.ts';

/** Blocks below the tip that are looked at first: a window of six hours has about 144. */
const FIRST_STEP = 64;

/**
 * The lowest height that can still be saved: the first block whose median time, with the retention added, is not behind
 * the tip's. Median times never fall along a branch, so a search over headers finds it in some twenty questions.
 */
export async function lowestSavableHeight(tip: ChainTip, node: ChainNode, signal: AbortSignal): Promise<number> {
  const bound = tip.medianTimeSeconds - RETENTION_SECONDS;
  const isSavable = async (height: number) => (await medianTimeAt(height, node, signal)) >= bound;
  let savable = tip.height;
  let step = FIRST_STEP;
  let tooOld = savable - step;
  while (tooOld >= 0 && (await isSavable(tooOld))) {
    savable = tooOld;
    step *= 2;
    tooOld = savable - step;
  }
  tooOld = Math.max(tooOld, -1);
  while (savable - tooOld > 1) {
    const middle = (savable + tooOld) >> 1;
    if (await isSavable(middle)) savable = middle;
    else tooOld = middle;
  }
  return savable;
}

async function medianTimeAt(height: number, node: ChainNode, signal: AbortSignal): Promise<number> {
  const hash = await node.blockHashAt(height, signal);
  if (hash === null) {
    throw new ChainError('chain/start-height', `The node’s branch no longer reaches height ${height}.`, {
      details: { height },
      retryable: true,
      hint: 'Its chain changed while the start was looked for; it is looked for again.',
    });
  }
  return (await node.header(hash, signal)).medianTimeSeconds;
}
