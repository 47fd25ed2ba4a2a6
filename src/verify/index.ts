/** `holdfast/verify`: checks only, for anybody, offline; no Node-only imports. */
export { type ErrorFacts, HoldfastError } from '../core/blob/errors.ts';
export {
  type BlockHash,
  type ContentName,
  HASH_TYPES,
  type HashType,
  type NamedHash,
  parseBlockHash,
  parseNamedHash,
  parseTxId,
  parseVersionHash,
  type TxId,
  type VersionHash,
} from '../core/blob/ids.ts';
export {
  type Attestation,
  type AttestationStatement,
  type AttestationStep,
  canonicalJson,
  checkAttestation,
  type Equivocation,
  type EquivocationKind,
  equivocationOf,
  keysOf,
  looksLikeAttestation,
  parseAttestation,
} from './attestation.ts';
export { Block, parseBlock, parseBlockHex } from './block.ts';
export {
  type BlockHeader,
  type FullHeader,
  HEADER_BYTES,
  isMergeMined,
  parseHeader,
  parseHeaderHex,
} from './block-header.ts';
export { type BlockOccurrences, type Occurrence, occurrencesOf, type UnclearTransaction } from './block-occurrences.ts';
export { buildMerkleProof } from './build-merkle-proof.ts';
export { CHAIN_NAMES, CHAIN_PROFILES, type ChainName, type ChainProfile } from './chain-profile.ts';
export {
  type ChainVerdict,
  checkHeaderOnChain,
  type HeaderAnswer,
  type HeaderLookup,
} from './check-header-on-chain.ts';
export { checkMergeMining, expectedIndex } from './check-merge-mining.ts';
export { type CheckedMerkleProof, checkMerkleProof, MAX_BLOCK_TRANSACTIONS } from './check-merkle-proof.ts';
export { BLOB_TRANSACTION_VERSION, type Carried, type Commitment, carriedBy, committedIn } from './commitment.ts';
export { log2Of, targetOf, workOf } from './compact-target.ts';
export { decodeOccurrenceRecord, parseOccurrenceRecord } from './decode-occurrence-record.ts';
export { doubleSha256 } from './double-sha256.ts';
export { VerifyError, type VerifyErrorCode } from './errors.ts';
export { type BlobHasher, hashWith, nobleHasher } from './hasher.ts';
export {
  type Checkpoint,
  checkHeaderRun,
  type HeaderRun,
  type HeaderRunRules,
  parseCheckpoint,
  parseHeaderLines,
  type RunPlace,
} from './header-run.ts';
export { checkHeaderWork, workInWords } from './header-work.ts';
export { heldShareAtLeast, shareInWords } from './held-share.ts';
export type { Holding, HoldingCounts } from './inventory.ts';
export type { MergeMining } from './merge-mining.ts';
export type { MerkleTree } from './merkle-tree.ts';
export {
  encodeOccurrenceRecord,
  makeOccurrenceRecord,
  OCCURRENCE_RECORD_VERSION,
  type OccurrenceFacts,
  type OccurrenceRecord,
  occurrenceKey,
  occurrencePrefix,
} from './occurrence-record.ts';
export {
  judgeRun,
  judgeWork,
  PROOF_LEVELS,
  type ProofDemand,
  type ProofLevel,
  type ProofVerdict,
  type RunVerdict,
  reachedLevel,
  reachesLevel,
  verifyProof,
  type WorkVerdict,
} from './proof-level.ts';
export {
  checkReceipt,
  looksLikeReceipt,
  parseReceipt,
  type Receipt,
  type ReceiptContradiction,
  type ReceiptStatement,
  type ReceiptStep,
  receiptContradictionOf,
} from './receipt.ts';
export {
  MAX_SUCCESSIONS,
  type Signed,
  type SignedByKey,
  type Succession,
  type SuccessionStatement,
} from './signed-statement.ts';
export { parseTransaction, type SpentOutput, type Transaction, type TransactionOutput } from './transaction.ts';
export { type UnverifiedBlob, VerifiedBlob, verifyBlob } from './verified-blob.ts';
export {
  type OccurrenceVerdict,
  type ProofStep,
  type StepOutcome,
  type VerifyEngines,
  verifyBlobOccurrence,
  verifyOccurrence,
} from './verify-occurrence.ts';
export { checkWitnesses } from './witness-commitment.ts';
