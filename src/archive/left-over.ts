import { HASH_TYPES } from '../blob/ids.ts';
import type { WantedBlob } from '../catalog/wanted-table.ts';
import type { BlobStore } from '../storage/blob-store.ts';
import type { BlobHasher } from '../verify/hasher.ts';
import { type VerifiedBlob, verifyBlob } from '../verify/verified-blob.ts';

/**
 * Bytes that a crash left in the store without a row in the catalog: durable, never acknowledged. Only blobs that were
 * queued before this process started can have any.
 */
export class LeftOver {
  readonly #store: BlobStore;
  readonly #hasher: BlobHasher;
  readonly #startedMs: number;

  constructor(store: BlobStore, hasher: BlobHasher, startedMs: number) {
    this.#store = store;
    this.#hasher = hasher;
    this.#startedMs = startedMs;
  }

  mayHave(wanted: WantedBlob): boolean {
    return wanted.firstSeenMs < this.#startedMs;
  }

  /** null: there is none, or it is not what its name says. */
  async find(wanted: WantedBlob, signal: AbortSignal): Promise<VerifiedBlob | null> {
    if (!this.mayHave(wanted)) return null;
    for (const hashType of HASH_TYPES) {
      const found = await this.#store.get({ hashType, versionHash: wanted.versionHash }, signal);
      if (found === null) continue;
      const verified = verifyBlob(found, this.#hasher);
      if (verified !== null) return verified;
    }
    return null;
  }
}
