import type { WalkedBlock, WalkedOccurrence } from '../catalog/walked-block.ts';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import { encodeHex } from '../core/blob/hex.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { SpentScript } from '../node/chain-node.ts';
import { type Block, parseBlock } from '../verify/block.ts';
import { type Occurrence, occurrencesOf } from '../verify/block-occurrences.ts';
import { makeOccurrenceRecord } from '../verify/occurrence-record.ts';
import { checkWitnesses } from '../verify/witness-commitment.ts';
import { ChainError } from './errors.ts';

/** Placeholder for an unknown content size in a record, replaced before the record leaves the archive. */
export const UNKNOWN_SIZE = 1;

/** A verified block without its median time, which needs the blocks before it. */
export interface ProvenBlock extends Omit<WalkedBlock, 'medianTimeSeconds'> {
  /** The outputs that the inputs of one of its transactions spend. */
  readonly spentBy: (transactionIndex: number) => readonly SpentScript[];
}

/**
 * Parses and verifies a raw block: the header hashes to the requested name, the transactions to the header's Merkle
 * root, and recorded witnesses to the commitment in the coinbase.
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
    spentBy: (transactionIndex) => spentIn(block, transactionIndex),
  };
}

/** The scripts of outputs that an earlier transaction of the same block made; the block has no others. */
function spentIn({ transactions }: Block, transactionIndex: number): readonly SpentScript[] {
  const spent = transactions[transactionIndex]?.spentOutputs() ?? [];
  const wanted = new Set(spent.map(({ txid }) => txid));
  const made = new Map(transactions.filter(({ txid }) => wanted.has(txid)).map((one) => [one.txid, one]));
  return spent.map(({ txid, vout }) => {
    const output = made.get(txid)?.outputs()[vout];
    return { txid, vout, script: output === undefined ? null : encodeHex(output.script) };
  });
}

/**
 * Verifies that the bytes are this block, for callers that can ask another node.
 * @throws ChainError `chain/wrong-block`, `chain/bad-block`
 */
export function assertBlock(bytes: Uint8Array, hash: BlockHash): void {
  provenBlock(bytes, hash, null);
}

/** @param height for error messages; null when unknown */
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
