import { type ContentName, type HashType, parseTxId, parseVersionHash, type VersionHash } from '../core/blob/ids.ts';
import type { Block } from './chain/block.ts';
import type { ChainLockPolicy } from './chain/chain-locks.ts';
import { type Content, versionHashOf } from './chain/content.ts';
import { EmulatedChain, type Network, type Submitted } from './chain/emulated-chain.ts';
import type { Selection } from './chain/mempool.ts';
import { seededBytes } from './chain/seeded-bytes.ts';
import type { Transaction } from './chain/transaction.ts';
import { DevnodeError } from './errors.ts';
import type { ContentRecord, Journal, JournalEvent } from './journal.ts';
import { type Allocation, AssetLedger } from './ledger/asset-ledger.ts';
import type { SubmittedBytes } from './submitted-bytes.ts';
import type { WorkItem } from './workload.ts';

/** Source of time, in Unix milliseconds. Tests inject their own and move it by hours. */
export interface Clock {
  nowSeconds(): number;
}

export const systemClock: Clock = { nowSeconds: () => Math.floor(Date.now() / 1000) };

export interface NodeStateOptions {
  readonly seed: string;
  readonly network: Network;
  readonly chainLocks: ChainLockPolicy;
  readonly initialBlocks: number;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly bytes: SubmittedBytes;
  readonly wallets: readonly string[];
}

export interface SubmitOrder {
  readonly content: Content;
  readonly acceptable: boolean;
  readonly feeSatsPerVbyte: bigint | null;
}

/**
 * The chain, its clock and its journal. Each change is journalled before it is made, and made the same way on replay.
 */
export class NodeState {
  readonly chain: EmulatedChain;
  readonly assets: AssetLedger;
  readonly seed: string;
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #bytes: SubmittedBytes;
  #offsetSeconds = 0;

  constructor(options: NodeStateOptions) {
    const kept = options.journal.kept[0];
    const begin = kept?.do === 'begin' ? kept : beginning(options);
    if (begin.seed !== options.seed || begin.network !== options.network) {
      throw new DevnodeError(
        'devnode/other-chain',
        'The folder holds an emulated chain with another seed or network.',
        {
          details: { kept: begin.seed, asked: options.seed },
          retryable: false,
          hint: 'Use another data folder, or the seed and network of this chain.',
        },
      );
    }
    this.seed = begin.seed;
    this.#clock = options.clock;
    this.#journal = options.journal;
    this.#bytes = options.bytes;
    this.chain = new EmulatedChain({
      seed: begin.seed,
      network: begin.network,
      chainLocks: options.chainLocks,
    });
    this.assets = new AssetLedger(this.chain, begin.seed, options.wallets);
    if (kept === undefined) this.#journal.append(begin);
    for (let height = 1; height <= begin.initialBlocks; height++) {
      this.chain.mine({ timeSeconds: begin.startSeconds + height, selection: { kind: 'all' }, withoutBytes: false });
    }
    for (const event of options.journal.kept) this.#apply(event);
    const { cache, mempool } = this.chain;
    const held = new Set([...mempool.values()].map((transaction) => transaction.content?.versionHash));
    this.#bytes.sweep((_, hash) => cache.get(hash) !== null || [...held].some((waiting) => waiting === hash));
    // The listener starts after the replay: a replayed pruning must not delete bytes that were submitted again later.
    this.chain.events.on('gone', (entries) => {
      for (const { content } of entries) if (content.source.kind === 'stored') this.#bytes.forget(content);
    });
  }

