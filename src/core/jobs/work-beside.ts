/** Does the work while something runs beside it that the work needs; ends that when the work is done, however it ended. */
export async function workBeside<T>(
  beside: (signal: AbortSignal) => Promise<void>,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const stopping = new AbortController();
  const running = beside(AbortSignal.any([signal, stopping.signal]));
  try {
    // Should what runs beside it fail, the work would wait for ever.
    return await Promise.race([work(), running.then(() => Promise.reject(signal.reason))]);
  } finally {
    stopping.abort();
    await running;
  }
}
