import { getHashes, hash } from 'node:crypto';
import type { IHasher } from 'hash-wasm';
import type { HashType } from '../core/blob/ids.ts';
import { nobleHasher } from '../verify/hasher.ts';

/** Hashes bytes of any length to 32 bytes. */
export type HashFunction = (bytes: Uint8Array) => Uint8Array;

/** One implementation of a hash function. */
export interface HashCandidate {
  readonly engine: 'native' | 'hash-wasm' | 'noble';
  /** Resolves to null when this Node lacks the implementation. */
  load(): Promise<HashFunction | null>;
}

function native(algorithm: string): HashCandidate {
  return {
    engine: 'native',
    async load() {
      return getHashes().includes(algorithm) ? (bytes) => hash(algorithm, bytes, 'buffer') : null;
    },
  };
}

/** Loads the library only here, for where the native one is, its 277 kB would be read for nothing, on each thread. */
function wasm(create: (library: typeof import('hash-wasm')) => Promise<IHasher>): HashCandidate {
  return {
    engine: 'hash-wasm',
    async load() {
      const state = await create(await import('hash-wasm'));
      return (bytes) => state.init().update(bytes).digest('binary');
    },
  };
}

/**
 * Implementations of Keccak256, fastest first. OpenSSL has it (with the padding from before SHA-3) in Node 26; Node 24
 * uses hash-wasm.
 */
export const KECCAK256_CANDIDATES: readonly HashCandidate[] = [
  native('keccak-256'),
  wasm(({ createKeccak }) => createKeccak(256)),
];

export const BLAKE2S256_CANDIDATES: readonly HashCandidate[] = [
  native('blake2s256'),
  wasm(({ createBLAKE2s }) => createBLAKE2s(256)),
];

export const NOBLE_KECCAK256: HashFunction = nobleHasher.keccak256;
export const NOBLE_BLAKE2S256: HashFunction = nobleHasher.blake2s256;

/** Loads the named implementation, which the caller has checked against noble. Falls back to noble. */
export async function loadEngine(hashType: HashType, engine: string): Promise<HashFunction> {
  const candidates = hashType === 'keccak256' ? KECCAK256_CANDIDATES : BLAKE2S256_CANDIDATES;
  const reference = hashType === 'keccak256' ? NOBLE_KECCAK256 : NOBLE_BLAKE2S256;
  return (await candidates.find((candidate) => candidate.engine === engine)?.load()) ?? reference;
}
