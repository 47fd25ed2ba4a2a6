import type { BlockHash, HashType, TxId, VersionHash } from '../core/blob/ids.ts';
import type { SenderScript } from '../core/blob/sender.ts';
import type { WindowState } from '../core/blob/window-state.ts';

export interface WindowBlob {
  readonly versionHash: VersionHash;
  /** null: only listed so far, and a list does not say which hash it is. */
  readonly hashType: HashType | null;
  readonly txid: TxId | null;
  /** Scripts that its transaction spends from, while they are known: no list tells them. */
  readonly senders?: readonly SenderScript[];
  /** null: not known yet. */
  readonly sizeBytes: number | null;
  readonly state: WindowState;
  /** Backends that count and are proven to hold it. */
  readonly copies: number;
}

export interface BlobColumn {
  readonly blobs: readonly WindowBlob[];
  /** There are more of them than are named here. */
  readonly hasMore: boolean;
}

/** One block of the branch that was walked. */
export interface WindowBlock extends BlobColumn {
  readonly height: number;
  readonly hash: BlockHash;
  readonly timeSeconds: number;
  /** The node may prune its blobs when the chain's clock is `retentionSeconds` past this. */
  readonly medianTimeSeconds: number;
  readonly isFinal: boolean;
}

/** Holdings of a backend among the drawn blobs; a blob in several blocks counts in each. */
export interface BackendTally {
  readonly backend: string;
  /** Whether its copies count towards `stored`. */
  readonly counts: boolean;
  readonly good: number;
  readonly wanted: number;
  readonly damaged: number;
}

/** The window as people look at it. */
export interface WindowPicture {
  readonly retentionSeconds: number;
  readonly tip: { readonly height: number; readonly medianTimeSeconds: number } | null;
  /** In the order of the chain: those of the window and a few older ones, and no more than can be drawn. */
  readonly blocks: readonly WindowBlock[];
  /** Older blocks of the window that are not among them. */
  readonly blocksNotDrawn: number;
  /** Listed, and in no block yet. */
  readonly waiting: BlobColumn;
  /** Blobs on chain that can still be saved, drawn or not. */
  readonly atRisk: number;
  readonly backends: readonly BackendTally[];
}

/** Queries of the room `http` for the page. */
export interface WindowView {
  /**
   * Cheap when nothing changed: then it is the same object as before, and each block that did not change is. What became
   * of older blocks can be told some looks later; what is at risk is told at once.
   */
  picture(): WindowPicture;
}
