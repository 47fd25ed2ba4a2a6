import { once } from 'node:events';
import { type HashType, parseVersionHash } from '../core/blob/ids.ts';
import type { Dialect } from '../node/method-table.ts';
import { AdminServer } from './admin-server.ts';
import type { Block } from './chain/block.ts';
import type { ChainLockPolicy } from './chain/chain-locks.ts';
import { type Content, versionHashOf } from './chain/content.ts';
import type { EmulatedChain } from './chain/emulated-chain.ts';
import type { Selection } from './chain/mempool.ts';
import type { Transaction } from './chain/transaction.ts';
import { listen, openState } from './compose.ts';
import type { DevnodeOptions } from './devnode-options.ts';
import { DevnodeError } from './errors.ts';
import { FaultBoard } from './faults/fault-board.ts';
import type { HttpServer } from './http-server.ts';
import type { AssetLedger } from './ledger/asset-ledger.ts';
import type { NodeState } from './node-state.ts';
import { mixedWorkload, type WorkItem } from './workload.ts';

export interface SubmittedBlob {
  readonly txid: string;
  readonly versionHash: string;
}

/**
 * An emulated node on a real socket. `createDevnode` makes one.
 *
 * @example
 * const node = await createDevnode();
 * const { versionHash } = node.submitBlob(Buffer.from('hello'));
 * node.mine();
 * await node.close();
 */
export class Devnode {
  readonly username: string;
  readonly password: string;
  readonly dialect: Dialect;
  /** Injects faults into answers and connections. */
  readonly faults: FaultBoard;
  readonly #options: DevnodeOptions;
  readonly #state: NodeState;
  readonly #server: HttpServer;
  #admin: AdminServer | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** Transaction that the last automatic block left out; the next block takes it. */
  #postponed: string | null = null;

  private constructor(options: DevnodeOptions, state: NodeState, server: HttpServer, faults: FaultBoard) {
    this.#options = options;
    this.#state = state;
    this.#server = server;
    this.faults = faults;
    this.dialect = options.dialect ?? 'syscoin-5';
    this.username = options.username ?? 'devnode';
    this.password = options.password ?? 'devnode';
  }

  static async create(options: DevnodeOptions): Promise<Devnode> {
    const state = openState(options);
    const faults = new FaultBoard();
    const server = await listen(options, state, options.dialect ?? 'syscoin-5', faults);
    const devnode = new Devnode(options, state, server, faults);
    const adminPort = options.adminPort ?? null;
    if (adminPort !== null) {
      devnode.#admin = await AdminServer.listen(devnode, { host: options.host ?? '127.0.0.1', port: adminPort });
    }
    devnode.setBlocksEvery(options.blocksEveryMs ?? null);
    return devnode;
  }

