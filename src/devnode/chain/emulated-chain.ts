import { EventEmitter } from 'node:events';
import type { TxId } from '../../core/blob/ids.ts';
import { BlobCache, type CacheEntry } from './blob-cache.ts';
import { type Block, mineBlock } from './block.ts';
import { BlockTree } from './block-tree.ts';
import { type ChainLockPolicy, ChainLocks } from './chain-locks.ts';
import type { Content } from './content.ts';
import { Mempool, type Selection } from './mempool.ts';
import type { Transaction } from './transaction.ts';
import { blobPayload, type Coin, type CoinOrigin, type Payload, Wallet } from './wallet.ts';

/** Blocks between two flushes of the cache on a main network; a test network flushes at every block. */
const MAIN_FLUSH_BLOCKS = 4;
/**
 * Mined blob transactions that the wallet needs for a fee estimate. The recorded wallet still falls back with 11 of
 * them.
 */
const ESTIMATE_FROM_TRANSACTIONS = 15;

/** Fee rate of a replacement: twice the fallback rate. */
const REPLACEMENT_SATS_PER_VBYTE = 40n;

/** Unix seconds of the genesis block. A constant, so that the block depends on the seed alone. */
const GENESIS_SECONDS = 1_577_836_800;

/** `main`: a new ChainLock prunes the cache. `test`: each block flushes and prunes it. */
export type Network = 'main' | 'test';

export interface ChainOptions {
  readonly seed: string;
  readonly network: Network;
  readonly chainLocks: ChainLockPolicy;
}

export interface Submission {
  readonly content: Content;
  /**
   * false: the call answers a txid, and then no node accepts the transaction (recorded for wrong hashes and for 2 MiB +
   * 1).
   */
  readonly acceptable: boolean;
  readonly feeSatsPerVbyte: bigint | null;
}

export interface Submitted {
  readonly transaction: Transaction;
  readonly feeReason: string;
}

export interface MineOrder {
  readonly timeSeconds: number;
  readonly selection: Selection;
  /** true: the block arrives too late for its blobs' bytes, which the node then lacks. */
  readonly withoutBytes: boolean;
}

/** A chain in memory. Its state is a pure function of its options and calls; it reads no clock. */
export class EmulatedChain {
  readonly tree = new BlockTree();
  readonly mempool = new Mempool();
  readonly cache: BlobCache;
  readonly locks = new ChainLocks(this.tree);
  readonly wallet: Wallet;
  readonly network: Network;
  /** `tip`: a new block. `gone`: pruned or dropped cache entries. `dropped`: transactions that left the mempool. */
  readonly events = new EventEmitter<{ tip: [Block]; gone: [CacheEntry[]]; dropped: [Transaction[]] }>();
  lockPolicy: ChainLockPolicy;
  #submissions = 0;
  #minedBlobs = 0;

