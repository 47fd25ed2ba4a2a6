import type { BlockHash, TxId, VersionHash } from '../core/blob/ids.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';

/** The end of the branch that the node follows. */
export interface ChainTip {
  readonly height: number;
  readonly hash: BlockHash;
  /** Median time of the last eleven blocks, seconds since 1970: the chain's own clock. */
  readonly medianTimeSeconds: number;
  /** The node is still catching up: its cache and tip are not today's. */
  readonly syncing: boolean;
  /** The node's own name of its chain: `main`, `test`, `regtest`. */
  readonly network?: string | null;
}

/** One entry of the node's cache, in one shape for all dialects. */
export interface ListedBlob {
  readonly versionHash: VersionHash;
  /** A hint for requests: the hash decides what the bytes are, and with that their size. */
  readonly sizeBytes: number;
  /** `mtp` (release 5) or `mpt` (4.4); null where the dialect does not tell (specification). */
  readonly medianTimeSeconds: number | null;
  readonly txid: TxId | null;
  /** How often it was asked for in vain: where there are several nodes, another one is asked then. */
  readonly attempts?: number;
}

/** One page of the cache. */
export interface ListedPage {
  readonly entries: readonly ListedBlob[];
  /** Entries that could not be read: what they name is not known. */
  readonly unreadable: number;
}

/** What became of one blob that was asked for. Only `absent` means that the node answered it has not got it. */
export type FetchOutcome =
  /** `doubt`: what speaks against the bytes; told if they do not verify. `mayBeCustom`: this node's dialect allows that. */
  | {
      readonly kind: 'bytes';
      readonly blob: UnverifiedBlob;
      readonly doubt?: Error | null;
      readonly mayBeCustom?: boolean;
    }
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly error: Error };

/** What the archive needs of a layer-1 node. Every call may throw; an abort rejects with the signal's reason. */
export interface BlobNode {
  /** Where it is, without credentials, for people. */
  readonly name: string;
  genesisHash(signal: AbortSignal): Promise<BlockHash>;
  tip(signal: AbortSignal): Promise<ChainTip>;
  /** One page of the cache. The order is not stable between calls, and an entry can repeat. */
  listBlobs(page: { count: number; from: number }, signal: AbortSignal): Promise<ListedPage>;
  /**
   * Fetches these blobs in one request (one: a plain call; several: a batch); outcomes in the order of the request.
   * The caller bounds the number and the bytes by the sizes that the list gave; one alone may have any size. Throws when the request as a whole failed.
   */
  fetchBlobs(wanted: readonly ListedBlob[], signal: AbortSignal): Promise<FetchOutcome[]>;
  close(): Promise<void>;
}
