import { messageOf } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { OccurrenceRecord } from './occurrence-record.ts';

/** A node's answer to `getblockheader` for one hash. */
export type HeaderAnswer =
  | {
      readonly kind: 'known';
      readonly blockHash: BlockHash;
      readonly height: number;
      /** At least 1 on the node's branch; -1 off it, or not yet connected. */
      readonly confirmations: number;
      /** Height of the node's tip; null: not asked. */
      readonly tipHeight: number | null;
    }
  /** "Block not found": its own positive answer, not a fault. */
  | { readonly kind: 'unknown'; readonly tipHeight: number | null };

/** Asks one node. Throws when it cannot be asked. */
export type HeaderLookup = (blockHash: BlockHash) => Promise<HeaderAnswer>;

export interface ChainVerdict {
  /** `cannot-tell`: the node could not be asked, or has not come that far. A fault never counts as absence. */
  readonly kind: 'on-chain' | 'not-on-chain' | 'cannot-tell';
  /** One sentence. */
  readonly says: string;
  readonly confirmations: number | null;
}

/**
 * The last step, which only a node can take: is the header part of its chain, at the height that the record says? Call
 * it for a record that `verifyOccurrence` found ok. What is on chain now can still be reorganised away: ask for a
 * ChainLock before calling it final.
 */
export async function checkHeaderOnChain(
  { blockHash, height }: Pick<OccurrenceRecord, 'blockHash' | 'height'>,
  lookup: HeaderLookup,
): Promise<ChainVerdict> {
  let answer: HeaderAnswer;
  try {
    answer = await lookup(blockHash);
  } catch (error) {
    return verdict('cannot-tell', `The node could not be asked for header ${blockHash}: ${messageOf(error)}`);
  }
  const comeThatFar = answer.tipHeight !== null && answer.tipHeight >= height;
  if (answer.kind === 'unknown') {
    if (comeThatFar) return verdict('not-on-chain', `The node has no header ${blockHash}.`);
    return verdict('cannot-tell', `The node has no header ${blockHash}, and may not have come to height ${height}.`);
  }
  if (answer.blockHash !== blockHash) {
    return verdict('cannot-tell', `Asked for header ${blockHash}, the node answered about ${answer.blockHash}.`);
  }
  if (answer.confirmations < 1) {
    if (comeThatFar) return verdict('not-on-chain', `The node knows header ${blockHash}, and it is not on its chain.`);
    return verdict('cannot-tell', `The node knows header ${blockHash}, and may not have connected it yet.`);
  }
  if (answer.height !== height) {
    const says = `Header ${blockHash} is on chain at height ${answer.height}, the record says ${height}.`;
    return verdict('not-on-chain', says, answer.confirmations);
  }
  const says = `Header ${blockHash} is on chain at height ${height}, by this node, with ${answer.confirmations} confirmations.`;
  return verdict('on-chain', says, answer.confirmations);
}

function verdict(kind: ChainVerdict['kind'], says: string, confirmations: number | null = null): ChainVerdict {
  return { kind, says, confirmations };
}
