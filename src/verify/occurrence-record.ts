import { encodeHex } from '../core/blob/hex.ts';
import type { BlockHash, ContentName, HashType, TxId, VersionHash } from '../core/blob/ids.ts';
import type { Block } from './block.ts';
import type { Occurrence } from './block-occurrences.ts';
import { buildMerkleProof } from './build-merkle-proof.ts';
import { VerifyError } from './errors.ts';

/** The form of the record; a reader refuses any other. */
export const OCCURRENCE_RECORD_VERSION = 1;

/** Shows a stranger, offline, that a transaction under a header commits to content. The order here is that of the file. */
export interface OccurrenceRecord extends ContentName {
  readonly version: typeof OCCURRENCE_RECORD_VERSION;
  readonly hashType: HashType;
  readonly versionHash: VersionHash;
  /** Size of the content in bytes. */
  readonly size: number;
  readonly txid: TxId;
  readonly vout: number;
  /** Height of the block. No proof covers it offline: no header holds its height. */
  readonly height: number;
  readonly blockHash: BlockHash;
  /** Hex of the 80 bytes and, where the block is merge-mined, of the merge-mining data as they are in the block. */
  readonly header: string;
  /** Hex, with witnesses. */
  readonly transaction: string;
  /** Hex, as `gettxoutproof` gives it. */
  readonly merkleProof: string;
}

export interface OccurrenceFacts {
  /** Size of the content in bytes, which the chain does not hold. */
  readonly size: number;
  readonly height: number;
}

/**
 * From the block alone, which costs the node nothing. Two archivers that walked the same block make the same record.
 * @throws VerifyError when the block does not hash to its own header, or has no such transaction.
 */
export function makeOccurrenceRecord(
  block: Block,
  { hashType, versionHash, txid, vout }: Omit<Occurrence, 'transactionIndex'>,
  { size, height }: OccurrenceFacts,
): OccurrenceRecord {
  const merkleProof = buildMerkleProof(block, [txid]);
  const transaction = block.transactions.find((candidate) => candidate.txid === txid);
  if (transaction === undefined) {
    throw new VerifyError('verify/not-in-block', `Block ${block.header.hash} has no transaction ${txid}.`);
  }
  return {
    version: OCCURRENCE_RECORD_VERSION,
    hashType,
    versionHash,
    size,
    txid,
    vout,
    height,
    blockHash: block.header.hash,
    header: encodeHex(block.fullHeader.raw),
    transaction: encodeHex(transaction.raw),
    merkleProof: encodeHex(merkleProof),
  };
}

/** The bytes of the file, as text: keys in a fixed order, two spaces, a newline at the end. */
export function encodeOccurrenceRecord(record: OccurrenceRecord): string {
  const { version, hashType, versionHash, size, txid, vout, height, blockHash, header, transaction, merkleProof } =
    record;
  const ordered = {
    version,
    hashType,
    versionHash,
    size,
    txid,
    vout,
    height,
    blockHash,
    header,
    transaction,
    merkleProof,
  };
  return `${JSON.stringify(ordered, null, 2)}\n`;
}

/** Path of a record on a backend with names. The prefix up to the version hash lists all records of one content. */
export function occurrenceKey({
  hashType,
  versionHash,
  height,
  txid,
  vout,
}: ContentName & Pick<OccurrenceRecord, 'height' | 'txid' | 'vout'>): string {
  return `${occurrencePrefix({ hashType, versionHash })}${height}-${txid}-${vout}.json`;
}

/** `occurrences/<hash type>/<version hash>/` */
export function occurrencePrefix({ hashType, versionHash }: ContentName): string {
  return `occurrences/${hashType}/${versionHash}/`;
}
