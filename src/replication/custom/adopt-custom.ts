import type { Catalog } from '../../catalog/catalog.ts';
import { encodeHex } from '../../core/blob/hex.ts';
import { HASH_TYPES, type VersionHash } from '../../core/blob/ids.ts';
import { StorageError } from '../../storage/errors.ts';
import { type BlobHasher, hashWith } from '../../verify/hasher.ts';
import type { CustomPlace } from './custom-place.ts';

export interface AdoptingCustom {
  readonly catalog: Catalog;
  readonly hasher: BlobHasher;
  /** Whether the chain's dialect knows custom commitments. In every other dialect such bytes are corruption. */
  readonly isAllowed: boolean;
}

export interface AdoptedCustom {
  readonly adopted: number;
  /** Listed there, and did not hash to the keccak256 that they are named by: as if they were not there. */
  readonly damaged: number;
  /** Listed there, and not given when they were asked for. */
  readonly unread: number;
  /** Listed there, and unknown here, where the dialect knows no custom commitments: as if they were not there. */
  readonly refused: number;
}

/**
 * All custom bytes that a place lists and the catalog does not know it to hold, of one version hash or of all (null):
 * fetched, hashed, and recorded. Throws `StorageError` when it cannot be listed.
 */
export async function adoptCustom(
  place: CustomPlace,
  versionHash: VersionHash | null,
  { catalog: { custom, withheld }, hasher, isAllowed }: AdoptingCustom,
  signal: AbortSignal,
): Promise<AdoptedCustom> {
  const counts = { adopted: 0, damaged: 0, unread: 0, refused: 0 };
  for await (const entry of place.list(versionHash, signal)) {
    signal.throwIfAborted();
    const isWithheld = withheld.has({ versionHash: entry.versionHash, hashType: null });
    if (isWithheld || custom.isGoodAt(place.id, entry)) continue;
    if (!isAllowed && !custom.isKnown(entry)) {
      counts.refused += 1;
      continue;
    }
    try {
      const found = await place.look(entry, signal);
      if (found.kind === 'damaged') counts.damaged += 1;
      if (found.kind !== 'good' || matchesAnyHash(entry.versionHash, found.bytes, hasher)) continue;
      custom.record(entry, found.bytes.length, place.id);
      counts.adopted += 1;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StorageError)) throw error;
      counts.unread += 1;
    }
  }
  return counts;
}

/** Reports whether the version hash is a hash of the bytes: then they are a blob, and no custom commitment. */
export function matchesAnyHash(versionHash: VersionHash, bytes: Uint8Array, hasher: BlobHasher): boolean {
  return HASH_TYPES.some((hashType) => encodeHex(hashWith(hasher, hashType, bytes)) === versionHash);
}
