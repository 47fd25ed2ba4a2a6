import { encodeHex } from '../../core/blob/hex.ts';
import type { VersionHash } from '../../core/blob/ids.ts';
import { type CustomName, type ListedCustom, listCustom, type ObjectStore } from '../../storage/object-store.ts';
import type { ProbeFinding } from '../../storage/probe.ts';
import { type BlobHasher, hashWith } from '../../verify/hasher.ts';
import type { CopyPlace } from '../copy-worker.ts';
import type { Site } from '../site.ts';

/** What a place's copy turned out to be. `missing` is what it answered; a fault is an error, and thrown. */
export type CustomFinding =
  | { readonly kind: 'good'; readonly bytes: Uint8Array }
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged' };

/** A place where custom bytes lie: the data folder, in either mode, or a backend with names. */
export interface CustomPlace extends CopyPlace {
  /** May it be asked and written to now? */
  readonly isUsable: boolean;
  /** As they are there now, hashed. */
  read(name: CustomName, signal: AbortSignal): Promise<CustomFinding>;
  /** The same; what seems bad is read again, on a fresh connection where there is one, before it is called so. */
  look(name: CustomName, signal: AbortSignal): Promise<CustomFinding>;
  /** What lay there and was not these is copied aside before, and the name is never absent meanwhile. */
  put(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** The same, read back: true where it is proven to hold them, false where it gave something else back. */
  bring(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<boolean>;
  list(versionHash: VersionHash | null, signal: AbortSignal): AsyncIterable<ListedCustom>;
  purge(versionHash: VersionHash, signal: AbortSignal): Promise<boolean>;
}

interface PlaceParts {
  readonly id: string;
  readonly store: ObjectStore;
  readonly hasher: BlobHasher;
  readonly probe: CopyPlace['probe'];
  readonly isUsable: () => boolean;
  /** Every question goes through here. Throws what is wrong with the place when it is not to be asked now. */
  readonly ask: <T>(question: () => Promise<T>, signal: AbortSignal) => Promise<T>;
  readonly afresh: <T>(question: (store: ObjectStore) => Promise<T>) => Promise<T>;
}

export function customFolderPlace(store: ObjectStore, hasher: BlobHasher): CustomPlace {
  return new Place({
    id: store.id,
    probe: (signal) => store.probe(signal),
    store,
    hasher,
    isUsable: () => true,
    ask: (question) => question(),
    afresh: (question) => question(store),
  });
}

/** null: a backend without names (IPFS). */
export function customSitePlace(site: Site, hasher: BlobHasher): CustomPlace | null {
  const { store } = site;
  if (!store.properties.holds.has('custom')) return null;
  return new Place({
    id: site.id,
    store,
    hasher,
    probe: (signal) => site.findings(signal),
    isUsable: () => site.isAdmitted && !site.isLeftAlone,
    ask: (question, signal) => {
      site.admit();
      return site.judged(question, signal);
    },
    afresh: (question) => site.afresh(question),
  });
}

class Place implements CustomPlace {
  readonly id: string;
  readonly #parts: PlaceParts;

  constructor(parts: PlaceParts) {
    this.id = parts.id;
    this.#parts = parts;
  }

  get isUsable(): boolean {
    return this.#parts.isUsable();
  }

  probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return this.#parts.probe(signal);
  }

  read(name: CustomName, signal: AbortSignal): Promise<CustomFinding> {
    return this.#read(this.#parts.store, name, signal);
  }

  async look(name: CustomName, signal: AbortSignal): Promise<CustomFinding> {
    const first = await this.read(name, signal);
    if (first.kind === 'good') return first;
    return await this.#parts.afresh((store) => this.#read(store, name, signal));
  }

  async bring(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    if ((await this.read(name, signal)).kind === 'good') return true;
    await this.put(name, bytes, signal);
    return (await this.read(name, signal)).kind === 'good';
  }

  async put({ versionHash, keccak }: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const { store, ask } = this.#parts;
    await ask(() => store.put({ versionHash, keccak, bytes }, 'replace', signal), signal);
  }

  list(versionHash: VersionHash | null, signal: AbortSignal): AsyncIterable<ListedCustom> {
    return listCustom(this.#parts.store, versionHash, signal);
  }

  purge(versionHash: VersionHash, signal: AbortSignal): Promise<boolean> {
    return this.#parts.store.purge({ customOf: versionHash }, signal);
  }

  async #read(store: ObjectStore, name: CustomName, signal: AbortSignal): Promise<CustomFinding> {
    const bytes = await this.#parts.ask(() => store.get(name, signal), signal);
    if (bytes === null) return { kind: 'missing' };
    const isIt = encodeHex(hashWith(this.#parts.hasher, 'keccak256', bytes)) === name.keccak;
    return isIt ? { kind: 'good', bytes } : { kind: 'damaged' };
  }
}
