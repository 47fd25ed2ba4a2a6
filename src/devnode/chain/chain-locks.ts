import type { Block } from './block.ts';
import type { BlockTree } from './block-tree.ts';
import { seededBytes } from './seeded-bytes.ts';

/** `follow`: each new block locks the one `lagBlocks` below it. `none`: no lock comes by itself. */
export type ChainLockPolicy = { readonly kind: 'none' } | { readonly kind: 'follow'; readonly lagBlocks: number };

export interface ChainLock {
  readonly blockHash: string;
  readonly height: number;
  /** 96 bytes, the shape of a BLS signature. */
  readonly signature: string;
}

/** The best ChainLock that the node has heard; it can name a block that the node does not have. */
export class ChainLocks {
  readonly #tree: BlockTree;
  #best: ChainLock | null = null;

  constructor(tree: BlockTree) {
    this.#tree = tree;
  }

  get best(): ChainLock | null {
    return this.#best;
  }

  /** null: no lock, or its block is not known here. */
  get bestBlock(): Block | null {
    return this.#best === null ? null : this.#tree.get(this.#best.blockHash);
  }

  /** Gives the block that is locked now, if it is known. A lock below the best one changes nothing. */
  hear(blockHash: string, height: number): Block | null {
    if (this.#best !== null && this.#best.height >= height) return null;
    this.#best = { blockHash, height, signature: seededBytes(`chainlock ${blockHash}`, 96).toString('hex') };
    return this.bestBlock;
  }

  forget(): void {
    this.#best = null;
  }

  /** Is it the locked block or an ancestor of it, on the branch that is followed? */
  covers(block: Block): boolean {
    const locked = this.bestBlock;
    return (
      locked !== null && block.height <= locked.height && this.#tree.isActive(locked) && this.#tree.isActive(block)
    );
  }
}
