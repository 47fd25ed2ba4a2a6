import type { TxId } from '../../core/blob/ids.ts';
import type { Block } from './block.ts';
import type { Transaction } from './transaction.ts';

/** Bytes of a header, a transaction count, and the eight bytes that a node stores before each block. */
const BLOCK_OVERHEAD_BYTES = 89;

/** Blocks at the tip whose transactions stay unpacked. */
const UNPACKED_BLOCKS = 100;

/** A mined transaction with its block. */
export interface MinedTransaction {
  readonly transaction: Transaction;
  readonly block: Block;
  readonly active: boolean;
}

/** Every block that was ever connected, and the active branch. */
export class BlockTree {
  readonly #byHash = new Map<string, Block>();
  readonly #active: Block[] = [];
  /** The last block that contains each transaction. */
  readonly #blockOf = new Map<string, Block>();
  /** Earlier blocks of a transaction, after reorganisations. */
  readonly #earlierBlocksOf = new Map<string, Block[]>();
  /** Tips of abandoned branches. */
  readonly #deadTips = new Set<Block>();
  #serialisedBytes = 0;

  get tip(): Block {
    const tip = this.#active.at(-1);
    if (tip === undefined) throw new Error('The chain has no genesis block yet.');
    return tip;
  }

  get deadTips(): readonly Block[] {
    return [...this.#deadTips];
  }

  /** Bytes of all blocks that were ever connected, as a node keeps them on disk. */
  get serialisedBytes(): number {
    return this.#serialisedBytes;
  }

  connect(block: Block): void {
    this.#serialisedBytes += block.transactions.reduce((sum, { raw }) => sum + raw.length, BLOCK_OVERHEAD_BYTES);
    this.#byHash.set(block.hash, block);
    this.#active.push(block);
    for (const { txid } of block.transactions) {
      const earlier = this.#blockOf.get(txid);
      if (earlier !== undefined) this.#earlierBlocksOf.set(txid, [...(this.#earlierBlocksOf.get(txid) ?? []), earlier]);
      this.#blockOf.set(txid, block);
    }
    this.#active[block.height - UNPACKED_BLOCKS]?.pack();
  }

  /** Disconnects the tip. The tree keeps the block. */
  disconnectTip(): Block {
    const tip = this.tip;
    if (tip.previous === null) throw new Error('The genesis block cannot be taken back.');
    this.#active.pop();
    if (![...this.#deadTips].some((dead) => isAncestor(tip, dead))) this.#deadTips.add(tip);
    return tip;
  }

  at(height: number): Block | null {
    return this.#active[height] ?? null;
  }

  get(hash: string): Block | null {
    return this.#byHash.get(hash) ?? null;
  }

  isActive(block: Block): boolean {
    return this.#active[block.height] === block;
  }

  /** The next block on the active branch. */
  next(block: Block): Block | null {
    return this.isActive(block) ? this.at(block.height + 1) : null;
  }

  /** Finds a transaction in its block on the active branch, or else in the last block that contained it. */
  find(txid: string): MinedTransaction | null {
    const last = this.#blockOf.get(txid);
    if (last === undefined) return null;
    const blocks = [last, ...(this.#earlierBlocksOf.get(txid) ?? [])];
    const block = blocks.find((candidate) => this.isActive(candidate)) ?? last;
    const transaction = block.transactions.find((candidate) => candidate.txid === txid);
    return transaction === undefined ? null : { transaction, block, active: this.isActive(block) };
  }

  /** The block that `find` would give, without its transaction. */
  blockOf(txid: string): Block | null {
    const blocks = [this.#blockOf.get(txid), ...(this.#earlierBlocksOf.get(txid) ?? [])].filter(
      (block) => block !== undefined,
    );
    return blocks.find((candidate) => this.isActive(candidate)) ?? blocks[0] ?? null;
  }

  wasMined(txid: TxId): boolean {
    return this.#blockOf.has(txid);
  }

  *activeBlocks(): Generator<Block> {
    yield* this.#active;
  }
}

function isAncestor(ancestor: Block, of: Block): boolean {
  let block: Block | null = of;
  while (block !== null && block.height > ancestor.height) block = block.previous;
  return block === ancestor;
}
