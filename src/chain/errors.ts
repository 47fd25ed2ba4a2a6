import { HoldfastError } from '../core/blob/errors.ts';

export type ChainErrorCode =
  /** The node gave another block than the one that was asked for. */
  | 'chain/wrong-block'
  /** It does not parse, or its transactions do not hash to its Merkle root. */
  | 'chain/bad-block'
  /** The node went over to another branch while it was compared with ours. */
  | 'chain/branch-moved'
  /** The node has thrown that block away. */
  | 'chain/pruned-block'
  /** The wanted start is above the tip, or was fixed to another height before. */
  | 'chain/start-height'
  /** `HOLDFAST_FINALITY` is neither `chainlock` nor `depth:<n>`. */
  | 'chain/bad-finality';

export class ChainError extends HoldfastError<ChainErrorCode> {}

/** `finality`: the walk is at the node's tip, and what is final there could not be asked. */
export interface WalkFailure {
  readonly at: 'walk' | 'finality';
  readonly message: string;
}
