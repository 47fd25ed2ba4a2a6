import { encodeHex } from '../../core/blob/hex.ts';
import type { VersionHash } from '../../core/blob/ids.ts';
import { type CustomName, type ListedCustom, listCustom, type ObjectStore } from '../../storage/object-store.ts';
import type { ProbeFinding } from '../../storage/probe.ts';
import { type BlobHasher, hashWith } from '../../verify/hasher.ts';
import { admittedStore } from '../archive-sources.ts';
import type { BackendHandle } from '../backend-handle.ts';

/** The state of a place's copy. `missing` is the place's answer; a fault is an error, and thrown. */
export type CustomFinding =
  | { readonly kind: 'good'; readonly bytes: Uint8Array }
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged' };

/** A place where custom bytes lie: the data folder, in either mode, or a backend with names. */
export class CustomPlace {
  readonly id: string;
  readonly #store: ObjectStore;
  readonly #hasher: BlobHasher;
  /** null: the data folder. */
  readonly #site: BackendHandle | null;

  /** A backend throws what is wrong with it when it is not to be asked now. */
  constructor(at: ObjectStore | BackendHandle, hasher: BlobHasher) {
    this.id = at.id;
    this.#site = 'store' in at ? at : null;
    this.#store = 'store' in at ? admittedStore(at) : at;
    this.#hasher = hasher;
  }

  /** Reports whether the place may be asked and written to now. */
  get isUsable(): boolean {
    return this.#site === null || (this.#site.isAdmitted && !this.#site.isLeftAlone);
  }

  probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    return this.#store.probe(signal);
  }

  /** Reads the bytes that are there now, and hashes them. */
  async read(name: CustomName, signal: AbortSignal, store: ObjectStore = this.#store): Promise<CustomFinding> {
    const bytes = await store.get(name, signal);
    if (bytes === null) return { kind: 'missing' };
    const isIt = encodeHex(hashWith(this.#hasher, 'keccak256', bytes)) === name.keccak;
    return isIt ? { kind: 'good', bytes } : { kind: 'damaged' };
  }

  /** The same; what seems bad is read again, on a fresh connection where there is one, before it is called so. */
  async look(name: CustomName, signal: AbortSignal): Promise<CustomFinding> {
    const site = this.#site;
    const first = await this.read(name, signal);
    if (first.kind === 'good') return first;
    if (site === null) return await this.read(name, signal);
    return await site.afresh((store) => this.read(name, signal, admittedStore(site, store)));
  }

  /** Writes the bytes. Other bytes under this name are copied aside before, and the name is never absent meanwhile. */
  async put({ versionHash, keccak }: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#store.put({ versionHash, keccak, bytes }, 'replace', signal);
  }

  /** The same, read back: true where it is proven to hold them, false where it gave something else back. */
  async bring(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    if ((await this.read(name, signal)).kind === 'good') return true;
    await this.put(name, bytes, signal);
    return (await this.read(name, signal)).kind === 'good';
  }

  list(versionHash: VersionHash | null, signal: AbortSignal): AsyncIterable<ListedCustom> {
    return listCustom(this.#store, versionHash, signal);
  }
}
