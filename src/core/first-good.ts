/** One place that may have what is looked for. null: it has not, and says so. */
export type Attempt<T> = (signal: AbortSignal) => Promise<T | null>;

/**
 * The first of several places that gives something. They are asked in their order: the next one when the one before has
 * answered no or failed, or is slower than `hedgeMs`. The attempts still under way when one has given it are stopped.
 * null: each of them answered no. An attempt that throws ends the search: what a place failed with is its own to note.
 */
export async function firstGood<T>(
  attempts: readonly Attempt<T>[],
  hedgeMs: number,
  signal: AbortSignal,
): Promise<T | null> {
  signal.throwIfAborted();
  const stopping = new AbortController();
  const stop = () => stopping.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await race(attempts, hedgeMs, stopping.signal);
  } finally {
    signal.removeEventListener('abort', stop);
    stopping.abort(new DOMException('another place was faster', 'AbortError'));
  }
}

function race<T>(attempts: readonly Attempt<T>[], hedgeMs: number, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    let next = 0;
    let underWay = 0;
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const end = () => {
      isOver = true;
      clearTimeout(timer);
    };
    const settle = (found: T | null) => {
      underWay -= 1;
      // Another attempt may end in the same turn as the one that decided.
      if (isOver) return;
      if (signal.aborted) {
        end();
        reject(signal.reason);
      } else if (found !== null) {
        end();
        resolve(found);
      } else if (next < attempts.length) start();
      else if (underWay === 0) resolve(null);
    };
    const start = () => {
      clearTimeout(timer);
      const attempt = attempts[next];
      next += 1;
      if (attempt === undefined) return;
      underWay += 1;
      if (next < attempts.length) timer = setTimeout(start, hedgeMs);
      attempt(signal).then(settle, (error: unknown) => {
        end();
        reject(error);
      });
    };
    if (attempts.length === 0) resolve(null);
    else start();
  });
}
