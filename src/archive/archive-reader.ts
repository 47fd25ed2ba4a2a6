import { type ContentName, HASH_TYPES, type NamedHash } from '../blob/ids.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ContentEntry } from '../catalog/content-table.ts';
import { StorageError } from '../storage/errors.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { RehashRule } from '../verify/verified-blob.ts';
import type { Adoption } from './adoption.ts';
import type { BlobLookup, Unavailable, UnavailableReason } from './archive-view.ts';
import type { ChainFollowing } from './chain/chain-following.ts';
import type { DamageWatch } from './damage-watch.ts';
import type { Poller } from './poller.ts';

export interface ReaderModules {
  readonly store: LocalStore;
  readonly catalog: Catalog;
  readonly rehash: RehashRule;
  readonly damage: DamageWatch;
  readonly poller: Poller;
  readonly adoption: Adoption;
  readonly chain: Pick<ChainFollowing, 'isCurrent'>;
}

/** Gives bytes only when they are proven, and says "absent" only when that is. */
export class ArchiveReader {
  readonly #modules: ReaderModules;

  constructor(modules: ReaderModules) {
    this.#modules = modules;
  }

  async read(name: NamedHash, signal: AbortSignal): Promise<BlobLookup> {
    const known = this.entriesOf(name);
    try {
      for (const entry of known) {
        if (entry.state === 'seen') continue;
        const blob = await this.#proven(entry, signal);
        if (blob !== null) return { kind: 'found', blob };
        this.#modules.damage.report(this.#modules.store.id, entry);
      }
      if (known.length > 0) {
        return unavailable('damaged', 'The copy here is damaged; it is fetched again while the node has it.', 30);
      }
      return (await this.absence(name, signal)) ?? { kind: 'absent' };
    } catch (error) {
      if (error instanceof StorageError) return unavailable('store-fault', error.message, 10);
      throw error;
    }
  }

  /** The rows that this name can mean. */
  entriesOf(name: NamedHash): ContentEntry[] {
    return this.#modules.catalog
      .find(name.versionHash)
      .filter((entry) => name.hashType === null || entry.hashType === name.hashType);
  }

  /** For a name without a row: null when it is proven absent, else why that cannot be said. */
  async absence(name: NamedHash, signal: AbortSignal): Promise<Unavailable | null> {
    const { catalog, poller, adoption, chain, store } = this.#modules;
    if (catalog.findWanted(name.versionHash) !== null) {
      return unavailable('not-fetched-yet', 'The node has listed it; its bytes are not here yet.', 5);
    }
    if (!adoption.isDone) return unavailable('cannot-tell', 'The catalog is being rebuilt.', 30);
    if (!poller.isListCurrent()) {
      return unavailable(
        'cannot-tell',
        'The node has not been asked lately, so it is not known whether this exists.',
        10,
      );
    }
    if (!chain.isCurrent()) {
      return unavailable('cannot-tell', 'The chain is not walked to its end, so it is not known whether this is on it.', 10);
    }
    for (const hashType of name.hashType === null ? HASH_TYPES : [name.hashType]) {
      if ((await store.stat({ hashType, versionHash: name.versionHash }, signal)) !== null) {
        return unavailable('cannot-tell', 'Bytes of this name are in the store, but not in the catalog yet.', 10);
      }
    }
    return null;
  }

  async #proven(entry: ContentName, signal: AbortSignal) {
    const copy = await this.#modules.store.copy(entry, signal);
    return copy === null ? null : this.#modules.rehash.admit(entry, copy.blob.bytes, copy.identity);
  }
}

function unavailable(reason: UnavailableReason, message: string, retryAfterSeconds: number): Unavailable {
  return { kind: 'unavailable', reason, message, retryAfterSeconds };
}