  /** Address of the RPC server, without credentials. */
  get url(): string {
    const { address, port, family } = this.#server.address;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** Address of the admin routes; null without `adminPort`. */
  get adminUrl(): string | null {
    return this.#admin?.url ?? null;
  }

  /**
   * The emulated chain, to inspect: blocks, mempool, cache, ChainLocks. Change it through the methods of the devnode
   * only.
   */
  get chain(): EmulatedChain {
    return this.#state.chain;
  }

  /** Tokens, their holders and the wallets' own addresses. */
  get assets(): AssetLedger {
    return this.#state.assets;
  }

  /**
   * Submits a blob as an RPC client would. The blob waits in the mempool for a block.
   * @throws DevnodeError when the wallet cannot pay the fee
   */
  submitBlob(
    bytes: Uint8Array,
    how: { hashType: HashType; versionHash?: string } = { hashType: 'keccak256' },
  ): SubmittedBlob {
    const { hashType } = how;
    // A custom commitment, which the specification allows and no release implements.
    const versionHash =
      how.versionHash === undefined ? versionHashOf(hashType, bytes) : parseVersionHash(how.versionHash);
    return this.#submit(this.#state.storedContent(hashType, versionHash, bytes));
  }

  /** Submits a blob whose bytes are SHAKE256(label). The node stores none of them. */
  submitLabelled(item: WorkItem): SubmittedBlob {
    return this.#submit(this.#state.labelledContent(item));
  }

  /** Mines blocks at the clock's time and returns them, oldest first. */
  mine(count = 1, { selection, withoutBytes }: { selection?: Selection; withoutBytes?: boolean } = {}): Block[] {
    return Array.from({ length: count }, () => this.#state.mine(selection, withoutBytes));
  }

  /** Mines a block now and one every `milliseconds`; null stops that. */
  setBlocksEvery(milliseconds: number | null): void {
    clearInterval(this.#timer);
    if (milliseconds === null) return;
    this.#tick();
    this.#timer = setInterval(() => this.#tick(), milliseconds);
  }

  /** Resolves when the chain has this height. */
  async untilHeight(height: number, signal?: AbortSignal): Promise<void> {
    while (this.chain.tip.height < height) await once(this.chain.events, 'tip', signal === undefined ? {} : { signal });
  }

  /** Moves the clock. The chain's own time follows with the next blocks; six of them move its median. */
  advanceSeconds(seconds: number): void {
    this.#state.advanceSeconds(seconds);
  }

  nowSeconds(): number {
    return this.#state.nowSeconds();
  }

  /**
   * Disconnects `depth` blocks and mines `blocks` others. With `remine`, the last new block takes their transactions.
   * The transactions in `drop` lose their input to another transaction and stay in the cache.
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

  /** Removes a waiting transaction and its descendants, as an eviction or a double spend does. Returns their txids. */
  dropTransaction(txid: string): string[] {
    return this.#state.drop(txid).map((transaction) => transaction.txid);
  }

  /** Replaces a waiting transaction by one with these bytes that spends the same coin. */
  replaceTransaction(txid: string, bytes: Uint8Array, hashType: HashType = 'keccak256'): SubmittedBlob {
    const versionHash = versionHashOf(hashType, bytes);
    const replacement = this.#state.replace(txid, this.#state.storedContent(hashType, versionHash, bytes));
    if (replacement === null) throw unknownTransaction(txid);
    return { txid: replacement.txid, versionHash };
  }

  /** Announces a ChainLock for a block of this chain, or for an unknown block. */
  announceChainLock(blockHash: string, height: number): void {
    this.#state.hearChainLock(blockHash, height);
  }

  setChainLocks(policy: ChainLockPolicy): void {
    this.#state.setLockPolicy(policy);
  }

  /** Closes the node's port, as the end of its process would. The chain goes on. */
  async goAway(): Promise<void> {
    await this.#server.close();
  }

  /** Opens the same port again. */
  async comeBack(): Promise<void> {
    await this.#server.reopen();
  }

  /** Stops listening and mining. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([this.#server.close(), this.#admin?.close()]);
  }

  /** Mines one automatic block. The newest arrival waits for the next block, once. */
  #tick(): void {
    const workload = this.#options.workload === undefined ? mixedWorkload : this.#options.workload;
    const { tip } = this.#state.chain;
    for (const item of workload?.(this.#state.seed, tip.height + 1) ?? []) this.submitLabelled(item);
    const waiting: Transaction[] = [...this.#state.chain.mempool.values()];
    const newest = waiting.at(-1)?.txid ?? null;
    const isLeft = newest !== null && newest !== this.#postponed;
    this.#state.mine({ kind: 'except', txids: isLeft ? [newest] : [] });
    this.#postponed = isLeft ? newest : null;
  }

  #submit(content: Content): SubmittedBlob {
    const submitted = this.#state.submit({ content, acceptable: true, feeSatsPerVbyte: null });
    if (submitted === null) {
      throw new DevnodeError('devnode/no-coins', 'The emulated wallet has no mature coin.', {
        retryable: true,
        hint: 'Mine up to block 101, or leave `initialBlocks` at its default.',
      });
    }
    return { txid: submitted.transaction.txid, versionHash: content.versionHash };
  }
}

/**
 * Starts an emulated node and resolves when it listens.
 * @throws DevnodeError when the port is taken or the folder holds another chain
 */
export function createDevnode(options: DevnodeOptions = {}): Promise<Devnode> {
  return Devnode.create(options);
}

function unknownTransaction(txid: string): DevnodeError {
  return new DevnodeError('devnode/unknown-transaction', `No transaction ${txid} waits in the mempool.`, {
    details: { txid },
    retryable: false,
    hint: 'Pass a txid of `chain.mempool`.',
  });
}
