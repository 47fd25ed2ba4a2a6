import type { BlockHash, TxId } from '../../blob/ids.ts';
import type { Block } from './block.ts';
import type { Transaction } from './transaction.ts';

/** Header, count, and the eight bytes that a node puts before each block on disk. */
const BLOCK_OVERHEAD_BYTES = 89;

/** Where a transaction was mined. */
export interface MinedTransaction {
  readonly transaction: Transaction;
  readonly block: Block;
  readonly active: boolean;
}

/** Every block that was ever connected, and the branch that is followed now. */
export class BlockTree {
  readonly #byHash = new Map<string, Block>();
  readonly #active: Block[] = [];
  /** All blocks that hold a transaction; the one on the branch now, else the last one, counts. */
  readonly #blocksOf = new Map<string, Block[]>();
  /** Ends of branches that were left. */
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

  /** Of all blocks that were ever connected, as a node keeps them on disk. */
  get serialisedBytes(): number {
    return this.#serialisedBytes;
  }

  connect(block: Block): void {
    this.#serialisedBytes += block.transactions.reduce((sum, { raw }) => sum + raw.length, BLOCK_OVERHEAD_BYTES);
    this.#byHash.set(block.hash, block);
    this.#active.push(block);
    for (const { txid } of block.transactions) {
      const blocks = this.#blocksOf.get(txid);
      if (blocks === undefined) this.#blocksOf.set(txid, [block]);
      else blocks.push(block);
    }
  }

  /** Leaves the tip; the blocks of the branch that is left stay known. */
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

  /** The block that follows on the branch now. */
  next(block: Block): Block | null {
    return this.isActive(block) ? this.at(block.height + 1) : null;
  }

  find(txid: string): MinedTransaction | null {
    const blocks = this.#blocksOf.get(txid);
    if (blocks === undefined) return null;
    const block = blocks.find((candidate) => this.isActive(candidate)) ?? blocks.at(-1);
    const transaction = block?.transactions.find((candidate) => candidate.txid === txid);
    if (block === undefined || transaction === undefined) return null;
    return { transaction, block, active: this.isActive(block) };
  }

  wasMined(txid: TxId): boolean {
    return this.#blocksOf.has(txid);
  }

  hasBlock(hash: BlockHash): boolean {
    return this.#byHash.has(hash);
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
