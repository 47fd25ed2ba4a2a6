/**
 * Runs the work for each item, up to `limit` at a time. The first failure, of the work or of the iterator, ends the
 * others and is thrown when all have ended. It may happen while the loop waits for the next item.
 */
export async function forEachConcurrent<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number,
  work: (item: T, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const ending = new AbortController();
  const both = AbortSignal.any([signal, ending.signal]);
  const underWay = new Set<Promise<void>>();
  try {
    for await (const item of items) {
      ending.signal.throwIfAborted();
      const one = work(item, both)
        .catch((error: unknown) => ending.abort(error))
        .finally(() => underWay.delete(one));
      underWay.add(one);
      if (underWay.size >= limit) await Promise.race(underWay);
    }
    await Promise.all(underWay);
    ending.signal.throwIfAborted();
  } finally {
    ending.abort();
    await Promise.all(underWay);
  }
}
