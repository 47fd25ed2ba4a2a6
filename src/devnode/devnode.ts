import { join } from 'node:path';
import type { HashType } from '../blob/ids.ts';
import type { Dialect } from '../node/method-table.ts';
import type { Block } from './chain/block.ts';
import type { ChainLockPolicy } from './chain/chain-locks.ts';
import { versionHashOf } from './chain/content.ts';
import type { EmulatedChain, Network } from './chain/emulated-chain.ts';
import type { Selection } from './chain/mempool.ts';
import { RECORDED_BLOBS } from './chain/recorded-blobs.ts';
import type { Transaction } from './chain/transaction.ts';
import { DevnodeError } from './errors.ts';
import { HexCache } from './hex-cache.ts';
import { HttpServer } from './http-server.ts';
import { forgetfulJournal, openJournal } from './journal.ts';
import { type Clock, NodeState, systemClock } from './node-state.ts';
import { Dispatcher } from './rpc/dispatcher.ts';
import { answerBody } from './rpc/envelope.ts';
import type { NodeContext } from './rpc/node-context.ts';
import { BytesInFolder, BytesInMemory } from './submitted-bytes.ts';
import { mixedWorkload, type WorkItem, type Workload } from './workload.ts';

export interface DevnodeOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default `devnode`. */
  readonly username?: string;
  /** Default `devnode`. */
  readonly password?: string;
  /** Default `syscoin-5`. */
  readonly dialect?: Dialect;
  /** The whole chain follows from it, from the genesis block on. Default `devnode`. */
  readonly seed?: string;
  /** A block by itself every so often. Default null: only `mine()` makes blocks. */
  readonly blocksEveryMs?: number | null;
  /** What arrives with each of those blocks. Default: a mixture; null: nothing. */
  readonly workload?: Workload | null;
  /** The chain and submitted bytes are kept here, also over `kill -9`. Default null: in memory. */
  readonly dataDir?: string | null;
  /** Mines the 22 contents of the recorded chain when the chain is new. */
  readonly seedRecordedBlobs?: boolean;
  /** One lock, 60 ms a get by version hash, 30 ms by txid, as measured on the real node. */
  readonly costModel?: boolean;
  /** Default: the system's. `advanceSeconds` adds to either. */
  readonly clock?: Clock;
  /** How the cache is pruned: on ChainLocks (`main`, default) or at every block (`test`). */
  readonly network?: Network;
  /** Default: `follow` with a lag of 1 on `main`, none on `test`. */
  readonly chainLocks?: ChainLockPolicy;
  /** Blocks above the genesis block of a new chain; below 101 the wallet has no ripe coin. Default 120. */
  readonly initialBlocks?: number;
  /** Loaded wallets. Default `['w']`. */
  readonly wallets?: readonly string[];
  /** Idle connections are closed after this time. Default 30,000, as on the real node. */
  readonly keepAliveMs?: number;
  /** Prepared answers of recent blobs. Default 64 MiB. */
  readonly hexCacheBytes?: number;
}

export interface SubmittedBlob {
  readonly txid: string;
  readonly versionHash: string;
}

const DEFAULT_HEX_CACHE_BYTES = 64 * 1024 * 1024;
const DEFAULT_INITIAL_BLOCKS = 120;
const DEFAULT_KEEP_ALIVE_MS = 30_000;

