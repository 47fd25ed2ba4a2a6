import { HoldfastError } from '../core/blob/errors.ts';

export type ReaderErrorCode =
  /** Not every source said that it has not got it: nothing is known to be absent. */
  | 'reader/unavailable'
  /** At least one archive says that it is on chain and lost; no source has it. */
  | 'reader/lost'
  /** The operator of at least one archive withholds the blob; no other source has it. */
  | 'reader/withheld'
  | 'reader/no-source'
  | 'reader/bad-source';

/** What one source came to. */
export type SourceOutcome =
  | 'absent'
  | 'lost'
  | 'withheld'
  /** It gave bytes or records that are not what was asked for. */
  | 'lied'
  /** It cannot tell now, failed, was too slow, or was not understood. */
  | 'no-answer';

export interface SourceAnswer {
  /** Name of the source: its address without credentials. */
  readonly source: string;
  readonly outcome: SourceOutcome;
  /** One sentence. */
  readonly says: string;
}

/** Names who answered what; on abort the signal's own reason is thrown instead. */
export class ReaderError extends HoldfastError<ReaderErrorCode> {
  readonly answers: readonly SourceAnswer[];

  constructor(code: ReaderErrorCode, message: string, answers: readonly SourceAnswer[], hint: string) {
    super(code, message, { details: { answers }, retryable: code === 'reader/unavailable', hint });
    this.answers = answers;
  }
}
