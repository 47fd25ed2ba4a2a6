import type { Block } from './block.ts';
import type { BlockTree } from './block-tree.ts';
import { seededBytes } from './seeded-bytes.ts';

/** `follow`: each new block locks the block `lagBlocks` below it. `none`: only `announceChainLock` locks blocks. */
export type ChainLockPolicy = { readonly kind: 'none' } | { readonly kind: 'follow'; readonly lagBlocks: number };

export interface ChainLock {
  readonly blockHash: string;
  readonly height: number;
  /** 96 bytes, the shape of a BLS signature. */
  readonly signature: string;
}

/** The best ChainLock that the node has received. Its block may be unknown to the node. */
export class ChainLocks {
  readonly #tree: BlockTree;
  #best: ChainLock | null = null;

  constructor(tree: BlockTree) {
    this.#tree = tree;
  }

  get best(): ChainLock | null {
    return this.#best;
  }

  /** The locked block; null when there is no lock, or the node lacks the block. */
  get bestBlock(): Block | null {
    return this.#best === null ? null : this.#tree.get(this.#best.blockHash);
  }

  /** Receives a ChainLock and returns the locked block, if known. A lock below the best one changes nothing. */
  hear(blockHash: string, height: number): Block | null {
    if (this.#best !== null && this.#best.height >= height) return null;
    this.#best = { blockHash, height, signature: seededBytes(`chainlock ${blockHash}`, 96).toString('hex') };
    return this.bestBlock;
  }

  forget(): void {
    this.#best = null;
  }

  /** Reports whether the block is the locked block or its ancestor, on the active branch. */
  covers(block: Block): boolean {
    const locked = this.bestBlock;
    return (
      locked !== null && block.height <= locked.height && this.#tree.isActive(locked) && this.#tree.isActive(block)
    );
  }
}
