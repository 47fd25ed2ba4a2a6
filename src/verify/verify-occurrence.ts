import { HoldfastError } from '../core/blob/errors.ts';
import { encodeHex } from '../core/blob/hex.ts';
import { parseHeader } from './block-header.ts';
import { checkMerkleProof } from './check-merkle-proof.ts';
import { BLOB_TRANSACTION_VERSION, carriedBy } from './commitment.ts';
import { sameBytes } from './hash-bytes.ts';
import { type BlobHasher, hashWith, nobleHasher } from './hasher.ts';
import { bytesOfHex } from './hex-field.ts';
import type { OccurrenceRecord } from './occurrence-record.ts';
import { parseTransaction } from './transaction.ts';
import type { VerifiedBlob } from './verified-blob.ts';

/** In this order: bytes → version hash → output script → transaction id → Merkle root → header. */
export type ProofStep = 'bytes' | 'output' | 'transaction' | 'merkle' | 'header';

export interface StepOutcome {
  readonly step: ProofStep;
  readonly ok: boolean;
  /** One sentence: what holds, or what does not. */
  readonly says: string;
}

/** Offline verdict. It never says that a blob is on chain: no header shows that. */
export interface OccurrenceVerdict {
  readonly ok: boolean;
  readonly steps: readonly StepOutcome[];
  /** One sentence about the whole: `Included in header …`, or the first step that failed. */
  readonly says: string;
}

export interface VerifyEngines {
  readonly hasher?: BlobHasher;
}

/** Every step is tried, so that one look shows all that is wrong. Throws nothing on any record that was decoded. */
export function verifyOccurrence(
  bytes: Uint8Array,
  record: OccurrenceRecord,
  { hasher = nobleHasher }: VerifyEngines = {},
): OccurrenceVerdict {
  return verdictOf(record, () => checkBytes(bytes, record, hasher));
}

/** The same for bytes that are proven already: nothing is hashed again, and a browser loads no hash function for it. */
export function verifyBlobOccurrence(blob: VerifiedBlob, record: OccurrenceRecord): OccurrenceVerdict {
  return verdictOf(record, () => checkName(blob, record));
}

function verdictOf(record: OccurrenceRecord, checkContent: () => string | Failure): OccurrenceVerdict {
  const steps: StepOutcome[] = [
    attempt('bytes', checkContent),
    attempt('output', () => checkOutput(record)),
    attempt('transaction', () => checkTransaction(record)),
    attempt('merkle', () => checkProof(record)),
    attempt('header', () => checkHeader(record)),
  ];
  const failed = steps.find(({ ok }) => !ok);
  const included = `Included in header ${record.blockHash} (by the record at height ${record.height}). Only a node can tell whether that header is part of its chain.`;
  return { ok: failed === undefined, steps, says: failed?.says ?? included };
}

/** A reason that it fails. */
class Failure {
  readonly says: string;

  constructor(says: string) {
    this.says = says;
  }
}

function attempt(step: ProofStep, check: () => string | Failure): StepOutcome {
  try {
    const outcome = check();
    return outcome instanceof Failure ? { step, ok: false, says: outcome.says } : { step, ok: true, says: outcome };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { step, ok: false, says: error.message };
  }
}

function checkBytes(bytes: Uint8Array, { hashType, versionHash, size }: OccurrenceRecord, hasher: BlobHasher) {
  if (bytes.length !== size) return new Failure(`The file has ${bytes.length} bytes, the record says ${size}.`);
  const found = encodeHex(hashWith(hasher, hashType, bytes));
  if (found !== versionHash) return new Failure(`The bytes hash (${hashType}) to ${found}, not to ${versionHash}.`);
  return `The ${size} bytes hash (${hashType}) to ${versionHash}.`;
}

function checkName(blob: VerifiedBlob, { hashType, versionHash, size }: OccurrenceRecord) {
  if (blob.bytes.length !== size)
    return new Failure(`The blob has ${blob.bytes.length} bytes, the record says ${size}.`);
  if (blob.hashType !== hashType || blob.versionHash !== versionHash) {
    return new Failure(
      `The blob is ${blob.hashType} ${blob.versionHash}, the record is of ${hashType} ${versionHash}.`,
    );
  }
  return `The ${size} bytes hash (${hashType}) to ${versionHash}.`;
}

/** The node checks the bytes against one output of a transaction; a commitment in another one is an unchecked claim. */
function checkOutput({ transaction: hex, hashType, versionHash, vout }: OccurrenceRecord) {
  const transaction = parseTransaction(bytesOfHex(hex, 'The transaction'));
  if (transaction.version !== BLOB_TRANSACTION_VERSION) {
    return new Failure(`The transaction has version ${transaction.version}, not ${BLOB_TRANSACTION_VERSION}.`);
  }
  const carried = carriedBy(transaction);
  const taken = carried.kind === 'one' ? carried.commitment : carried.nodeTakes;
  if (taken === null) return new Failure('No output of the transaction is a commitment that a node would take.');
  if (taken.vout !== vout) return new Failure(`The node takes output ${taken.vout} for the commitment, not ${vout}.`);
  if (taken.hashType !== hashType || taken.versionHash !== versionHash) {
    return new Failure(`Output ${vout} commits to ${taken.hashType} ${taken.versionHash}.`);
  }
  return `Output ${vout} commits to ${hashType} ${versionHash}.`;
}

function checkTransaction({ transaction, txid }: OccurrenceRecord) {
  const found = parseTransaction(bytesOfHex(transaction, 'The transaction')).txid;
  if (found !== txid) return new Failure(`The transaction's id is ${found}, the record says ${txid}.`);
  return `The transaction's id is ${txid}.`;
}

function checkProof({ merkleProof, header, txid }: OccurrenceRecord) {
  const { proven, header: proofHeader } = checkMerkleProof(bytesOfHex(merkleProof, 'The Merkle proof'));
  if (!sameBytes(proofHeader.raw, parseHeader(bytesOfHex(header, 'The header')).header.raw)) {
    return new Failure(`The Merkle proof is of another header: ${proofHeader.hash}.`);
  }
  const [only, ...others] = proven;
  if (only === undefined || others.length > 0 || only.txid !== txid) {
    return new Failure(`The Merkle proof is of ${proven.map((one) => one.txid).join(', ')}, not of ${txid}.`);
  }
  return `The Merkle proof leads from it, number ${only.transactionIndex + 1} in its block, to the root in the header.`;
}

function checkHeader({ header, blockHash }: OccurrenceRecord) {
  const found = parseHeader(bytesOfHex(header, 'The header')).header.hash;
  if (found !== blockHash) return new Failure(`The header hashes to ${found}, the record says ${blockHash}.`);
  return `The header hashes to ${blockHash}.`;
}
