import { parseVersionHash, type VersionHash } from '../core/blob/ids.ts';

/** Bytes that match neither hash of their version hash: named by it, and by the hash that they do have. */
export interface CustomName {
  readonly versionHash: VersionHash;
  /** Keccak256 of the bytes. */
  readonly keccak: VersionHash;
}

/** What a place says it holds; nothing is proven until the bytes are fetched and hashed. */
export interface ListedCustom extends CustomName {
  readonly sizeBytes: number;
}

/**
 * A place with a name space for such bytes, apart from everything that is proven. Every call may throw `StorageError`; an
 * abort rejects with the signal's reason.
 */
export interface CustomStore {
  /** Resolves when the bytes are durable. Repeating it is harmless; what lies there and is not these is replaced. */
  putCustom(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** As they are there now, unproven; null: its positive answer that it has not got them. */
  getCustom(name: CustomName, signal: AbortSignal): Promise<Uint8Array | null>;
  /** In the order of names; of one version hash, or of all (null). */
  listCustom(versionHash: VersionHash | null, signal: AbortSignal): AsyncIterable<ListedCustom>;
  /** Copies what lies there to a place of its own, before it is replaced. null: nothing is there, or there is no room. */
  setCustomAside(name: CustomName, signal: AbortSignal): Promise<string | null>;
  /**
   * Deletes all that lies under this version hash for good: older versions and copies set aside as well. false: there was
   * nothing. `storage/locked` where a lock forbids it; what is not locked is deleted all the same.
   */
  purgeCustom(versionHash: VersionHash, signal: AbortSignal): Promise<boolean>;
}

const PATH = /^custom\/([0-9a-f]{64})\/([0-9a-f]{64})$/;

/** Below the root of a folder or a bucket. */
export function customPath({ versionHash, keccak }: CustomName): string {
  return `custom/${versionHash}/${keccak}`;
}

/** null: what else lies there is not ours. */
export function customNameOf(path: string): CustomName | null {
  const [, versionHash, keccak] = PATH.exec(path) ?? [];
  if (versionHash === undefined || keccak === undefined) return null;
  return { versionHash: parseVersionHash(versionHash), keccak: parseVersionHash(keccak) };
}
