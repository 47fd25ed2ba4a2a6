import type { HashType } from '../blob/ids.ts';

/** Codes of hash types in rows. Never renumber: files on disk contain them. */
const CODES: Readonly<Record<HashType, number>> = { keccak256: 1, blake2s256: 2 };

export function hashTypeCode(hashType: HashType): number {
  return CODES[hashType];
}

export function hashTypeFrom(code: number): HashType {
  if (code === 1) return 'keccak256';
  if (code === 2) return 'blake2s256';
  throw new RangeError(`a row names hash type ${code}, which no version of this program wrote`);
}
