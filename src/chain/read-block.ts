import type { WalkedBlock, WalkedOccurrence } from '../catalog/walked-block.ts';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import { type Block, parseBlock } from '../verify/block.ts';
import { type Occurrence, occurrencesOf } from '../verify/block-occurrences.ts';
import { makeOccurrenceRecord } from '../verify/occurrence-record.ts';
import { checkWitnesses } from '../verify/witness-commitment.ts';
import { ChainError } from './errors.ts';

/** Stands in a record for the size of content that is not known here; replaced before anybody sees it. */
export const UNKNOWN_SIZE = 1;

/** A block that is what its hash says, without the median time, which needs the blocks before it. */
export type ProvenBlock = Omit<WalkedBlock, 'medianTimeSeconds'>;

/**
 * Parses and proves one raw block: its header hashes to the name that was asked for, its transactions to the header's
 * Merkle root, and what is recorded of witnesses to the commitment in its coinbase. Only then is it known what is on it.
 * @throws ChainError `chain/wrong-block`, `chain/bad-block`
 */
export function readBlock(bytes: Uint8Array, hash: BlockHash, height: number): ProvenBlock {
  const { block, occurrences, unclear } = provenBlock(bytes, hash, height);
  return {
    height,
    hash,
    previousHash: block.header.previousHash,
    timeSeconds: block.header.timeSeconds,
    occurrences: occurrences.map((occurrence) => walked(block, occurrence, height)),
    unclear: unclear.map(({ transactionIndex, txid, carried }) => ({
      transactionIndex,
      txid,
      candidates: carried.candidates.length,
    })),
  };
}

/**
 * Is it that block, by the same proof? For whoever can ask somebody else.
 * @throws ChainError `chain/wrong-block`, `chain/bad-block`
 */
export function assertBlock(bytes: Uint8Array, hash: BlockHash): void {
  provenBlock(bytes, hash, null);
}

/** `height`: for what is said of it, where it is known. */
function provenBlock(bytes: Uint8Array, hash: BlockHash, height: number | null) {
  try {
    const block = parseBlock(bytes);
    if (block.header.hash !== hash) throw wrongBlock(hash, block.header.hash, height);
    block.merkleTree();
    const found = occurrencesOf(block);
    const isSigned = found.occurrences.some((one) => block.transactions[one.transactionIndex]?.hasWitness === true);
    if (isSigned) checkWitnesses(block);
    return { block, ...found };
  } catch (cause) {
    if (cause instanceof ChainError || !(cause instanceof HoldfastError)) throw cause;
    throw new ChainError('chain/bad-block', `Block ${named(hash, height)} cannot be used: ${messageOf(cause)}`, {
      details: { height, hash, code: cause.code },
      retryable: true,
      hint: 'It is asked for again, of another node where there is one. Nothing behind it counts as examined meanwhile.',
      cause,
    });
  }
}

function named(hash: BlockHash, height: number | null): string {
  return height === null ? hash : `${height} (${hash})`;
}

function walked(block: Block, occurrence: Occurrence, height: number): WalkedOccurrence {
  return {
    ...occurrence,
    makeRecord: () => JSON.stringify(makeOccurrenceRecord(block, occurrence, { size: UNKNOWN_SIZE, height })),
  };
}

function wrongBlock(asked: BlockHash, given: BlockHash, height: number | null): ChainError {
  return new ChainError('chain/wrong-block', `Asked for block ${named(asked, height)}, the node gave ${given}.`, {
    details: { height, asked, given },
    retryable: true,
    hint: 'It is asked for again, of another node where there is one. Look at the node and at what is between.',
  });
}
