/** One source. null: it gave nothing, and noted why. */
export type Attempt<T> = (signal: AbortSignal) => Promise<T | null>;

/**
 * The first that gives something, asked in their order: the next one when one before has come to nothing, or after
 * `hedgeMs`. Whoever is still under way then is stopped. null: none gave anything.
 */
export async function firstOf<T>(
  attempts: readonly Attempt<T>[],
  hedgeMs: number,
  signal: AbortSignal,
): Promise<T | null> {
  signal.throwIfAborted();
  const over = new AbortController();
  const stopped = AbortSignal.any([signal, over.signal]);
  const left = [...attempts];
  const underWay = new Set<Promise<T | null>>();
  let found: T | null = null;
  try {
    for (let next = left.shift(); next !== undefined || underWay.size > 0; ) {
      if (next !== undefined) {
        const asked: Promise<T | null> = next(stopped).finally(() => underWay.delete(asked));
        // Whoever is stopped rejects when nobody waits for it any more.
        asked.catch(() => undefined);
        underWay.add(asked);
        next = undefined;
      }
      found = await Promise.race([...underWay, ...(left.length > 0 ? [hedge(hedgeMs, stopped)] : [])]);
      signal.throwIfAborted();
      if (found !== null) return found;
      next = left.shift();
    }
    return found;
  } finally {
    over.abort(new DOMException('another source was faster', 'AbortError'));
  }
}

function hedge(ms: number, signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, null);
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}
