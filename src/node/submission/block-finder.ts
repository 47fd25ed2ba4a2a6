import type { BlockHash, TxId } from '../../core/blob/ids.ts';
import type { NodeClient } from '../client.ts';
import type { CallOptions } from '../node-call.ts';
import { getBestBlockHash, getBlock, getBlockHeader } from '../operations/blocks.ts';

/** Half a day of blocks. A waiting submitter looks every few seconds, so the transaction is near the tip. */
const MAX_BLOCKS = 288;

interface FoundBlock {
  readonly blockHash: BlockHash;
  readonly height: number;
}

/**
 * Finds the block of a transaction when neither the cache (in the specification's dialect) nor an index has it. Reads
 * the ids of each block from the tip downwards (verbosity 1, cheap for the node), each block once.
 */
export class BlockFinder {
  /** Blocks without the transaction. No searched block below them has it either. */
  readonly #without = new Set<BlockHash>();
  #found: FoundBlock | null = null;

  /** Resolves to null when none of the last blocks has the transaction. Use one finder per transaction. */
  async find(client: NodeClient, txid: TxId, options: CallOptions): Promise<FoundBlock | null> {
    const isThere = this.#found !== null && (await isActive(client, this.#found, options));
    this.#found = isThere ? this.#found : await this.#search(client, txid, options);
    return this.#found;
  }

  async #search(client: NodeClient, txid: TxId, options: CallOptions): Promise<FoundBlock | null> {
    const read: BlockHash[] = [];
    let next: BlockHash | null = await getBestBlockHash(client, options);
    while (next !== null && read.length < MAX_BLOCKS && !this.#without.has(next)) {
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
