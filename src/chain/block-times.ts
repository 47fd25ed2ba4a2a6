import type { ChainIndex } from '../catalog/chain-index.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ChainNode } from '../node/chain-node.ts';

/** The median time of a block is taken over its own time and those of the ten before it (BIP 113). */
const SPAN = 11;

/** The times of the blocks before the next one: what its median time is taken over. */
export class BlockTimes {
  /** Newest last; at most ten. */
  readonly #times: number[];

  private constructor(times: number[]) {
    this.#times = times;
  }

  /** Of the blocks below `height`; those below the start of the walk are asked of the node, as headers. */
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

  /** Median time of a block with this time that follows them; it is one of them from then on. */
  follow(timeSeconds: number): number {
    const sorted = [...this.#times, timeSeconds].sort((a, b) => a - b);
    this.#times.push(timeSeconds);
    if (this.#times.length >= SPAN) this.#times.shift();
    return sorted[sorted.length >> 1] ?? timeSeconds;
  }
}
