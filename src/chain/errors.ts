import { HoldfastError } from '../core/blob/errors.ts';

export type ChainErrorCode =
  /** The node gave another block than requested. */
  | 'chain/wrong-block'
  /** The block is malformed, or its transactions do not hash to its Merkle root. */
  | 'chain/bad-block'
  /** The node changed its branch during a comparison. */
  | 'chain/branch-moved'
  /** The node has pruned the block. */
  | 'chain/pruned-block'
  /** The configured start is above the tip, or differs from the recorded one. */
  | 'chain/start-height'
  /** `HOLDFAST_FINALITY` is neither `chainlock` nor `depth:<n>`. */
  | 'chain/bad-finality';

export class ChainError extends HoldfastError<ChainErrorCode> {}

/** `finality`: the follower is at the node's tip, but could not ask what is final. */
export interface WalkFailure {
  readonly at: 'walk' | 'finality';
  readonly message: string;
}
