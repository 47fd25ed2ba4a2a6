/**
 * Does the work with each of what comes, so many at a time. The first failure, of the work or of what comes, ends the
 * others and is thrown when all have ended. Nobody may be waiting when it happens, for what comes next is waited for.
 */
export async function soManyAtATime<T>(
  items: Iterable<T> | AsyncIterable<T>,
  most: number,
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
      if (underWay.size >= most) await Promise.race(underWay);
    }
    await Promise.all(underWay);
    ending.signal.throwIfAborted();
  } finally {
    ending.abort();
    await Promise.all(underWay);
  }
}
