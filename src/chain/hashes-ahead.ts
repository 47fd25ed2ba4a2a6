import type { BlockHash } from '../core/blob/ids.ts';
import type { ChainNode } from '../node/chain-node.ts';

/** So many hashes come with one question while blocks are read one after the other. */
const AT_ONCE = 64;

/**
 * The hashes of the node's branch at the heights from one end to the other, asked for many at a time: alone, each would
 * cost half of what its block costs. They are what the node's branch was then: whoever reads the blocks sees whether
 * each follows the one before.
 */
export class HashesAhead {
  readonly #node: ChainNode;
  readonly #last: number;
  readonly #signal: AbortSignal;
  #first: number | null = null;
  #count = 0;
  #hashes: Promise<readonly (BlockHash | null)[]> = Promise.resolve([]);

  /** `last`: the end that the heights go towards, upwards or downwards. */
  constructor(last: number, node: ChainNode, signal: AbortSignal) {
    this.#last = last;
    this.#node = node;
    this.#signal = signal;
  }

  /** null: the branch does not reach so high. */
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
    // Whoever waits is told what fails; nobody may wait any more then.
    this.#hashes.catch(() => undefined);
  }
}
