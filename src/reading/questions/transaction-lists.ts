import type { ChainIndex } from '../../catalog/chain-index.ts';
import { type BlockHash, HASH_TYPES, type TxId, type VersionHash } from '../../core/blob/ids.ts';
import type { AllListed, NodeLists } from '../../ingest/node-lists.ts';
import type { Poller } from '../../ingest/poller.ts';

type UnnamedList = ReadonlySet<VersionHash> | AllListed['byHash'];

/** The lists of the nodes, by transaction. */
export class TransactionLists {
  readonly #poller: Pick<Poller, 'isTransactionListed' | 'listedUnnamed' | 'readAgain'>;
  readonly #lists: Pick<NodeLists, 'isOfSeveral' | 'read'>;
  readonly #chain: Pick<ChainIndex, 'firstHeight' | 'state'>;
  /** The last answer of whether a list has content that no walked block has: a scan costs milliseconds, and many ask at once. */
  #scanned: {
    readonly list: UnnamedList;
    readonly size: number;
    readonly tip: BlockHash | null;
    readonly isAny: boolean;
  } | null = null;

  constructor(
    poller: Pick<Poller, 'isTransactionListed' | 'listedUnnamed' | 'readAgain'>,
    lists: Pick<NodeLists, 'isOfSeveral' | 'read'>,
    chain: Pick<ChainIndex, 'firstHeight' | 'state'>,
  ) {
    this.#poller = poller;
    this.#lists = lists;
    this.#chain = chain;
  }

  /**
   * Another node than the followed one may have a block that is not walked yet. `isAnyUnnamed`: a list has content that no
   * walked block has, and does not name its transaction, which can be any. Content that a block has can have been sent again
   * by an unconfirmed transaction: such a list does not tell that.
   */
  async of(txid: TxId, isListRead: boolean, signal: AbortSignal) {
    if (this.#lists.isOfSeveral) {
      const { byHash, transactions, silent } = await this.#lists.read();
      const isAnyUnnamed = this.#isAnyUnmined(byHash, () => unnamedOf(byHash));
      return { isListed: transactions.has(txid), isAnyUnnamed, silent };
    }
    const isRead = isListRead || (await this.#poller.readAgain(signal));
    const unnamed = this.#poller.listedUnnamed;
    return {
      isListed: this.#poller.isTransactionListed(txid),
      isAnyUnnamed: this.#isAnyUnmined(unnamed, () => unnamed.values()),
      silent: isRead ? [] : ['The node'],
    };
  }

  /** A list only grows until another takes its place. */
  #isAnyUnmined(list: UnnamedList, hashes: () => IteratorObject<VersionHash>): boolean {
    const { size } = list;
    const tip = this.#chain.state.tip?.hash ?? null;
    const last = this.#scanned;
    if (last?.list === list && last.size === size && last.tip === tip) return last.isAny;
    const isAny = hashes().some((hash) => this.#isUnmined(hash));
    this.#scanned = { list, size, tip, isAny };
    return isAny;
  }

  #isUnmined(versionHash: VersionHash): boolean {
    return HASH_TYPES.every((hashType) => this.#chain.firstHeight({ hashType, versionHash }) === null);
  }
}

function unnamedOf(byHash: AllListed['byHash']) {
  return byHash.values().flatMap(({ txid, versionHash }) => (txid === null ? [versionHash] : []));
}
