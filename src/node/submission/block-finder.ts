import type { BlockHash, TxId } from '../../core/blob/ids.ts';
import type { NodeClient } from '../client.ts';
import type { CallOptions } from '../node-call.ts';
import { getBestBlockHash, getBlock, getBlockHeader } from '../operations/blocks.ts';

/** Half a day of blocks: who waits for a submission looks every few seconds, and finds it near the tip. */
const MOST_BLOCKS = 288;

interface FoundBlock {
  readonly blockHash: BlockHash;
  readonly height: number;
}

/**
 * Finds the block of a transaction where neither the cache tells it (the specification) nor an index: by the ids in the
 * blocks (verbosity 1: cheap for the node), from the tip downwards. Each block is read once.
 */
export class BlockFinder {
  /** It is not in these, nor in any block below them that is looked at. */
  readonly #without = new Set<BlockHash>();
  #found: FoundBlock | null = null;

  /** null: it is in none of the last blocks. One finder is for one transaction. */
  async find(client: NodeClient, txid: TxId, options: CallOptions): Promise<FoundBlock | null> {
    const isThere = this.#found !== null && (await isActive(client, this.#found, options));
    this.#found = isThere ? this.#found : await this.#search(client, txid, options);
    return this.#found;
  }

  async #search(client: NodeClient, txid: TxId, options: CallOptions): Promise<FoundBlock | null> {
    const read: BlockHash[] = [];
    let next: BlockHash | null = await getBestBlockHash(client, options);
    while (next !== null && read.length < MOST_BLOCKS && !this.#without.has(next)) {
      const { hash, height, previousHash, transactions } = await getBlock(client, next, options);
      if (transactions.includes(txid)) return { blockHash: hash, height };
      read.push(hash);
      next = previousHash;
    }
    for (const hash of read) this.#without.add(hash);
    return null;
  }
}

async function isActive(client: NodeClient, { blockHash }: FoundBlock, options: CallOptions): Promise<boolean> {
  return (await getBlockHeader(client, blockHash, options)).confirmations > 0;
}
