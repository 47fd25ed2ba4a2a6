import type { ChainIndex } from '../../catalog/chain-index.ts';
import { HASH_TYPES, type TxId, type VersionHash } from '../../core/blob/ids.ts';
import type { NodeLists } from '../../ingest/node-lists.ts';
import type { Poller } from '../../ingest/poller.ts';

/** The lists of the nodes, by transaction. */
export class TransactionLists {
  readonly #poller: Pick<Poller, 'isTransactionListed' | 'listedUnnamed' | 'readAgain'>;
  readonly #lists: Pick<NodeLists, 'isOfSeveral' | 'read'>;
  readonly #chain: Pick<ChainIndex, 'firstHeight'>;

  constructor(
    poller: Pick<Poller, 'isTransactionListed' | 'listedUnnamed' | 'readAgain'>,
    lists: Pick<NodeLists, 'isOfSeveral' | 'read'>,
    chain: Pick<ChainIndex, 'firstHeight'>,
  ) {
    this.#poller = poller;
    this.#lists = lists;
    this.#chain = chain;
  }

  /**
   * Another node than the followed one may have a block that is not walked yet. `isAnyUnnamed`: a list has content that no
   * walked block has, and does not name its transaction, which can be any.
   */
  async of(txid: TxId, isListRead: boolean, signal: AbortSignal) {
    if (this.#lists.isOfSeveral) {
      const { byHash, transactions, silent } = await this.#lists.read();
      const unnamed = byHash.values().flatMap((entry) => (entry.txid === null ? [entry.versionHash] : []));
      return { isListed: transactions.has(txid), isAnyUnnamed: unnamed.some((hash) => this.#isUnmined(hash)), silent };
    }
    const isRead = isListRead || (await this.#poller.readAgain(signal));
    return {
      isListed: this.#poller.isTransactionListed(txid),
      isAnyUnnamed: this.#poller.listedUnnamed.values().some((hash) => this.#isUnmined(hash)),
      silent: isRead ? [] : ['The node'],
    };
  }

  #isUnmined(versionHash: VersionHash): boolean {
    return HASH_TYPES.every((hashType) => this.#chain.firstHeight({ hashType, versionHash }) === null);
  }
}
