import type { HashType, TxId, VersionHash } from '../../src/core/blob/ids.ts';
import type { Block } from '../../src/devnode/chain/block.ts';
import { bytesOf, type Content } from '../../src/devnode/chain/content.ts';
import type { EmulatedChain } from '../../src/devnode/chain/emulated-chain.ts';
import type { JournalEvent } from '../../src/devnode/journal.ts';
import { NodeState } from '../../src/devnode/node-state.ts';
import { BytesInMemory } from '../../src/devnode/submitted-bytes.ts';

export interface SubmittedContent {
  readonly versionHash: VersionHash;
  readonly hashType: HashType;
  readonly txid: TxId;
  readonly content: Content;
}

const INITIAL_BLOCKS = 120;
export const BEGIN_SECONDS = 1_790_000_000;
/** A node prunes behind a lock; the wall's clock is no part of a chain. */
const LOCK_LAG_BLOCKS = 1;

/** One branch of the emulated chain with everything that led to it. A node can part from it, and join it again. */
export class Branch {
  readonly state: NodeState;
  readonly #seed: string;
  readonly #journal: JournalEvent[];
  #seconds: number;

  private constructor(seed: string, journal: readonly JournalEvent[], seconds: number) {
    this.#seed = seed;
    this.#journal = [...journal];
    this.#seconds = seconds;
    const kept = [...journal];
    this.state = new NodeState({
      ...{ seed, network: 'main', initialBlocks: INITIAL_BLOCKS, wallets: ['w'] },
      chainLocks: { kind: 'follow', lagBlocks: LOCK_LAG_BLOCKS },
      clock: { nowSeconds: () => this.#seconds },
      journal: { kept, append: (event) => void this.#journal.push(event) },
      bytes: new BytesInMemory(),
    });
  }

  static begin(seed: string): Branch {
    return new Branch(seed, [], BEGIN_SECONDS);
  }

  get chain(): EmulatedChain {
    return this.state.chain;
  }

  /** The same chain, which goes its own way from here. */
  copy(): Branch {
    return new Branch(this.#seed, this.#journal, this.#seconds);
  }

  submit(label: string, sizeBytes: number, hashType: HashType): SubmittedContent | null {
    const content = this.state.labelledContent({ label, sizeBytes, hashType });
    const submitted = this.state.submit({ content, acceptable: true, feeSatsPerVbyte: null });
    if (submitted === null) return null;
    return { versionHash: content.versionHash, hashType, txid: submitted.transaction.txid, content };
  }

  mine(afterSeconds: number): Block {
    this.#seconds += afterSeconds;
    return this.state.mine();
  }

  /** Takes back what no lock covers, and mines as many others and one more. */
  reorganise(depth: number): number {
    const { chain } = this;
    const locked = chain.locks.bestBlock?.height ?? INITIAL_BLOCKS;
    const taken = Math.min(depth, chain.tip.height - locked);
    if (taken <= 0) return 0;
    this.state.takeBack(taken);
    for (let block = 0; block <= taken; block += 1) this.mine(1);
    return taken;
  }

  /** Locks are withheld, or come again. */
  lock(follows: boolean): void {
    this.state.setLockPolicy(follows ? { kind: 'follow', lagBlocks: LOCK_LAG_BLOCKS } : { kind: 'none' });
  }
}

export { bytesOf };
export const FIRST_HEIGHT = INITIAL_BLOCKS + 1;
