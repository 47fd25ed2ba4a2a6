import type { ContentName } from '../../core/blob/ids.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import type { BackfillSource, SourceAnswer, ToldSize } from './backfill-source.ts';

/** A bucket. Without a known layout, each layout is tried in turn. The bucket is only read. */
export class BucketSource implements BackfillSource {
  readonly name: string;
  readonly #stores: readonly ObjectStore[];

  /** One store for each layout that it can have. */
  constructor(name: string, stores: readonly ObjectStore[]) {
    this.name = name;
    this.#stores = stores;
  }

  async find(name: ContentName, signal: AbortSignal): Promise<SourceAnswer> {
    const candidates: Uint8Array[] = [];
    for (const store of this.#stores) {
      const found = await store.get(name, signal);
      if (found !== null) candidates.push(found);
    }
    return candidates.length === 0 ? { kind: 'absent' } : { kind: 'bytes', candidates };
  }

  async size(name: ContentName, signal: AbortSignal): Promise<ToldSize> {
    for (const store of this.#stores) {
      const found = await store.stat(name, signal);
      if (found !== null) return found.sizeBytes;
    }
    return null;
  }

  async close(): Promise<void> {
    for (const store of this.#stores) await store.close();
  }
}
