import type { BlockHash } from '../core/blob/ids.ts';
import type { ChainNode } from '../node/chain-node.ts';

/** Hashes per request while blocks are read in sequence. */
const AT_ONCE = 64;

/**
 * Fetches hashes of the node's branch in large requests; single ones would cost half of a block each. The hashes may be
 * outdated: the consumer checks that each block connects to the one before.
 */
export class HashesAhead {
  readonly #node: ChainNode;
  readonly #last: number;
  readonly #signal: AbortSignal;
  #first: number | null = null;
  #count = 0;
  #hashes: Promise<readonly (BlockHash | null)[]> = Promise.resolve([]);

  /** @param last the last height to read, above or below the first one */
  constructor(last: number, node: ChainNode, signal: AbortSignal) {
    this.#last = last;
    this.#node = node;
    this.#signal = signal;
  }

  /** Resolves to null when the branch is shorter. */
  async at(height: number): Promise<BlockHash | null> {
    if (this.#first === null || height < this.#first || height >= this.#first + this.#count) this.#ask(height);
    const first = this.#first ?? height;
    return (await this.#hashes)[height - first] ?? null;
  }

  #ask(height: number): void {
    const count = Math.min(AT_ONCE, Math.abs(this.#last - height) + 1);
    this.#first = this.#last >= height ? height : height - count + 1;
    this.#count = count;
    this.#hashes =
      count === 1
        ? this.#node.blockHashAt(height, this.#signal).then((hash) => [hash])
        : this.#node.blockHashesFrom(this.#first, count, this.#signal);
    // The consumer gets the error; after it has stopped, the error is expected.
    this.#hashes.catch(() => undefined);
  }
}
