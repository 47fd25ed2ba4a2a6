import { LRUCache } from 'lru-cache';
import { type ContentName, HASH_TYPES, type NamedHash } from '../core/blob/ids.ts';
import { withinMemory } from '../core/memory-share.ts';
import type { UnverifiedBlob, VerifiedBlob } from '../verify/verified-blob.ts';

/** Blobs that were asked for often enough to be worth their memory. */
const WORTH_IT = 3;
const REMEMBERED = 20_000;
/** A small blob is a row, and hashed whenever it is read: it is kept at once. */
const SMALL_BYTES = 65_536;

/**
 * Bytes that this process has hashed, in memory of its own, up to a number of bytes; the one asked for least lately goes
 * first. They need no hashing again: nobody else can change them.
 */
export class BlobCache {
  readonly #blobs: LRUCache<string, VerifiedBlob> | null;
  readonly #asked = new LRUCache<string, number>({ max: REMEMBERED });

  /** 0: nothing is kept. No more is kept than the memory of the process allows. */
  constructor(wantedBytes: number) {
    const mostBytes = withinMemory(wantedBytes);
    this.#blobs =
      mostBytes === 0
        ? null
        : new LRUCache({ maxSize: mostBytes, sizeCalculation: ({ bytes }) => Math.max(bytes.length, 1) });
  }

  get({ versionHash, hashType }: NamedHash): VerifiedBlob | null {
    if (this.#blobs === null) return null;
    for (const type of hashType === null ? HASH_TYPES : [hashType]) {
      const found = this.#blobs.get(`${type}/${versionHash}`);
      if (found !== undefined) return found;
    }
    return null;
  }

  /** Is it asked for often? Once is not: whoever copies the whole archive would push everything else out. */
  wants(name: ContentName, sizeBytes: number): boolean {
    if (this.#blobs === null) return false;
    if (sizeBytes <= SMALL_BYTES) return true;
    const key = `${name.hashType}/${name.versionHash}`;
    const times = (this.#asked.get(key) ?? 0) + 1;
    this.#asked.set(key, times);
    return times >= WORTH_IT;
  }

  /** Without counting as asked for. */
  copyOf({ hashType, versionHash }: ContentName): UnverifiedBlob | null {
    const found = this.#blobs?.peek(`${hashType}/${versionHash}`);
    // `slice` of a Buffer copies nothing, and whoever verifies the copy gives its memory away.
    return found === undefined ? null : { hashType, versionHash, bytes: new Uint8Array(found.bytes) };
  }

  keep(blob: VerifiedBlob): void {
    this.#blobs?.set(`${blob.hashType}/${blob.versionHash}`, blob);
  }
}
