import { LRUCache } from 'lru-cache';
import { atMost } from '../../core/at-most.ts';
import type { BlockHash } from '../../core/blob/ids.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { ChainHeader, ChainNode, HeaderMembers } from '../../node/chain-node.ts';
import { NodeRpcError } from '../../node/errors.ts';

/** Questions for headers to the node at a time; a header costs the node well below a millisecond. */
const MAX_ASKED = 8;
const HEADER_MS = 2_000;
const REMEMBERED = 2_000;
/** Questions for the height of an unknown block, at a time and each second: a client can make up any hash. */
const MAX_HEIGHTS_ASKED = 2;
const HEIGHTS_PER_SECOND = 10;
const HEIGHT_MS = 1_000 / HEIGHTS_PER_SECOND;
/** RPC error code of a node that knows no such block. */
const NO_SUCH_BLOCK = -5;

/** Headers as a node tells them. */
export class NodeHeaders {
  readonly #node: Pick<ChainNode, 'header'>;
  readonly #known = new LRUCache<BlockHash, ChainHeader>(atMost(REMEMBERED));
  readonly #clock: Pick<Clock, 'steadyMs'>;
  #asked = 0;
  #heightsAsked = 0;
  /** Moment at which the questions for heights up to now are paid for; at most a second of them is asked ahead. */
  #heightsPaidMs = Number.NEGATIVE_INFINITY;

  constructor(node: Pick<ChainNode, 'header'>, clock: Pick<Clock, 'steadyMs'>) {
    this.#node = node;
    this.#clock = clock;
  }

  /** Members that only a node knows; an answer can do without them. */
  async of(hash: BlockHash, signal: AbortSignal): Promise<HeaderMembers | null> {
    const header = await this.#ask(hash, signal);
    return header === 'denied' ? null : (header?.shown ?? null);
  }

  /**
   * Height of a block on any branch. `denied`: the node knows no such block; null: no node answers now, or it is asked for too
   * many.
   */
  async heightOf(hash: BlockHash, signal: AbortSignal): Promise<number | 'denied' | null> {
    const known = this.#known.get(hash);
    if (known !== undefined) return known.height;
    if (!this.#mayAskHeight()) return null;
    this.#heightsAsked += 1;
    try {
      const header = await this.#ask(hash, signal);
      return header === 'denied' ? 'denied' : (header?.height ?? null);
    } finally {
      this.#heightsAsked -= 1;
    }
  }

  #mayAskHeight(): boolean {
    const nowMs = this.#clock.steadyMs();
    const paidMs = Math.max(nowMs, this.#heightsPaidMs) + HEIGHT_MS;
    if (this.#heightsAsked >= MAX_HEIGHTS_ASKED || paidMs > nowMs + HEIGHTS_PER_SECOND * HEIGHT_MS) return false;
    this.#heightsPaidMs = paidMs;
    return true;
  }

  async #ask(hash: BlockHash, signal: AbortSignal): Promise<ChainHeader | 'denied' | null> {
    const known = this.#known.get(hash);
    if (known !== undefined) return known;
    if (this.#asked >= MAX_ASKED) return null;
    this.#asked += 1;
    try {
      const waiting = AbortSignal.any([signal, AbortSignal.timeout(HEADER_MS)]);
      const header = await this.#node.header(hash, waiting);
      this.#known.set(hash, header);
      return header;
    } catch (error) {
      return error instanceof NodeRpcError && error.rpcCode === NO_SUCH_BLOCK ? 'denied' : null;
    } finally {
      this.#asked -= 1;
    }
  }
}
