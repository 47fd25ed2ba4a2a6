import type { Catalog } from '../../catalog/catalog.ts';
import { StorageError } from '../../storage/errors.ts';
import type { CustomName, ObjectStore } from '../../storage/object-store.ts';
import type { BlobHasher } from '../../verify/hasher.ts';
import type { BackendHandle } from '../backend-handle.ts';
import { CustomPlace } from './custom-place.ts';

export interface CustomSearch {
  /** null: no place that answered has a good copy. */
  readonly bytes: Uint8Array | null;
  /** The first place that could not answer: as long as there is one, nothing is known to be absent. */
  readonly fault: StorageError | null;
}

/** All the places that can hold custom bytes, as one: the data folder first, every byte hashed. */
export class CustomPlaces {
  readonly all: readonly CustomPlace[];
  readonly folder: CustomPlace;
  readonly #catalog: Catalog;

  /** `store`: the data folder, whose name in the catalog is `local`. */
  constructor(catalog: Catalog, hasher: BlobHasher, store: ObjectStore, sites: readonly BackendHandle[]) {
    this.#catalog = catalog;
    this.folder = new CustomPlace(store, hasher);
    // A backend without names (IPFS) holds none.
    const named = sites.filter((site) => site.store.properties.holds.has('custom'));
    this.all = [this.folder, ...named.map((site) => new CustomPlace(site, hasher))];
  }

  /** `except`: a place that is not asked, because it is the one to be filled. What is found wrong on the way is recorded. */
  async find(name: CustomName, signal: AbortSignal, except: string | null = null): Promise<CustomSearch> {
    const { custom } = this.#catalog;
    let fault: StorageError | null = null;
    for (const place of this.all) {
      if (place.id === except) continue;
      try {
        const found = await place.look(name, signal);
        if (found.kind === 'good') return { bytes: found.bytes, fault };
        if (custom.isGoodAt(place.id, name)) custom.recordDamaged(name, place.id);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageError)) throw error;
        fault ??= error;
      }
    }
    return { bytes: null, fault };
  }
}
