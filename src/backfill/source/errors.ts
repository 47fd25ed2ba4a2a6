import { HoldfastError } from '../../core/blob/errors.ts';

export type SourceErrorCode =
  /** `--source` does not say what a source is. */
  | 'source/bad-syntax'
  | 'source/unreachable'
  | 'source/timeout'
  /** It does not let us in. */
  | 'source/denied'
  /** It says that it cannot answer now. */
  | 'source/busy'
  /** What it answered is nothing that such a source answers. */
  | 'source/bad-answer'
  | 'source/unreadable';

export class SourceError extends HoldfastError<SourceErrorCode> {}
