import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ChainTip } from '../node/blob-node.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';

/** Blocks below the tip that are looked at first: a window of six hours has about 144. */
const FIRST_STEP = 64;

/** In a gap of ChainLocks a node keeps blobs for longer than the retention: so far back they are believed, and no farther. */
const LONGEST_GAP_SECONDS = 7 * 86_400;
/** A list may give a blob the median time of the block before its own. */
const LISTED_MARGIN_SECONDS = 1_800;

/**
 * The lowest height that can still be saved: the first block whose median time, with the retention added, is not behind
 * the tip's; or the one of the oldest blob that the node lists, which it still gives out. `oldestListedSeconds`: its median
 * time; null: the list tells none. Median times never fall along a branch, so a search over headers finds it in some twenty questions.
 */
export async function lowestSavableHeight(
  tip: ChainTip,
  oldestListedSeconds: number | null,
  node: ChainNode,
  signal: AbortSignal,
): Promise<number> {
  const retained = tip.medianTimeSeconds - RETENTION_SECONDS;
  const isInGap = oldestListedSeconds !== null && oldestListedSeconds < retained;
  const bound = isInGap
    ? Math.max(oldestListedSeconds - LISTED_MARGIN_SECONDS, tip.medianTimeSeconds - LONGEST_GAP_SECONDS)
    : retained;
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
