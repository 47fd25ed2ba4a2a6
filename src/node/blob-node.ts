import type { BlockHash, TxId, VersionHash } from '../core/blob/ids.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';

/** Tip of the node's active branch. */
export interface ChainTip {
  readonly height: number;
  readonly hash: BlockHash;
  /** Median time of the last eleven blocks in Unix seconds: the chain's own clock. */
  readonly medianTimeSeconds: number;
  /** true while the node catches up: its cache and tip are then old. */
  readonly syncing: boolean;
  /** The node's name of its network: `main`, `test`, `regtest`. */
  readonly network?: string | null;
}

/** One entry of the node's cache, in one format for all dialects. */
export interface ListedBlob {
  readonly versionHash: VersionHash;
  /** Size from the list. It is a hint: only the hash proves the bytes and their size. */
  readonly sizeBytes: number;
  /** Field `mtp` (release 5) or `mpt` (4.4) in seconds; null in the specification's dialect, which lacks it. */
  readonly medianTimeSeconds: number | null;
  readonly txid: TxId | null;
  /** Failed fetches so far. With several nodes, the next attempt asks another one. */
  readonly attempts?: number;
}

/** One page of the cache. */
export interface ListedPage {
  readonly entries: readonly ListedBlob[];
  /** Number of malformed entries, whose names are unknown. */
  readonly unreadable: number;
}

/** Result of fetching one blob. Only `absent` means that the node answered that it lacks the blob. */
export type FetchOutcome =
  /**
   * `doubt`: contradictions in the answer, reported if the bytes fail verification. `mayBeCustom`: the dialect allows
   * custom commitments.
   */
  | {
      readonly kind: 'bytes';
      readonly blob: UnverifiedBlob;
      readonly doubt?: Error | null;
      readonly mayBeCustom?: boolean;
    }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly error: Error };

/**
 * The calls of a layer-1 node that archiving blobs needs. Each may throw; an abort rejects with the signal's reason.
 */
export interface BlobNode {
  /** Address without credentials, for people. */
  readonly name: string;
  genesisHash(signal: AbortSignal): Promise<BlockHash>;
  tip(signal: AbortSignal): Promise<ChainTip>;
  /** Reads one page of the cache. The order changes between calls, and an entry can repeat. */
  listBlobs(page: { count: number; from: number }, signal: AbortSignal): Promise<ListedPage>;
  /**
   * Fetches blobs in one request (one: a plain call; several: a batch). Resolves to outcomes in the same order. The
   * caller bounds number and bytes by the listed sizes; a single blob may have any size. Rejects when the request as a
   * whole failed.
   */
  fetchBlobs(wanted: readonly ListedBlob[], signal: AbortSignal): Promise<FetchOutcome[]>;
  close(): Promise<void>;
}
