import type { BlockHash } from '../core/blob/ids.ts';
import type { HoldingCounts } from '../verify/inventory.ts';
import type { ChainUnavailable } from './chain-view.ts';

/** Occurrences at some heights, both ends included. */
export interface InventoryPart {
  readonly from: number;
  readonly to: number;
  readonly counts: HoldingCounts;
  /** 64 hex characters; how it is made: `src/verify/inventory.ts`. */
  readonly digest: string;
}

export interface Inventory extends InventoryPart {
  /** Genesis block of the chain. */
  readonly chain: BlockHash;
  readonly finalHeight: number;
  /** The block at `to`. */
  readonly blockHash: BlockHash;
  /** The range in at most 256 aligned parts, without those that have no occurrence; null where `held` says it all. */
  readonly parts: readonly InventoryPart[] | null;
  /** Held occurrences of a small range in chain order, as run lengths (`12s1m`). */
  readonly held: string | null;
}

export type InventoryLookup = { readonly kind: 'found'; readonly inventory: Inventory } | ChainUnavailable;

/** Held final content in numbers, for comparison with another archive. */
export interface InventoryView {
  /**
   * null: from where the walk began, up to the highest final block.
   * @throws ArchiveError `archive/bad-range`
   */
  inventory(from: number | null, to: number | null, signal: AbortSignal): Promise<InventoryLookup>;
}
