import type { HashType } from '../blob/ids.ts';

/** How rows spell a hash type. Never renumber: files on disk hold these. */
const CODES: Readonly<Record<HashType, number>> = { keccak256: 1, blake2s256: 2 };

export function hashTypeCode(hashType: HashType): number {
  return CODES[hashType];
}

export function hashTypeFrom(code: number): HashType {
  if (code === 1) return 'keccak256';
  if (code === 2) return 'blake2s256';
  throw new RangeError(`a row names hash type ${code}, which no version of this program wrote`);
}
