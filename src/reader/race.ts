/** Asks one source. Resolves to null when the source gave nothing; the attempt records the reason. */
export type Attempt<T> = (signal: AbortSignal) => Promise<T | null>;

/**
 * Resolves to the first result. Attempts start in order: the next one starts when one has failed, or after `hedgeMs`.
 * The attempts still running at the end are aborted. Resolves to null when every attempt failed.
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
        // An aborted attempt rejects after the race is over; the rejection is expected.
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
