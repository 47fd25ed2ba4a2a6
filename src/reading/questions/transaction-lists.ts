import type { TxId } from '../../core/blob/ids.ts';
import type { NodeLists } from '../../ingest/node-lists.ts';
import type { Poller } from '../../ingest/poller.ts';

/** The lists of the nodes, by transaction. */
export class TransactionLists {
  readonly #poller: Pick<Poller, 'isTransactionListed' | 'readAgain'>;
  readonly #lists: Pick<NodeLists, 'isOfSeveral' | 'read'>;

  constructor(
    poller: Pick<Poller, 'isTransactionListed' | 'readAgain'>,
    lists: Pick<NodeLists, 'isOfSeveral' | 'read'>,
  ) {
    this.#poller = poller;
    this.#lists = lists;
  }

  /** Another node than the followed one may have a block that is not walked yet. */
  async of(txid: TxId, isListRead: boolean, signal: AbortSignal) {
    if (this.#lists.isOfSeveral) {
      const { transactions, silent } = await this.#lists.read();
      return { isListed: transactions.has(txid), silent };
    }
    const isRead = isListRead || (await this.#poller.readAgain(signal));
    return { isListed: this.#poller.isTransactionListed(txid), silent: isRead ? [] : ['The node'] };
  }
}