  nowSeconds(): number {
    return Math.floor(this.#clock.nowSeconds() + this.#offsetSeconds);
  }

  advanceSeconds(seconds: number): void {
    this.#perform({ do: 'clock', offsetSeconds: this.#offsetSeconds + seconds });
  }

  /** Stores bytes that a client sent, until the cache prunes them. */
  storedContent(hashType: HashType, versionHash: VersionHash, bytes: Uint8Array): Content {
    const name: ContentName = { hashType, versionHash };
    this.#bytes.keep(name, bytes);
    return { ...name, sizeBytes: bytes.length, source: { kind: 'stored', read: () => this.#bytes.read(name) } };
  }

  labelledContent({ label, sizeBytes, hashType }: WorkItem): Content {
    const versionHash = versionHashOf(hashType, seededBytes(label, sizeBytes));
    return { versionHash, hashType, sizeBytes, source: { kind: 'label', label } };
  }

  submit({ content, acceptable, feeSatsPerVbyte }: SubmitOrder): Submitted | null {
    const fee = feeSatsPerVbyte === null ? {} : { fee: String(feeSatsPerVbyte) };
    this.#journal.append({ do: 'submit', content: recordOf(content), acceptable, ...fee });
    return this.chain.submit({ content, acceptable, feeSatsPerVbyte });
  }

  mine(selection: Selection = { kind: 'all' }, withoutBytes = false): Block {
    this.#perform({ do: 'mine', time: this.nowSeconds(), selection, withoutBytes });
    return this.chain.tip;
  }

  takeBack(depth: number): Block[] {
    if (depth > this.chain.tip.height) {
      throw new DevnodeError(
        'devnode/too-deep',
        `The chain has ${this.chain.tip.height} blocks above its genesis block.`,
        {
          details: { depth },
          retryable: false,
          hint: 'Disconnect fewer blocks.',
        },
      );
    }
    this.#journal.append({ do: 'take-back', depth });
    return this.chain.takeBack(depth);
  }

  drop(txid: string): Transaction[] {
    this.#journal.append({ do: 'drop', txid });
    return this.chain.dropTransaction(parseTxId(txid));
  }

  replace(txid: string, content: Content): Transaction | null {
    this.#journal.append({ do: 'replace', txid, content: recordOf(content) });
    return this.chain.replace(parseTxId(txid), content);
  }

  /** Returns null when the fee cannot be paid. */
  sendAssets(wallet: string, allocations: readonly Allocation[], replaceable: boolean): Transaction | null {
    const rows = allocations.map(({ guid, address, units, sats }): [string, string, string, string] => [
      String(guid),
      address,
      String(units),
      String(sats),
    ]);
    this.#journal.append({ do: 'send-assets', wallet, allocations: rows, replaceable });
    return this.assets.send(wallet, allocations, replaceable);
  }

  hearChainLock(hash: string, height: number): void {
    this.#perform({ do: 'lock', hash, height });
  }

  setLockPolicy(policy: ChainLockPolicy): void {
    this.#perform({ do: 'lock-policy', lagBlocks: policy.kind === 'none' ? null : policy.lagBlocks });
  }

  #perform(event: JournalEvent): void {
    this.#journal.append(event);
    this.#apply(event);
  }

  #apply(event: JournalEvent): void {
    switch (event.do) {
      case 'begin':
        return;
      case 'submit': {
        const feeSatsPerVbyte = event.fee === undefined ? null : BigInt(event.fee);
        this.chain.submit({ content: this.#contentOf(event.content), acceptable: event.acceptable, feeSatsPerVbyte });
        return;
      }
      case 'mine':
        this.chain.mine({ timeSeconds: event.time, selection: event.selection, withoutBytes: event.withoutBytes });
        return;
      case 'take-back':
        this.chain.takeBack(event.depth);
        return;
      case 'drop':
        this.chain.dropTransaction(parseTxId(event.txid));
        return;
      case 'replace':
        this.chain.replace(parseTxId(event.txid), this.#contentOf(event.content));
        return;
      case 'send-assets': {
        const allocations = event.allocations.map(([guid, address, units, sats]) => ({
          guid: BigInt(guid),
          address,
          units: BigInt(units),
          sats: BigInt(sats),
        }));
        this.assets.send(event.wallet, allocations, event.replaceable);
        return;
      }
      case 'lock':
        this.chain.hearChainLock(event.hash, event.height);
        return;
      case 'lock-policy':
        this.chain.lockPolicy =
          event.lagBlocks === null ? { kind: 'none' } : { kind: 'follow', lagBlocks: event.lagBlocks };
        return;
      case 'clock':
        this.#offsetSeconds = event.offsetSeconds;
        return;
      default:
        event satisfies never;
    }
  }

  #contentOf(record: ContentRecord): Content {
    const name: ContentName = { hashType: record.type, versionHash: parseVersionHash(record.hash) };
    const source: Content['source'] =
      record.label === undefined
        ? { kind: 'stored', read: () => this.#bytes.read(name) }
        : { kind: 'label', label: record.label };
    return { ...name, sizeBytes: record.size, source };
  }
}

function recordOf(content: Content): ContentRecord {
  const label = content.source.kind === 'label' ? { label: content.source.label } : {};
  return { hash: content.versionHash, type: content.hashType, size: content.sizeBytes, ...label };
}

function beginning({ seed, network, clock, initialBlocks }: NodeStateOptions): JournalEvent & { do: 'begin' } {
  const startSeconds = Math.floor(clock.nowSeconds()) - initialBlocks;
  return { do: 'begin', format: 1, seed, network, startSeconds, initialBlocks };
}
