import type { TxId, VersionHash } from '../../core/blob/ids.ts';
import { RETENTION_SECONDS } from '../../core/blob/limits.ts';
import type { Content } from './content.ts';
import { seededBytes } from './seeded-bytes.ts';

/** One entry of the node's blob cache. */
export interface CacheEntry {
  readonly content: Content;
  /** The newest mined transaction that carries the blob, or else a waiting one. */
  readonly txid: TxId;
  readonly medianTimeSeconds: number;
}

export interface CacheStats {
  readonly totalBlobs: number;
  readonly totalBytes: number;
  readonly oldestSeconds: number;
  readonly newestSeconds: number;
}

/**
 * The node's six-hour cache: an in-memory map in front of a key-value store. The two layers explain the order of its
 * lists.
 */
export class BlobCache {
  readonly #seed: string;
  /** Entries not flushed yet, in the order of a salted hash map. */
  readonly #fresh = new Map<string, CacheEntry>();
  readonly #flushed = new Map<string, CacheEntry>();
  #flushedInOrder: CacheEntry[] | null = null;

  constructor(seed: string) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#fresh.size + this.#flushed.size;
  }

  get(versionHash: string): CacheEntry | null {
    return this.#fresh.get(versionHash) ?? this.#flushed.get(versionHash) ?? null;
  }

  set(entry: CacheEntry): void {
    const key = entry.content.versionHash;
    if (this.#flushed.delete(key)) this.#flushedInOrder = null;
    this.#fresh.set(key, entry);
  }

  delete(versionHash: VersionHash): void {
    this.#fresh.delete(versionHash);
    if (this.#flushed.delete(versionHash)) this.#flushedInOrder = null;
  }

  /** Moves the map's entries into the store. */
  flush(): void {
    if (this.#fresh.size === 0) return;
    for (const [key, entry] of this.#fresh) this.#flushed.set(key, entry);
    this.#fresh.clear();
    this.#flushedInOrder = null;
  }

  /** Removes and returns the entries older than six hours by the chain's clock. */
  prune(nowMedianSeconds: number): CacheEntry[] {
    const gone = [...this.#fresh.values(), ...this.#flushed.values()].filter(
      (entry) => entry.medianTimeSeconds + RETENTION_SECONDS < nowMedianSeconds,
    );
    for (const entry of gone) this.delete(entry.content.versionHash);
    return gone;
  }

  /**
   * Entries of the map in the order of a salted hash map: arbitrary, and different after a restart with another seed.
   */
  fresh(): CacheEntry[] {
    const rank = (entry: CacheEntry): string =>
      seededBytes(`${this.#seed}/${entry.content.versionHash}`, 8).toString('hex');
    return [...this.#fresh.values()]
      .map((entry) => ({ entry, rank: rank(entry) }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1))
      .map(({ entry }) => entry);
  }

  /** Entries of the store, in the order of its keys. */
  flushed(): readonly CacheEntry[] {
    this.#flushedInOrder ??= [...this.#flushed.values()].sort((a, b) =>
      a.content.versionHash < b.content.versionHash ? -1 : 1,
    );
    return this.#flushedInOrder;
  }

  stats(): CacheStats {
    let totalBytes = 0;
    let oldestSeconds = Number.POSITIVE_INFINITY;
    let newestSeconds = 0;
    for (const entry of [...this.#fresh.values(), ...this.#flushed.values()]) {
      totalBytes += entry.content.sizeBytes;
      oldestSeconds = Math.min(oldestSeconds, entry.medianTimeSeconds);
      newestSeconds = Math.max(newestSeconds, entry.medianTimeSeconds);
    }
    return {
      totalBlobs: this.size,
      totalBytes,
      oldestSeconds: this.size === 0 ? 0 : oldestSeconds,
      newestSeconds,
    };
  }
}
