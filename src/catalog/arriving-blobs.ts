import type { ContentName } from '../core/blob/ids.ts';

/**
 * Blobs whose bytes are being written or read here, and that the books are to have next. Such bytes are not deleted: the
 * deletion would come between the bytes and the row that says they are durable.
 */
export class ArrivingBlobs {
  readonly #writers = new Map<string, number>();

  /** Gives the function that ends it, which is called once: when the books have the blob, or are not to have it. */
  begin(name: ContentName): () => void {
    const key = keyOf(name);
    this.#writers.set(key, (this.#writers.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#writers.get(key) ?? 1) - 1;
      if (left === 0) this.#writers.delete(key);
      else this.#writers.set(key, left);
    };
  }

  get isEmpty(): boolean {
    return this.#writers.size === 0;
  }

  has(name: ContentName): boolean {
    return this.#writers.has(keyOf(name));
  }
}

function keyOf({ hashType, versionHash }: ContentName): string {
  return `${hashType}/${versionHash}`;
}
