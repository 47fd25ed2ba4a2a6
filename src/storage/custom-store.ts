import type { VersionHash } from '../blob/ids.ts';

/** Bytes that match neither hash of their version hash: named by it, and by the hash that they do have. */
export interface CustomName {
  readonly versionHash: VersionHash;
  /** Keccak256 of the bytes. */
  readonly keccak: VersionHash;
}

/** A place with a name space for such bytes, apart from everything that is proven. */
export interface CustomStore {
  /** Resolves when the bytes are durable. Repeating it is harmless. */
  putCustom(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** As they are there now, unproven; null: its positive answer that it has not got them. */
  getCustom(name: CustomName, signal: AbortSignal): Promise<Uint8Array | null>;
}

/** Below the root of a folder or a bucket. */
export function customPath({ versionHash, keccak }: CustomName): string {
  return `custom/${versionHash}/${keccak}`;
}
