import { type ErrorFacts, HoldfastError } from '../core/blob/errors.ts';

export type VerifyErrorCode =
  /** The bytes end inside something. */
  | 'verify/truncated'
  /** The bytes go on after the end of what they hold. */
  | 'verify/trailing-bytes'
  /** A count says more than the bytes that are left could hold. Nothing was allocated for it. */
  | 'verify/absurd-count'
  /** The bytes violate the chain's format, or the text the record's. */
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
  | 'verify/record'
  /** A text that is no attestation. */
  | 'verify/attestation'
  /** A text that is no receipt. */
  | 'verify/receipt'
  /** The target in a header's bits is none that a header can have. */
  | 'verify/target-negative'
  | 'verify/target-overflow'
  | 'verify/target-zero'
  /** The target is easier than the rules of the chain allow. */
  | 'verify/target-too-easy'
  /** The header, or the parent of a merge-mined one, has a hash above the target. */
  | 'verify/work-insufficient'
  /** A header whose work holds costs less than was asked for. */
  | 'verify/work-too-little'
  /** A header has enough work, and nothing says that the work was done for this chain. */
  | 'verify/work-unbound'
  /** A merge-mined header without the data that show its work. */
  | 'verify/merge-mining-missing'
  /** A merge-mined header of another chain. */
  | 'verify/chain-id'
  /** The parent of a merge-mined header is a block of the same chain. */
  | 'verify/parent-chain-id'
  | 'verify/chain-branch-too-long'
  | 'verify/coinbase-branch-too-long'
  /** The transaction that commits to the header is not the first of the parent block. */
  | 'verify/coinbase-index'
  /** The coinbase is not in the parent block. */
  | 'verify/coinbase-branch'
  | 'verify/coinbase-input'
  /** The coinbase does not contain the root that the chain branch leads to. */
  | 'verify/chain-root-missing'
  /** The coinbase has no mark of merge-mining, several, or one elsewhere than just before the root. */
  | 'verify/commitment-missing'
  | 'verify/commitment-repeated'
  | 'verify/commitment-misplaced'
  /** Size and nonce behind the root are cut off. */
  | 'verify/commitment-truncated'
  /** The coinbase tells of another number of chains than the chain branch is deep. */
  | 'verify/chain-tree-size'
  /** The header stands at another place among the chains than its chain has. */
  | 'verify/chain-index'
  /** A text that is no run of headers. */
  | 'verify/header-run'
  /** A header of a run does not name the one before it. */
  | 'verify/header-link'
  /** A run of headers does not begin at the checkpoint. */
  | 'verify/checkpoint';

const FORGED_HEADER = 'The header is damaged or forged; ask another archive for its record, or a node for the header.';
const OTHER_CHAIN = 'If the header is of another chain, name that chain; else it is forged: ask another archive.';

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
  'verify/attestation': 'Give what `/v1/attestation` answers, as it came.',
  'verify/receipt': 'Give what `/v1/receipts/{version hash}` answers, as it came.',
  'verify/target-negative': FORGED_HEADER,
  'verify/target-overflow': FORGED_HEADER,
  'verify/target-zero': FORGED_HEADER,
  'verify/target-too-easy': OTHER_CHAIN,
  'verify/work-insufficient': FORGED_HEADER,
  'verify/work-too-little': OTHER_CHAIN,
  'verify/work-unbound': 'Give headers from a checkpoint on, or ask a node: they show whose header it is.',
  'verify/merge-mining-missing':
    'Give the header with its merge-mining data, as `getblockheader <hash> false` answers it.',
  'verify/chain-id': OTHER_CHAIN,
  'verify/parent-chain-id': FORGED_HEADER,
  'verify/chain-branch-too-long': FORGED_HEADER,
  'verify/coinbase-branch-too-long': FORGED_HEADER,
  'verify/coinbase-index': FORGED_HEADER,
  'verify/coinbase-branch': FORGED_HEADER,
  'verify/coinbase-input': FORGED_HEADER,
  'verify/chain-root-missing': FORGED_HEADER,
  'verify/commitment-missing': FORGED_HEADER,
  'verify/commitment-repeated': FORGED_HEADER,
  'verify/commitment-misplaced': FORGED_HEADER,
  'verify/commitment-truncated': FORGED_HEADER,
  'verify/chain-tree-size': FORGED_HEADER,
  'verify/chain-index': FORGED_HEADER,
  'verify/header-run': 'Give one header a line, in hex, as `getblockheader <hash> false` answers it.',
  'verify/header-link': 'Give every header from the checkpoint on, in the order of their heights, of one branch.',
  'verify/checkpoint': 'Begin the run at the checkpoint or at the header after it; name a checkpoint that you trust.',
};

/** The one error class of the checks, for bytes and texts that are not what they must be. */
export class VerifyError extends HoldfastError<VerifyErrorCode> {
  constructor(code: VerifyErrorCode, message: string, facts: Partial<ErrorFacts> = {}) {
    super(code, message, { retryable: false, hint: HINTS[code], ...facts });
  }
}
