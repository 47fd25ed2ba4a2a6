import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ChainTip } from '../node/blob-node.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';

/** Blocks of the first step below the tip: a window of six hours has about 144. */
const FIRST_STEP = 64;

/**
 * Longest gap of ChainLocks in seconds, in which a node keeps blobs beyond the retention. Older list entries are not
 * believed.
 */
const LONGEST_GAP_SECONDS = 7 * 86_400;
/** Seconds of tolerance: a list may give a blob the median time of the previous block. */
const LISTED_MARGIN_SECONDS = 1_800;

/**
 * The lowest savable height: the first block whose median time plus the retention is not before the tip's, or the block
 * of the oldest listed blob. Median times never fall along a branch, so a bisection over headers takes some twenty
 * calls.
 * @param oldestListedSeconds median time of the oldest listed blob; null when the list has none
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
