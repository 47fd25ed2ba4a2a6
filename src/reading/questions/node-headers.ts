import { LRUCache } from 'lru-cache';
import { atMost } from '../../core/at-most.ts';
import type { BlockHash } from '../../core/blob/ids.ts';
import type { ChainNode, HeaderMembers } from '../../node/chain-node.ts';

/** Questions for headers to the node at a time; a header costs the node well below a millisecond. */
const MAX_ASKED = 8;
const HEADER_MS = 2_000;
const REMEMBERED = 2_000;

/** Members of a header that only a node knows; an answer can do without them. */
export class NodeHeaders {
  readonly #node: Pick<ChainNode, 'header'>;
  readonly #known = new LRUCache<BlockHash, HeaderMembers>(atMost(REMEMBERED));
  #asked = 0;

  constructor(node: Pick<ChainNode, 'header'>) {
    this.#node = node;
  }

  async of(hash: BlockHash, signal: AbortSignal): Promise<HeaderMembers | null> {
    const known = this.#known.get(hash);
    if (known !== undefined) return known;
    if (this.#asked >= MAX_ASKED) return null;
    this.#asked += 1;
    try {
      const waiting = AbortSignal.any([signal, AbortSignal.timeout(HEADER_MS)]);
      const { shown } = await this.#node.header(hash, waiting);
      if (shown !== undefined) this.#known.set(hash, shown);
      return shown ?? null;
    } catch {
      // The walk's own facts of the block are an answer without the node's.
      return null;
    } finally {
      this.#asked -= 1;
    }
  }
}
