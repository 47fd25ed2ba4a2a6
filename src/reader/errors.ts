import { HoldfastError } from '../core/blob/errors.ts';

export type ReaderErrorCode =
  /** Some source failed, so the blob may exist: absence is not proved. */
  | 'reader/unavailable'
  /** At least one archive says that the blob is on chain and lost, and no source has it. */
  | 'reader/lost'
  /** The operator of at least one archive withholds the blob, and no other source has it. */
  | 'reader/withheld'
  /** At least one archive leaves the blob out by a rule of its operator, and no other source has it. */
  | 'reader/not-archived-by-rule'
  | 'reader/no-source'
  | 'reader/bad-source';

/** Outcome of asking one source. */
export type SourceOutcome =
  | 'absent'
  | 'lost'
  | 'withheld'
  | 'not-archived-by-rule'
  /** The source gave bytes or records that fail verification. */
  | 'lied'
  /** The source failed, was too slow, sent something unintelligible, or cannot tell now. */
  | 'no-answer';

export interface SourceAnswer {
  /** Name of the source: its address without credentials. */
  readonly source: string;
  readonly outcome: SourceOutcome;
  /** One sentence of explanation. */
  readonly says: string;
}

/**
 * Thrown when no source gives the result; `answers` names the outcome of each source. An abort throws the signal's
 * reason instead.
 */
export class ReaderError extends HoldfastError<ReaderErrorCode> {
  readonly answers: readonly SourceAnswer[];

  constructor(code: ReaderErrorCode, message: string, answers: readonly SourceAnswer[], hint: string) {
    super(code, message, { details: { answers }, retryable: code === 'reader/unavailable', hint });
    this.answers = answers;
  }
}
