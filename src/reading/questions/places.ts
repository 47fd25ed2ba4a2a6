import type { Catalog } from '../../catalog/catalog.ts';
import type { OccurrenceRow, PlacedOccurrence } from '../../catalog/occurrence-table.ts';
import type { BlockHash, ContentName, TxId } from '../../core/blob/ids.ts';
import type { ChainState } from '../../view/chain-state.ts';
import type {
  BlockLookup,
  ChainUnavailable,
  LockLookup,
  MinedOccurrence,
  PlaceLookup,
  TipLookup,
  TransactionLookup,
} from '../../view/chain-view.ts';
import { chainUnavailable } from './chain-unavailable.ts';
import type { Doubts } from './doubts.ts';
import { isFinal } from './is-final.ts';
import type { NodeHeaders } from './node-headers.ts';
import type { TransactionLists } from './transaction-lists.ts';

const CHAINLOCK = 'chainlock';

/** Places on the walked branch: blocks, transactions and occurrences. */
export class Places {
  readonly #catalog: Catalog;
  readonly #chain: Pick<ChainState, 'finalHeight'>;
  readonly #doubts: Doubts;
  readonly #lists: TransactionLists;
  readonly #headers: NodeHeaders;

  constructor(
    catalog: Catalog,
    chain: Pick<ChainState, 'finalHeight'>,
    doubts: Doubts,
    lists: TransactionLists,
    headers: NodeHeaders,
  ) {
    this.#catalog = catalog;
    this.#chain = chain;
    this.#doubts = doubts;
    this.#lists = lists;
    this.#headers = headers;
  }

  transaction(txid: TxId): TransactionLookup {
    const found = this.#catalog.chain.ofTransaction(txid);
    if (found !== null) return { kind: 'found', occurrence: this.#describe(found) };
    return this.#doubts.whyNotAbsent() ?? this.#doubts.whyNoHistory() ?? { kind: 'absent' };
  }

  async transactionAsked(txid: TxId, isListRead: boolean, signal: AbortSignal): Promise<TransactionLookup> {
    const lookup = this.transaction(txid);
    if (lookup.kind !== 'absent') return lookup;
    const { isListed, isAnyUnnamed, silent } = await this.#lists.of(txid, isListRead, signal);
    if (isListed)
      return chainUnavailable('walk-behind', 'A node lists it, and no block that was walked has it yet.', 5);
    if (silent.length > 0)
      return chainUnavailable('walk-behind', `${silent.join(', ')} was asked for its list, and has not answered.`, 5);
    if (isAnyUnnamed) {
      const message = 'A node lists blobs without their transactions, and no block that was walked has them yet.';
      return chainUnavailable('walk-behind', message, 5);
    }
    // The transaction may have been walked meanwhile, and a reason against absence may have arisen.
    return this.transaction(txid);
  }

  block(at: number | BlockHash): BlockLookup {
    const { chain, answers } = this.#catalog;
    const height = typeof at === 'number' ? at : chain.heightOf(at);
    const block = height === null ? null : chain.blockAt(height);
    if (block === null) return this.#whyNoBlock(at);
    const { hash, medianTimeSeconds } = block;
    const occurrences = answers
      .ofBlock(block.height)
      .map((occurrence) => this.#describe({ ...occurrence, blockHash: hash, medianTimeSeconds }));
    return { kind: 'found', block: { ...block, final: isFinal(this.#chain, block.height), occurrences } };
  }

  /** The hash of a block below the walk is not known here: a node is asked for its height. */
  async blockAsked(at: number | BlockHash, signal: AbortSignal): Promise<BlockLookup> {
    const lookup = this.block(at);
    if (lookup.kind !== 'absent' || typeof at === 'number' || this.#catalog.chain.state.lowestHeight === 0)
      return lookup;
    const height = await this.#headers.heightOf(at, signal);
    if (height === null)
      return chainUnavailable('walk-behind', 'The node was asked for this block, and has not answered.', 5);
    // The block may have been walked meanwhile, and a reason against absence may have arisen.
    const now = this.block(at);
    if (now.kind !== 'absent' || height === 'denied') return now;
    const { lowestHeight, tip } = this.#catalog.chain.state;
    if (lowestHeight === null || height < lowestHeight) return belowWalk(lowestHeight);
    if (tip === null || height > tip.height)
      return chainUnavailable('walk-behind', 'A node has this block, and it is not walked yet.', 5);
    return now;
  }

  tip(): TipLookup {
    const { tip } = this.#catalog.chain.state;
    if (tip === null) return chainUnavailable('not-walked', 'No block has been walked yet.', 10);
    return this.#doubts.whyNotCurrent() ?? { kind: 'found', tip };
  }

  chainLock(): LockLookup {
    const final = this.#chain.finalHeight;
    const block = final === null || !this.#byChainLock() ? null : this.#catalog.chain.blockAt(final);
    return block === null ? { kind: 'absent' } : { kind: 'found', block: { height: block.height, hash: block.hash } };
  }

  newestOccurrence(name: ContentName): PlaceLookup {
    const { chain, answers } = this.#catalog;
    const height = chain.lastHeight(name);
    const block = height === null ? null : chain.blockAt(height);
    if (block === null) return this.#doubts.whyNotAbsent() ?? this.#doubts.whyNoHistory() ?? { kind: 'absent' };
    const row = answers.ofBlock(block.height).findLast((one) => isOf(one, name));
    if (row === undefined) return { kind: 'absent' };
    const { hash: blockHash, medianTimeSeconds } = block;
    return { kind: 'found', newest: this.#describe({ ...row, blockHash, medianTimeSeconds }) };
  }

  #whyNoBlock(at: number | BlockHash): BlockLookup {
    const { lowestHeight } = this.#catalog.chain.state;
    const why = this.#doubts.whyNotAbsent();
    if (why !== null) return why;
    if (lowestHeight === null || (typeof at === 'number' && at < lowestHeight)) return belowWalk(lowestHeight);
    return { kind: 'absent' };
  }

  #describe({ hashType, versionHash, txid, vout, height, blockHash, medianTimeSeconds }: Described): MinedOccurrence {
    const final = isFinal(this.#chain, height);
    const chainLocked = final && this.#byChainLock();
    return { hashType, versionHash, txid, vout, height, blockHash, medianTimeSeconds, final, chainLocked };
  }

  #byChainLock(): boolean {
    return this.#catalog.answers.finalityRule() === CHAINLOCK;
  }
}

type Described = Omit<PlacedOccurrence, 'transactionIndex'>;

function belowWalk(lowestHeight: number | null): ChainUnavailable {
  const message = `The walk began at height ${lowestHeight ?? 'unknown'}; what is below was not looked at.`;
  return chainUnavailable('not-walked', message, 600);
}

function isOf(row: OccurrenceRow, name: ContentName): boolean {
  return row.hashType === name.hashType && row.versionHash === name.versionHash;
}
