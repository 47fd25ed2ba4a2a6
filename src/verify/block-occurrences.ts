import type { ContentName, TxId } from '../core/blob/ids.ts';
import type { Block } from './block.ts';
import { BLOB_TRANSACTION_VERSION, type Carried, carriedBy } from './commitment.ts';

/** One output in a block that commits to content. */
export interface Occurrence extends ContentName {
  readonly txid: TxId;
  readonly vout: number;
  /** Index of its transaction in the block. */
  readonly transactionIndex: number;
}

/** A transaction of version 137 of which it is not plain what it carries. */
export interface UnclearTransaction {
  readonly txid: TxId;
  readonly transactionIndex: number;
  readonly carried: Extract<Carried, { kind: 'unclear' }>;
}

export interface BlockOccurrences {
  readonly occurrences: readonly Occurrence[];
  /** To be told. The one output of them that the node takes is in `occurrences` too: its bytes are at the node. */
  readonly unclear: readonly UnclearTransaction[];
}

/**
 * Every transaction of version 137, in the order of the block. Only these are taken apart. Says nothing about the
 * header: call `block.merkleTree()` first, or the bytes may be anybody's.
 * @throws VerifyError
 */
export function occurrencesOf(block: Block): BlockOccurrences {
  const occurrences: Occurrence[] = [];
  const unclear: UnclearTransaction[] = [];
  for (const [transactionIndex, transaction] of block.transactions.entries()) {
    if (transaction.version !== BLOB_TRANSACTION_VERSION) continue;
    const carried = carriedBy(transaction);
    const { txid } = transaction;
    const taken = carried.kind === 'one' ? carried.commitment : carried.nodeTakes;
    if (taken !== null) occurrences.push({ ...taken, txid, transactionIndex });
    if (carried.kind === 'unclear') unclear.push({ txid, transactionIndex, carried });
  }
  return { occurrences, unclear };
}
