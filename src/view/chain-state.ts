import type { Notifier } from '../core/notifier.ts';
import type { WalkedTip } from './chain-view.ts';

/** Reason why no content may be called absent, or not final, now. */
export type NotCurrent = 'walk-behind' | 'finality-unknown' | 'not-compared';

/**
 * State of the chain at this moment, published by the follower. All other rooms depend on this interface alone. Each
 * property is read on every use, and none is kept over an await.
 */
export interface ChainState {
  /** The last block that the walk recorded durably. */
  readonly tip: WalkedTip | null;
  /** Up to here our branch is final, and may be called so now: not above the last block that all nodes have. */
  readonly finalHeight: number | null;
  /** The walk is where the node is: what no block named is in no block, by that node. */
  readonly isWalked: boolean;
  /** The same, and the nodes were compared: what no block named is in no block, and what is final may be called so. */
  readonly isCurrent: boolean;
  readonly whyNotCurrent: NotCurrent | null;
  /** Configured nodes follow different branches, by what each of them said last. */
  readonly hasConflict: boolean;
  /** Records of blocks lie on the backends that this catalog, being new, has not walked: what is final there is not known. */
  readonly lacksHistory: boolean;
  /** false: what is final may only not have been asked for yet. */
  readonly hasLookedForFinal: boolean;
  /** Blocks that the node has and the walk has not; null: that is not known. */
  readonly lagBlocks: number | null;
  /** Notifies when any of it may have changed. */
  readonly moved: Notifier;
}
