import { HoldfastError } from './blob/errors.ts';

export type ArchiveErrorCode =
  | 'archive/bad-cursor'
  | 'archive/wrong-bytes'
  | 'archive/absent-at-node'
  | 'archive/other-chain'
  | 'archive/no-good-copy'
  | 'archive/not-kept'
  | 'archive/not-withheld'
  | 'archive/no-room-for-unmined'
  /** The local disk refuses this one blob, and no backend takes it. */
  | 'archive/no-place'
  /** The walk of the chain has not come where it is needed. */
  | 'archive/not-walked'
  | 'archive/beyond-tip'
  | 'archive/bad-range'
  /** A count of what is to be signed cannot be told now. */
  | 'archive/cannot-attest';

export class ArchiveError extends HoldfastError<ArchiveErrorCode> {}

/** There is no place for this one blob now; others have one. It is left for later, and not waited for. */
export function isForLater(error: unknown): error is ArchiveError {
  return (
    error instanceof ArchiveError && (error.code === 'archive/no-room-for-unmined' || error.code === 'archive/no-place')
  );
}
