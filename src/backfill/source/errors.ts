import { HoldfastError } from '../../core/blob/errors.ts';

export type SourceErrorCode =
  /** `--source` does not say what a source is. */
  | 'source/bad-syntax'
  | 'source/unreachable'
  | 'source/timeout'
  /** The source refuses access. */
  | 'source/denied'
  /** The source reports that it cannot answer now. */
  | 'source/busy'
  /** The answer is not one that such a source gives. */
  | 'source/bad-answer'
  | 'source/unreadable';

export class SourceError extends HoldfastError<SourceErrorCode> {}
