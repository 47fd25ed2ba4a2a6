import type { ContentName } from '../core/blob/ids.ts';
import type { UnverifiedBlob, VerifiedBlob } from '../verify/verified-blob.ts';

/** What a store says it holds; nothing is proven until the bytes are fetched and hashed. */
export interface StoredEntry extends ContentName {
  readonly sizeBytes: number;
  /** The layout names the hash only (Sentinel's): `hashType` is the likely one; join on the version hash alone. */
  readonly hashTypeUnsaid?: true;
}

/**
 * One place where bytes live. Every call may throw `StorageError`; an abort rejects with the signal's reason.
 * `null` is only ever the store's positive answer that it has not got the content: a fault throws.
 */
export interface BlobStore {
  /** Stable name, for records and messages: `local`. */
  readonly id: string;
  /** Resolves when the bytes are durable: neither `kill -9` nor power loss takes them back. Repeating it is harmless. */
  put(blob: VerifiedBlob, signal: AbortSignal): Promise<void>;
  /**
   * `put` without looking first, where looking costs a question of its own: for what is not known to be there. It leaves
   * alone what lies there already, right or wrong; the read-back tells, and `put` mends.
   */
  putUnseen?(blob: VerifiedBlob, signal: AbortSignal): Promise<void>;
  /** The bytes as they are there now, unproven. */
  get(name: ContentName, signal: AbortSignal): Promise<UnverifiedBlob | null>;
  stat(name: ContentName, signal: AbortSignal): Promise<StoredEntry | null>;
  /** Is what is there also kept for good (Kubo: pinned)? Only where being there is not all of it. */
  isKept?(name: ContentName, signal: AbortSignal): Promise<boolean>;
  list(signal: AbortSignal): AsyncIterable<StoredEntry>;
  /** `list` without sizes, where each size costs a question of its own (IPFS). Elsewhere `list` is as cheap. */
  names?(signal: AbortSignal): AsyncIterable<ContentName>;
  /** For scrub and expiry only. Deleting what is not there is no error. */
  delete(name: ContentName, signal: AbortSignal): Promise<void>;
  /**
   * Deletes also what `delete` leaves where a store keeps more of it: older versions, copies set aside. false: there was
   * nothing. `storage/locked` where a lock forbids it. Absent: `delete` leaves nothing.
   */
  purge?(name: ContentName, signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

/** A store with names of its own can keep what is damaged for a closer look, before it is replaced in place. */
export interface DamageKeeper {
  /** Copies what lies there to a place of its own, and says which; null when nothing is there. Repeating is harmless. */
  setAside(name: ContentName, signal: AbortSignal): Promise<string | null>;
}
