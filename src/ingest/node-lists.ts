import type { BlockHash, TxId, VersionHash } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BlobNode, ListedBlob } from '../node/blob-node.ts';
import { MAX_LISTED, sweepCondition, sweepList } from './list-sweep.ts';

type ListingNode = Pick<BlobNode, 'name' | 'genesisHash' | 'listBlobs'>;

/** The lists of all configured nodes, each read once. */
export interface AllListed {
  readonly byHash: ReadonlyMap<VersionHash, ListedBlob>;
  readonly transactions: ReadonlySet<TxId>;
  /** Nodes whose list was not read completely. While there is one, an unnamed blob may be listed all the same. */
  readonly silent: readonly string[];
}

/** At most one reading begins in this time, however many names clients make up. */
const READ_AGAIN_MS = 500;
/** The longest wait for a node that hangs: clients give up on an answer after five seconds. */
const PATIENCE_MS = 3_000;

/**
 * The lists of all configured nodes, and not only of the one that is followed: asked before something is called absent
 * for good. Concurrent questions share one reading, which begins after each of them was put.
 */
export class NodeLists {
  readonly #nodes: readonly ListingNode[];
  readonly #pageEntries: number;
  readonly #boundChain: () => Promise<BlockHash | null>;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** Nodes that said of themselves that they are on another chain: nothing is waited for from them. */
  readonly #strangers = new Set<string>();
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<AllListed> | null = null;
  #begunMs = Number.NEGATIVE_INFINITY;

  constructor(
    nodes: readonly ListingNode[],
    pageEntries: number,
    boundChain: () => Promise<BlockHash | null>,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#nodes = nodes;
    this.#pageEntries = pageEntries;
    this.#boundChain = boundChain;
    this.#clock = clock;
  }

  /** Reports whether several nodes are configured. The follower reads the list of a lone node. */
  get isOfSeveral(): boolean {
    return this.#nodes.length > 1;
  }

  read(): Promise<AllListed> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  async #begin(): Promise<AllListed> {
    await this.#running;
    const pauseMs = this.#begunMs + READ_AGAIN_MS - this.#clock.steadyMs();
    if (pauseMs > 0) await new Promise((resume) => setTimeout(resume, pauseMs));
    this.#next = null;
    this.#begunMs = this.#clock.steadyMs();
    const reading = this.#readAll(AbortSignal.timeout(PATIENCE_MS));
    this.#running = reading;
    return await reading;
  }

  async #readAll(signal: AbortSignal): Promise<AllListed> {
    const byHash = new Map<VersionHash, ListedBlob>();
    const transactions = new Set<TxId>();
    const note = (entries: readonly ListedBlob[]) => {
      for (const entry of entries) {
        byHash.set(entry.versionHash, entry);
        if (entry.txid !== null) transactions.add(entry.txid);
      }
    };
    const isWhole = await Promise.all(this.#nodes.map((node) => this.#readOne(node, note, signal)));
    return { byHash, transactions, silent: this.#nodes.filter((_, at) => !isWhole[at]).map(({ name }) => name) };
  }

  /** true: everything that it lists is noted, or it has no say. */
  async #readOne(
    node: ListingNode,
    note: (entries: readonly ListedBlob[]) => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      const [genesis, bound] = await Promise.all([node.genesisHash(signal), this.#boundChain()]);
      if (genesis !== bound) {
        this.#strangers.add(node.name);
        return true;
      }
      this.#strangers.delete(node.name);
      const limits = { pageEntries: this.#pageEntries, maxEntries: MAX_LISTED, isThorough: true };
      return sweepCondition(await sweepList(node, limits, note, signal)) === null;
    } catch {
      // Another condition reports that a node does not answer. Here its silence only prevents a claim of absence.
      return this.#strangers.has(node.name);
    }
  }
}
