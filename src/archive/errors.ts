import { HoldfastError } from '../blob/errors.ts';

export type ArchiveErrorCode =
  | 'archive/bad-cursor'
  | 'archive/wrong-bytes'
  | 'archive/absent-at-node'
  | 'archive/other-chain'
  | 'archive/no-good-copy'
  | 'archive/not-kept'
  | 'archive/no-room-for-unmined';

export class ArchiveError extends HoldfastError<ArchiveErrorCode> {}
