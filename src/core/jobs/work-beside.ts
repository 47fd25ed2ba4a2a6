/** Runs the work with a helper task that it needs, and ends the helper when the work is done or has failed. */
export async function workBeside<T>(
  beside: (signal: AbortSignal) => Promise<void>,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const stopping = new AbortController();
  const running = beside(AbortSignal.any([signal, stopping.signal]));
  try {
    // If the helper fails, the work would wait for ever; the race ends it.
    return await Promise.race([work(), running.then(() => Promise.reject(signal.reason))]);
  } finally {
    stopping.abort();
    await running;
  }
}