/** An emulated node on a real socket. Made by `createDevnode`. */
export class Devnode {
  readonly username: string;
  readonly password: string;
  readonly dialect: Dialect;
  readonly #options: DevnodeOptions;
  readonly #state: NodeState;
  readonly #server: HttpServer;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: DevnodeOptions, state: NodeState, server: HttpServer, dialect: Dialect) {
    this.#options = options;
    this.#state = state;
    this.#server = server;
    this.dialect = dialect;
    this.username = options.username ?? 'devnode';
    this.password = options.password ?? 'devnode';
  }

  static async create(options: DevnodeOptions): Promise<Devnode> {
    const state = openState(options);
    const dialect = options.dialect ?? 'syscoin-5';
    const server = await listen(options, state, dialect);
    const devnode = new Devnode(options, state, server, dialect);
    if (options.blocksEveryMs != null) {
      devnode.#tick();
      devnode.#timer = setInterval(() => devnode.#tick(), options.blocksEveryMs);
    }
    return devnode;
  }

  /** Without credentials. */
  get url(): string {
    const { address, port, family } = this.#server.address;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** The truth, to inspect: blocks, mempool, cache, ChainLocks. Change it through the methods of the devnode. */
  get chain(): EmulatedChain {
    return this.#state.chain;
  }

  /** As a client of the node would submit them. */
  submitBlob(bytes: Uint8Array, { hashType }: { hashType: HashType } = { hashType: 'keccak256' }): SubmittedBlob {
    const versionHash = versionHashOf(hashType, bytes);
    return this.#submit(this.#state.storedContent(hashType, versionHash, bytes));
  }

  /** Bytes are SHAKE256(label): none are held. */
  submitLabelled(item: WorkItem): SubmittedBlob {
    return this.#submit(this.#state.labelledContent(item));
  }

  /** Mines blocks at the clock's time; gives them. */
  mine(count = 1, { selection, withoutBytes }: { selection?: Selection; withoutBytes?: boolean } = {}): Block[] {
    return Array.from({ length: count }, () => this.#state.mine(selection, withoutBytes));
  }

  /** Moves the clock; the chain's own time follows with the blocks that are mined then (six move its median). */
  advanceSeconds(seconds: number): void {
    this.#state.advanceSeconds(seconds);
  }

  nowSeconds(): number {
    return this.#state.nowSeconds();
  }

  /**
   * Takes back `depth` blocks and mines others. What was in them waits again: with `remine` it is in the last new
   * block; what `drop` names loses its input to another transaction and lingers in the cache.
   */
  reorganise(
    depth: number,
    {
      blocks = depth + 1,
      remine = true,
      drop = [],
    }: { blocks?: number; remine?: boolean; drop?: readonly string[] } = {},
  ): { taken: Block[]; mined: Block[] } {
    const taken = this.#state.takeBack(depth);
    for (const txid of drop) this.#state.drop(txid);
    const nothing: Selection = { kind: 'only', txids: [] };
    const mined = this.mine(Math.max(0, blocks - 1), { selection: nothing });
    if (blocks > 0) mined.push(...this.mine(1, { selection: remine ? { kind: 'all' } : nothing }));
    return { taken, mined };
  }

  /** Removes a waiting transaction and its descendants: evicted, or its input spent by another. */
  dropTransaction(txid: string): string[] {
    return this.#state.drop(txid).map((transaction) => transaction.txid);
  }

  /** Another transaction, with these bytes, takes the input of a waiting one. */
  replaceTransaction(txid: string, bytes: Uint8Array, hashType: HashType = 'keccak256'): SubmittedBlob {
    const versionHash = versionHashOf(hashType, bytes);
    const replacement = this.#state.replace(txid, this.#state.storedContent(hashType, versionHash, bytes));
    if (replacement === null) throw unknownTransaction(txid);
    return { txid: replacement.txid, versionHash };
  }

  /** A ChainLock for a block of this chain, or for one that the node does not have. */
  announceChainLock(blockHash: string, height: number): void {
    this.#state.hearChainLock(blockHash, height);
  }

  setChainLocks(policy: ChainLockPolicy): void {
    this.#state.setLockPolicy(policy);
  }

  /** Stops listening and mining. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#server.close();
  }

  /** One block of `blocksEveryMs`: the newest arrival is always left for the next block. */
  #tick(): void {
    const workload = this.#options.workload === undefined ? mixedWorkload : this.#options.workload;
    const { tip } = this.#state.chain;
    for (const item of workload?.(this.#state.seed, tip.height + 1) ?? []) this.submitLabelled(item);
    const waiting: Transaction[] = [...this.#state.chain.mempool.values()];
    const newest = waiting.slice(-1).map((transaction) => transaction.txid);
    this.#state.mine({ kind: 'except', txids: newest });
  }

  #submit(content: Parameters<NodeState['submit']>[0]['content']): SubmittedBlob {
    const submitted = this.#state.submit({ content, acceptable: true, feeSatsPerVbyte: null });
    if (submitted === null) {
      throw new DevnodeError('devnode/no-coins', 'The emulated wallet has no ripe coin.', {
        retryable: true,
        hint: 'Mine until block 101, or leave `initialBlocks` at its default.',
      });
    }
    return { txid: submitted.transaction.txid, versionHash: content.versionHash };
  }
}

/** Starts an emulated node and resolves when it listens. */
export function createDevnode(options: DevnodeOptions = {}): Promise<Devnode> {
  return Devnode.create(options);
}

function openState(options: DevnodeOptions): NodeState {
  const network = options.network ?? 'main';
  const dataDir = options.dataDir ?? null;
  const journal = dataDir === null ? forgetfulJournal : openJournal(dataDir);
  const state = new NodeState({
    seed: options.seed ?? 'devnode',
    network,
    chainLocks: options.chainLocks ?? (network === 'main' ? { kind: 'follow', lagBlocks: 1 } : { kind: 'none' }),
    initialBlocks: options.initialBlocks ?? DEFAULT_INITIAL_BLOCKS,
    clock: options.clock ?? systemClock,
    journal,
    bytes: dataDir === null ? new BytesInMemory() : new BytesInFolder(join(dataDir, 'blobs')),
  });
  if (options.seedRecordedBlobs === true && journal.kept.length === 0) {
    for (const content of RECORDED_BLOBS) state.submit({ content, acceptable: true, feeSatsPerVbyte: null });
    state.mine();
  }
  return state;
}

function listen(options: DevnodeOptions, state: NodeState, dialect: Dialect): Promise<HttpServer> {
  const dispatcher = new Dispatcher(dialect);
  const hexCache = new HexCache(options.hexCacheBytes ?? DEFAULT_HEX_CACHE_BYTES);
  const context: NodeContext = {
    dialect,
    state,
    chain: state.chain,
    wallets: options.wallets ?? ['w'],
    hexOf: (content) => hexCache.hexOf(content),
    startedAtSeconds: state.nowSeconds(),
    spend: options.costModel === true ? oneLock() : () => Promise.resolve(),
  };
  return HttpServer.listen({
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    username: options.username ?? 'devnode',
    password: options.password ?? 'devnode',
    keepAliveMs: options.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS,
    answer: (body, walletName, signal) =>
      answerBody(body, (call) => dispatcher.perform(call, context, { walletName, signal })),
  });
}

/** The node's main lock: one call at a time, each for as long as it costs. */
function oneLock(): (milliseconds: number) => Promise<void> {
  let free = Promise.resolve();
  return (milliseconds) => {
    free = free.then(() => new Promise((resolve) => setTimeout(resolve, milliseconds)));
    return free;
  };
}

function unknownTransaction(txid: string): DevnodeError {
  return new DevnodeError('devnode/unknown-transaction', `No waiting transaction is called ${txid}.`, {
    details: { txid },
    retryable: false,
    hint: 'Name one of `chain.mempool`.',
  });
}
