import { encodeHex } from '../blob/hex.ts';
import { type ContentName, HASH_TYPES, type HashType, type VersionHash } from '../blob/ids.ts';
import { type BlobHasher, hashWith } from './hasher.ts';

/** Bytes that somebody says have this version hash. Nothing may store or serve them. */
export interface UnverifiedBlob {
  readonly versionHash: VersionHash;
  /** Where it is known (chain, store), only this hash counts. null: keccak256 is tried, then blake2s256. */
  readonly hashType: HashType | null;
  readonly bytes: Uint8Array;
}

/** Bytes proven to hash to their version hash. Only verification makes one; storage takes nothing else. */
export class VerifiedBlob implements ContentName {
  readonly hashType: HashType;
  readonly versionHash: VersionHash;
  readonly bytes: Uint8Array;

  private constructor(name: ContentName, bytes: Uint8Array) {
    this.hashType = name.hashType;
    this.versionHash = name.versionHash;
    this.bytes = bytes;
  }

  /** Hashes the bytes; null when no hash that may count gives the version hash. */
  static verify(candidate: UnverifiedBlob, hasher: BlobHasher): VerifiedBlob | null {
    const types = candidate.hashType === null ? HASH_TYPES : [candidate.hashType];
    for (const hashType of types) {
      if (encodeHex(hashWith(hasher, hashType, candidate.bytes)) === candidate.versionHash) {
        return new VerifiedBlob({ hashType, versionHash: candidate.versionHash }, candidate.bytes);
      }
    }
    return null;
  }
}

export function verifyBlob(candidate: UnverifiedBlob, hasher: BlobHasher): VerifiedBlob | null {
  return VerifiedBlob.verify(candidate, hasher);
}
