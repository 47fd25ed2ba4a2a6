import type { TxId } from '../../core/blob/ids.ts';
import { MAX_BLOBS_PER_BLOCK } from '../../core/blob/limits.ts';
import type { Transaction } from './transaction.ts';

/** Selection of the waiting transactions that a block takes, as far as they fit. */
export type Selection =
  | { readonly kind: 'all' }
  | { readonly kind: 'only'; readonly txids: readonly string[] }
  | { readonly kind: 'except'; readonly txids: readonly string[] };

/** Transactions that wait for a block, parents before children. */
export class Mempool {
  #waiting = new Map<string, Transaction>();

  get size(): number {
    return this.#waiting.size;
  }

  has(txid: TxId): boolean {
    return this.#waiting.has(txid);
  }

  get(txid: string): Transaction | null {
    return this.#waiting.get(txid) ?? null;
  }

  values(): IterableIterator<Transaction> {
    return this.#waiting.values();
  }

  add(transaction: Transaction): void {
    this.#waiting.set(transaction.txid, transaction);
  }

  /** Adds transactions of disconnected blocks in front of the later ones. */
  addFirst(transactions: readonly Transaction[]): void {
    const rest = this.#waiting;
    this.#waiting = new Map(transactions.map((transaction) => [transaction.txid, transaction]));
    for (const [txid, transaction] of rest) this.#waiting.set(txid, transaction);
  }

  remove(txid: TxId): void {
    this.#waiting.delete(txid);
  }

  /** The transaction and all its descendants, the last one first. */
  withDescendants(txid: TxId): Transaction[] {
    const family = new Set<TxId>([txid]);
    const found: Transaction[] = [];
    for (const transaction of this.#waiting.values()) {
      const spendsFamily = transaction.inputs.some(({ previous }) => previous !== null && family.has(previous.txid));
      if (transaction.txid !== txid && !spendsFamily) continue;
      family.add(transaction.txid);
      found.unshift(transaction);
    }
    return found;
  }

  /** Selects the transactions of the next block: in order, at most 32 blobs, never a child without its parent. */
  select(selection: Selection): Transaction[] {
    const left = new Set<TxId>();
    const chosen: Transaction[] = [];
    let blobs = 0;
    for (const transaction of this.#waiting.values()) {
      const orphan = transaction.inputs.some(({ previous }) => previous !== null && left.has(previous.txid));
      const unwanted = !wants(selection, transaction.txid);
      const full = transaction.content !== null && blobs === MAX_BLOBS_PER_BLOCK;
      if (orphan || unwanted || full) {
        left.add(transaction.txid);
        continue;
      }
      if (transaction.content !== null) blobs += 1;
      chosen.push(transaction);
    }
    return chosen;
  }
}

function wants(selection: Selection, txid: string): boolean {
  switch (selection.kind) {
    case 'all':
      return true;
    case 'only':
      return selection.txids.includes(txid);
    case 'except':
      return !selection.txids.includes(txid);
    default:
      return selection satisfies never;
  }
}
