import { LRUCache } from 'lru-cache';
import type { Catalog } from '../../catalog/catalog.ts';
import { atMost } from '../../core/at-most.ts';
import { encodeHex } from '../../core/blob/hex.ts';
import { parseVersionHash, type VersionHash } from '../../core/blob/ids.ts';
import { type BlobHasher, hashWith } from '../../verify/hasher.ts';
import { matchesAnyHash } from './adopt-custom.ts';
import type { CustomPlaces } from './custom-places.ts';

/** Contents of which is remembered what came last. */
const REMEMBERED = 10_000;

/**
 * Bytes that match neither hash of what the chain commits to, as dialect `svc` allows them: what came the same twice is
 * kept under its own hash, apart from everything that is proven. It is never verified, and it is not done with that: the
 * content stays in the queue, where every node is asked for it again.
 */
export class CustomKeeper {
  readonly #catalog: Catalog;
  readonly #hasher: BlobHasher;
  readonly #places: CustomPlaces;
  readonly #lastSeen = new LRUCache<VersionHash, VersionHash>(atMost(REMEMBERED));

  constructor(catalog: Catalog, hasher: BlobHasher, places: CustomPlaces) {
    this.#catalog = catalog;
    this.#hasher = hasher;
    this.#places = places;
  }

  /** One fetch gave these; true: they are kept. Those that match a hash after all are none of its business. */
  async notice(versionHash: VersionHash, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const [catalog, hasher, places] = [this.#catalog, this.#hasher, this.#places];
    if (bytes.length === 0 || matchesAnyHash(versionHash, bytes, hasher)) return false;
    if (catalog.withheld.has({ versionHash, hashType: null })) return false;
    const keccak = parseVersionHash(encodeHex(hashWith(hasher, 'keccak256', bytes)));
    const name = { versionHash, keccak };
    if (catalog.custom.isGoodAt(places.folder.id, name)) return true;
    // Bytes that were kept once and are damaged now need not come twice again.
    const isSame = this.#lastSeen.get(versionHash) === keccak || catalog.custom.isKnown(name);
    this.#lastSeen.set(versionHash, keccak);
    if (!isSame || !(await places.folder.bring(name, bytes, signal))) return false;
    catalog.custom.record(name, bytes.length, places.folder.id);
    return true;
  }
}
