import type { ChainIndex } from '../catalog/chain-index.ts';
import type { ChainNode } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';

/** Relation of the followed branch to the node's branch. */
export type BranchRelation =
  /** The node's branch contains the cursor. */
  | { readonly kind: 'extends' }
  /**
   * The node's branch ends on the followed one, below the cursor: the node lags or went back in time. No block was
   * reorganised.
   */
  | { readonly kind: 'behind'; readonly height: number }
  /** The branches fork above this height; -1 when they share no followed block. */
  | { readonly kind: 'forked'; readonly lastCommonHeight: number };

function branchMoved(height: number): ChainError {
  return new ChainError(
    'chain/branch-moved',
    `The node changed its branch at height ${height} while it was compared.`,
    {
      details: { height },
      retryable: true,
      hint: 'It is compared again. A node that goes to and fro between branches, or several nodes behind one address, need a look.',
    },
  );
}

/**
 * Compares hashes downwards from the cursor in growing steps, then by bisection: a hash stands for every block below
 * it. A change of the node's branch meanwhile is detected here, or by the next block, which then does not connect.
 * @throws ChainError `chain/branch-moved`
 */
export async function relationTo(
  node: Pick<ChainNode, 'blockHashAt'>,
  chain: Pick<ChainIndex, 'state' | 'blockAt'>,
  signal: AbortSignal,
): Promise<BranchRelation> {
  const { tip, lowestHeight } = chain.state;
  if (tip === null || lowestHeight === null) return { kind: 'extends' };
  const isCommon = async (height: number) => {
    const ours = chain.blockAt(height)?.hash;
    return ours !== undefined && (await node.blockHashAt(height, signal)) === ours;
  };
  if (await isCommon(tip.height)) return { kind: 'extends' };
  let different = tip.height;
  let common = tip.height - 1;
  for (let step = 1; common >= lowestHeight && !(await isCommon(common)); step *= 2) {
    different = common;
    common = different - step;
  }
  common = Math.max(common, lowestHeight - 1);
  while (different - common > 1) {
    const middle = (different + common) >> 1;
    if (await isCommon(middle)) common = middle;
    else different = middle;
  }
  const theirs = await node.blockHashAt(common + 1, signal);
  if (theirs === null) return { kind: 'behind', height: common };
  // This hash differed a moment ago, so the answers come from two branches and must not cause a rollback.
  if (theirs === chain.blockAt(common + 1)?.hash) throw branchMoved(common + 1);
  return { kind: 'forked', lastCommonHeight: common };
}
