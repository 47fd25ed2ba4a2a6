import type { QueuedBlob } from '../catalog/seen-table.ts';
import { HASH_TYPES } from '../core/blob/ids.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import { type VerifiedBlob, verifyBlob } from '../verify/verified-blob.ts';

/**
 * Finds bytes in the store without a row in the catalog: a crash left them there, durable but never acknowledged, or
 * the catalog was lost. Only blobs that were queued when this process opened the catalog can have any, or all blobs
 * while the catalog is rebuilt.
 */
export class OrphanFinder {
  readonly #store: ObjectStore;
  readonly #hasher: BlobHasher;
  readonly #openedMs: number;
  readonly #reindexer: { readonly isDone: boolean };

  /**
   * @param openedMs opening time of the catalog, which guarantees that its earlier rows have smaller times
   * @param reindexer `isDone` is false while the catalog is rebuilt
   */
  constructor(store: ObjectStore, hasher: BlobHasher, openedMs: number, reindexer: { readonly isDone: boolean }) {
    this.#store = store;
    this.#hasher = hasher;
    this.#openedMs = openedMs;
    this.#reindexer = reindexer;
  }

  mayHave(wanted: QueuedBlob): boolean {
    return wanted.firstSeenMs < this.#openedMs || !this.#reindexer.isDone;
  }

  /** null: there is none, or it is not what its name says. */
  async find(wanted: QueuedBlob, signal: AbortSignal): Promise<VerifiedBlob | null> {
    for (const hashType of HASH_TYPES) {
      const { versionHash } = wanted;
      const bytes = await this.#store.get({ hashType, versionHash }, signal);
      if (bytes === null) continue;
      const verified = verifyBlob({ hashType, versionHash, bytes }, this.#hasher);
      if (verified !== null) return verified;
    }
    return null;
  }
}