  constructor(options: ChainOptions) {
    this.cache = new BlobCache(options.seed);
    this.wallet = new Wallet(options.seed, (txid) => this.#originOf(txid));
    this.network = options.network;
    this.lockPolicy = options.chainLocks;
    this.#connect(this.#assemble([], GENESIS_SECONDS, null), false);
    this.events.setMaxListeners(0);
  }

  get tip(): Block {
    return this.tree.tip;
  }

  /** Returns null when the wallet cannot pay. */
  submit({ content, acceptable, feeSatsPerVbyte }: Submission): Submitted | null {
    const transaction = this.#fund(blobPayload(content), feeSatsPerVbyte);
    if (transaction === null) return null;
    const feeReason = this.#minedBlobs < ESTIMATE_FROM_TRANSACTIONS ? 'Fallback fee' : 'Half Target 60% Threshold';
    if (acceptable) this.#accept(transaction);
    return { transaction, feeReason };
  }

  /** Puts a transaction of another kind into the mempool. Returns null when the wallet cannot pay. */
  send(payload: Payload): Transaction | null {
    const transaction = this.#fund(payload, null);
    if (transaction !== null) this.#accept(transaction);
    return transaction;
  }

  mine({ timeSeconds, selection, withoutBytes }: MineOrder): Block {
    const time = Math.max(timeSeconds, this.tip.medianTimeSeconds + 1);
    const block = this.#assemble(this.mempool.select(selection), time, this.tip);
    this.#connect(block, withoutBytes);
    if (this.lockPolicy.kind === 'follow') {
      const locked = this.tree.at(block.height - this.lockPolicy.lagBlocks);
      if (locked !== null) this.hearChainLock(locked.hash, locked.height);
    }
    this.events.emit('tip', block);
    return block;
  }

  /**
   * Disconnects the last blocks of the branch. Their transactions return to the mempool; the cache keeps its entries.
   */
  takeBack(depth: number): Block[] {
    const taken: Block[] = [];
    for (let left = depth; left > 0; left--) {
      const block = this.tree.disconnectTip();
      taken.push(block);
      const [coinbase, ...transactions] = block.transactions;
      this.mempool.addFirst(transactions);
      if (coinbase === undefined) continue;
      this.dropTransaction(coinbase.txid);
      this.wallet.undo(coinbase);
    }
    this.wallet.rotatePayout();
    return taken;
  }

  /**
   * Removes a waiting transaction and its descendants. The cache loses those never mined, and keeps those mined before.
   */
  dropTransaction(txid: TxId): Transaction[] {
    const family = this.mempool.withDescendants(txid);
    for (const transaction of family) {
      this.mempool.remove(transaction.txid);
      this.wallet.undo(transaction);
      this.#forgetUnmined(transaction);
    }
    if (family.length > 0) this.events.emit('dropped', family);
    return family;
  }

  /** Replaces a waiting transaction by one with other content that spends the same coin. */
  replace(txid: TxId, content: Content): Transaction | null {
    const waiting = this.mempool.get(txid);
    const [coin] = waiting === null ? [] : this.wallet.coinsSpentBy(waiting);
    if (coin === undefined) return null;
    this.dropTransaction(txid);
    const replacement = this.#fund(blobPayload(content), REPLACEMENT_SATS_PER_VBYTE, coin);
    if (replacement !== null) this.#accept(replacement);
    return replacement;
  }

  /** Receives a ChainLock. On a main network, and only there, it prunes old blobs from the cache. */
  hearChainLock(blockHash: string, height: number): void {
    const locked = this.locks.hear(blockHash, height);
    if (locked !== null && this.network === 'main') this.#prune(locked.medianTimeSeconds);
  }

  #originOf(txid: TxId): CoinOrigin | null {
    const waiting = this.mempool.get(txid);
    if (waiting !== null) return { transaction: waiting, coinbaseHeight: null };
    const mined = this.tree.find(txid);
    if (mined === null) return null;
    const isCoinbase = mined.transaction.inputs[0]?.previous === null;
    return { transaction: mined.transaction, coinbaseHeight: isCoinbase ? mined.block.height : null };
  }

  #fund(payload: Payload, feeSatsPerVbyte: bigint | null, coin?: Coin): Transaction | null {
    this.#submissions += 1;
    return this.wallet.fund({
      payload,
      tipHeight: this.tip.height,
      isConfirmed: (txid) => !this.mempool.has(txid),
      feeSatsPerVbyte,
      salt: String(this.#submissions),
      ...(coin === undefined ? {} : { coin }),
    });
  }

  #accept(transaction: Transaction): void {
    this.wallet.apply(transaction, null);
    this.mempool.add(transaction);
    const { content, txid } = transaction;
    if (content === null || this.cache.get(content.versionHash) !== null) return;
    this.cache.set({ content, txid, medianTimeSeconds: this.tip.medianTimeSeconds });
    if (this.network === 'test') this.cache.flush();
  }

  #assemble(transactions: readonly Transaction[], timeSeconds: number, previous: Block | null): Block {
    return mineBlock({ previous, timeSeconds, payoutScript: this.wallet.payoutScript, transactions });
  }

  #connect(block: Block, withoutBytes: boolean): void {
    this.tree.connect(block);
    for (const [index, transaction] of block.transactions.entries()) {
      if (index === 0) this.wallet.apply(transaction, block.height);
      else this.mempool.remove(transaction.txid);
      const { content, txid } = transaction;
      if (content === null) continue;
      this.#minedBlobs += 1;
      if (withoutBytes) this.cache.delete(content.versionHash);
      else this.cache.set({ content, txid, medianTimeSeconds: block.medianTimeSeconds });
    }
    if (this.network === 'test' || block.height % MAIN_FLUSH_BLOCKS === 0) this.cache.flush();
    if (this.network === 'test') this.#prune(block.medianTimeSeconds);
  }

  #forgetUnmined({ content, txid }: Transaction): void {
    if (content === null || this.tree.wasMined(txid)) return;
    const entry = this.cache.get(content.versionHash);
    if (entry === null || entry.txid !== txid) return;
    const other = [...this.mempool.values()].find((waiting) => waiting.content?.versionHash === content.versionHash);
    if (other !== undefined) this.cache.set({ ...entry, txid: other.txid });
    else {
      this.cache.delete(content.versionHash);
      this.events.emit('gone', [entry]);
    }
  }

  #prune(medianTimeSeconds: number): void {
    const gone = this.cache.prune(medianTimeSeconds);
    if (gone.length > 0) this.events.emit('gone', gone);
  }
}
