import { LRUCache } from 'lru-cache';
import type { Catalog } from '../catalog/catalog.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import { assertUpright, type HeightRange } from '../core/height-range.ts';
import type { Clock } from '../core/time/clock.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import type { ChainUnavailable, ChainUnavailableReason } from '../view/chain-view.ts';
import type { Inventory, InventoryLookup, InventoryView } from '../view/inventory-view.ts';
import { inventoryOf } from './inventory-of-range.ts';

/** A peer that compares asks for the same ranges again; what is held changes meanwhile. */
const REMEMBERED_MS = 10_000;
const REMEMBERED = 64;
/** Each takes up to seconds, one after the other. */
const MAX_WAITING = 4;

interface CountedInventory {
  readonly kind: 'found';
  readonly inventory: Inventory;
  /** Transactions of the range that seem to carry a blob, and of which it cannot be told which: at the same moment. */
  readonly unclear: number;
}

/** Gives the inventory of any range of final heights, one at a time, at one moment of the catalog. */
export class Inventories implements InventoryView {
  readonly #catalog: Pick<Catalog, 'chain' | 'snapshot'>;
  readonly #hasher: BlobHasher;
  readonly #chain: { readonly finalHeight: number | null; readonly lacksHistory: boolean };
  readonly #catalogRebuild: { readonly isDone: boolean };
  /** The chain that the data folder is bound to; null before the node first answered. */
  readonly #boundChain: () => Promise<BlockHash | null>;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #remembered = new LRUCache<string, { readonly readMs: number; readonly counted: CountedInventory }>({
    max: REMEMBERED,
  });
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(
    catalog: Pick<Catalog, 'chain' | 'snapshot'>,
    hasher: BlobHasher,
    chain: { readonly finalHeight: number | null; readonly lacksHistory: boolean },
    catalogRebuild: { readonly isDone: boolean },
    boundChain: () => Promise<BlockHash | null>,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#catalog = catalog;
    this.#hasher = hasher;
    this.#chain = chain;
    this.#catalogRebuild = catalogRebuild;
    this.#boundChain = boundChain;
    this.#clock = clock;
  }

  async inventory(from: number | null, to: number | null, signal: AbortSignal): Promise<InventoryLookup> {
    const lookup = await this.#look(from, to, true, signal);
    return lookup.kind === 'found' ? { kind: 'found', inventory: lookup.inventory } : lookup;
  }

  /** The same, read now: for a statement that is signed. */
  fresh(from: number | null, to: number | null, signal: AbortSignal): Promise<CountedInventory | ChainUnavailable> {
    return this.#look(from, to, false, signal);
  }

  async #look(
    from: number | null,
    to: number | null,
    mayBeKnown: boolean,
    signal: AbortSignal,
  ): Promise<CountedInventory | ChainUnavailable> {
    assertUpright(from, to);
    const genesis = await this.#boundChain();
    const { finalHeight } = this.#chain;
    const { startHeight } = this.#catalog.chain.state;
    if (!this.#catalogRebuild.isDone) return unavailable('rebuilding', 'The catalog is being rebuilt.', 30);
    if (startHeight === null || genesis === null) return unavailable('not-walked', 'No block has been walked yet.', 10);
    if (finalHeight === null) return unavailable('not-final', 'No block is final yet.', 30);
    const lowest = this.#chain.lacksHistory ? null : (this.#catalog.chain.state.lowestHeight ?? startHeight);
    if (lowest === null)
      return unavailable('rebuilding', 'Older blocks are still being walked: the catalog is new.', 30);
    const range = { from: from ?? lowest, to: to ?? finalHeight };
    if (Math.min(range.from, range.to) < lowest)
      return unavailable('not-walked', `The walk began at height ${lowest}; blocks below were not examined.`, 600);
    if (Math.max(range.from, range.to) > finalHeight)
      return unavailable('not-final', `The highest final block has height ${finalHeight}.`, 30);
    const known = mayBeKnown ? this.#known(range) : null;
    if (known !== null) return known;
    if (this.#waiting >= MAX_WAITING) return unavailable('not-placed', 'Other inventories are being made first.', 5);
    return this.#inTurn(() => this.#read(range, genesis, signal));
  }

  /** null: the range was not read lately, or its blocks have changed since. */
  #known({ from, to }: HeightRange): CountedInventory | null {
    const found = this.#remembered.get(`${from}-${to}`);
    if (found === undefined || this.#clock.steadyMs() - found.readMs > REMEMBERED_MS) return null;
    return this.#catalog.chain.blockAt(to)?.hash === found.counted.inventory.blockHash ? found.counted : null;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #read(
    range: HeightRange,
    genesis: BlockHash,
    signal: AbortSignal,
  ): Promise<CountedInventory | ChainUnavailable> {
    signal.throwIfAborted();
    const readMs = this.#clock.steadyMs();
    // The height of the same moment as the snapshot: a reorganisation may have lowered it while others had their turn.
    const { finalHeight } = this.#chain;
    const snapshot = this.#catalog.snapshot();
    try {
      if (finalHeight === null || range.to > finalHeight)
        return unavailable('not-final', `Block ${range.to} is not final any more.`, 30);
      const blockHash = snapshot.hashAt(range.to);
      if (blockHash === null) return unavailable('walk-behind', `Block ${range.to} is being walked again.`, 10);
      const found = await inventoryOf(snapshot, range, this.#hasher, signal);
      const inventory = { ...found, chain: genesis, finalHeight, blockHash };
      const counted = { kind: 'found' as const, inventory, unclear: snapshot.unclear(range.from, range.to) };
      this.#remembered.set(`${range.from}-${range.to}`, { readMs, counted });
      return counted;
    } finally {
      snapshot.close();
    }
  }
}

function unavailable(reason: ChainUnavailableReason, message: string, retryAfterSeconds: number): ChainUnavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
