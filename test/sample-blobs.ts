import { createHash } from 'node:crypto';
import { encodeHex } from '../src/core/blob/hex.ts';
import { type ContentName, type HashType, parseVersionHash } from '../src/core/blob/ids.ts';
import { createNodeHasher } from '../src/hashing/index.ts';
import { hashWith } from '../src/verify/hasher.ts';
import { type VerifiedBlob, verifyBlob } from '../src/verify/verified-blob.ts';

/** The archive's own, as it is assembled. Noble takes sixteen times as long, and tests make many large blobs. */
export const HASHER = await createNodeHasher();

/** SHAKE256 of the label: the same bytes every time, and different ones for every label. */
export function sampleBytes(label: string, sizeBytes: number): Uint8Array {
  return new Uint8Array(createHash('shake256', { outputLength: sizeBytes }).update(label).digest());
}

/** A blob that is what it says, made the way the archive makes it. */
export function sampleBlob(label: string, sizeBytes: number, hashType: HashType = 'keccak256'): VerifiedBlob {
  const bytes = sampleBytes(label, sizeBytes);
  const versionHash = parseVersionHash(encodeHex(hashWith(HASHER, hashType, bytes)));
  const blob = verifyBlob({ versionHash, hashType, bytes }, HASHER);
  if (blob === null) throw new Error('A blob did not verify against its own hash.');
  return blob;
}

export function nameOf({ hashType, versionHash }: ContentName): ContentName {
  return { hashType, versionHash };
}

/** The signal of calls that are never stopped. */
export const NEVER: AbortSignal = new AbortController().signal;
