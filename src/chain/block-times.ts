import type { ChainIndex } from '../catalog/chain-index.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ChainNode } from '../node/chain-node.ts';

/** Blocks in a median time: the block itself and the ten before it (BIP 113). */
const SPAN = 11;

/** The times of the blocks before the next one, which determine its median time. */
export class BlockTimes {
  /** At most ten times, newest last. */
  readonly #times: number[];

  private constructor(times: number[]) {
    this.#times = times;
  }

  /** Times of the blocks below `height`. The node gives headers for blocks below the start height. */
  static async before(
    height: number,
    previousHash: BlockHash,
    chain: Pick<ChainIndex, 'timesUpTo' | 'blockAt'>,
    node: ChainNode,
    signal: AbortSignal,
  ): Promise<BlockTimes> {
    const newestFirst = chain.timesUpTo(height - 1, SPAN - 1);
    const wanted = Math.min(SPAN - 1, height);
    const lowest = height - newestFirst.length;
    let hash: BlockHash | null = lowest === height ? previousHash : (chain.blockAt(lowest)?.previousHash ?? null);
    while (newestFirst.length < wanted && hash !== null) {
      const header = await node.header(hash, signal);
      newestFirst.push(header.timeSeconds);
      hash = header.previousHash;
    }
    return new BlockTimes(newestFirst.reverse());
  }

  /** Adds a block with this time and returns its median time. */
  follow(timeSeconds: number): number {
    const sorted = [...this.#times, timeSeconds].sort((a, b) => a - b);
    this.#times.push(timeSeconds);
    if (this.#times.length >= SPAN) this.#times.shift();
    return sorted[sorted.length >> 1] ?? timeSeconds;
  }
}
