import { blake2s } from '@noble/hashes/blake2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { HashType } from '../core/blob/ids.ts';

/** Both hashes that a version hash can be made with. Each takes any length and gives 32 bytes. */
export interface BlobHasher {
  /** Name of the implementation, for logs: `noble`, `native`, `hash-wasm`. */
  readonly engine: string;
  keccak256(bytes: Uint8Array): Uint8Array;
  blake2s256(bytes: Uint8Array): Uint8Array;
}

/** The reference that every faster implementation is checked against; pure JavaScript, runs in a browser. */
export const nobleHasher: BlobHasher = {
  engine: 'noble',
  keccak256: (bytes) => keccak_256(bytes),
  blake2s256: (bytes) => blake2s(bytes),
};

export function hashWith(hasher: BlobHasher, hashType: HashType, bytes: Uint8Array): Uint8Array {
  switch (hashType) {
    case 'keccak256':
      return hasher.keccak256(bytes);
    case 'blake2s256':
      return hasher.blake2s256(bytes);
    default:
      return hashType satisfies never;
  }
}
