/** Bounds the memory of the items under way, besides their number. */
export interface MemoryLimit<T> {
  readonly limitBytes: number;
  readonly bytesOf: (item: T) => number;
}

/**
 * Runs the work for each item, up to `limit` at a time. The first failure, of the work or of the iterator, ends the
 * others and is thrown when all have ended. It may happen while the loop waits for the next item.
 */
export async function forEachConcurrent<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number,
  work: (item: T, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  memory: MemoryLimit<T> | null = null,
): Promise<void> {
  const limitBytes = memory?.limitBytes ?? Number.POSITIVE_INFINITY;
  let bytes = 0;
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const underWay = new Set<Promise<void>>();
  try {
    for await (const item of items) {
      ending.signal.throwIfAborted();
      const itemBytes = memory?.bytesOf(item) ?? 0;
      bytes += itemBytes;
      const one = work(item, both)
        .catch((error: unknown) => ending.abort(error))
        .finally(() => {
          underWay.delete(one);
          bytes -= itemBytes;
        });
      underWay.add(one);
      while (underWay.size >= limit || (bytes >= limitBytes && underWay.size > 0)) await Promise.race(underWay);
    }
    await Promise.all(underWay);
    ending.signal.throwIfAborted();
  } finally {
    ending.abort();
    await Promise.all(underWay);
  }
}
