import { HoldfastError } from '../blob/errors.ts';

export type ArchiveErrorCode =
  | 'archive/bad-cursor'
  | 'archive/wrong-bytes'
  | 'archive/absent-at-node'
  | 'archive/other-chain'
  | 'archive/no-good-copy'
  | 'archive/not-kept'
  | 'archive/not-withheld'
  | 'archive/no-room-for-unmined'
  /** The walk of the chain has not come where it is needed. */
  | 'archive/not-walked'
  | 'archive/beyond-tip'
  | 'archive/bad-range';

export class ArchiveError extends HoldfastError<ArchiveErrorCode> {}
