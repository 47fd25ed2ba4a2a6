import { type ErrorFacts, HoldfastError } from '../blob/errors.ts';

export type VerifyErrorCode =
  /** The bytes end inside something. */
  | 'verify/truncated'
  /** The bytes go on after the end of what they hold. */
  | 'verify/trailing-bytes'
  /** A count says more than the bytes that are left could hold. Nothing was allocated for it. */
  | 'verify/absurd-count'
  /** Not in the form that the chain's format or the record's format requires. */
  | 'verify/malformed'
  /** The transactions of a block do not hash to the Merkle root in its header. */
  | 'verify/merkle-root'
  /** Witnesses that the coinbase does not commit to: changed on their way. */
  | 'verify/witness-commitment'
  /** Two equal neighbours in the Merkle tree: transactions were repeated, the root stays the same (CVE-2012-2459). */
  | 'verify/duplicate-transactions'
  /** A Merkle proof that proves nothing. */
  | 'verify/merkle-proof'
  /** The block has no such transaction, or the transaction no such output. */
  | 'verify/not-in-block'
  /** A text or value that is no occurrence record. */
  | 'verify/record';

const HINTS: Readonly<Record<VerifyErrorCode, string>> = {
  'verify/truncated': 'Fetch it again, from another node or archive if it stays so.',
  'verify/trailing-bytes': 'Fetch it again, from another node or archive if it stays so.',
  'verify/absurd-count': 'This is damaged, or no such thing at all; fetch it again, from elsewhere if it stays so.',
  'verify/malformed': 'This is damaged, or no such thing at all; fetch it again, from elsewhere if it stays so.',
  'verify/merkle-root': 'The block is damaged or forged; fetch it again, from another node if it stays so.',
  'verify/witness-commitment': 'The block was changed on its way; fetch it again, from another node if it stays so.',
  'verify/duplicate-transactions': 'The block is forged; fetch it again, from another node if it stays so.',
  'verify/merkle-proof': 'The proof is damaged or forged; ask another archive for its record.',
  'verify/not-in-block': 'Name a transaction of this block, and an output of it that carries a version hash.',
  'verify/record': 'Give a record as `/v1/blobs/{version hash}/proof` gives it, one object.',
};

/** What the checks throw, all of them: bytes and texts from outside that are not what they must be. */
export class VerifyError extends HoldfastError<VerifyErrorCode> {
  constructor(code: VerifyErrorCode, message: string, facts: Partial<ErrorFacts> = {}) {
    super(code, message, { retryable: false, hint: HINTS[code], ...facts });
  }
}
