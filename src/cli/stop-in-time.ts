/** Result of a stop. */
export type Stopping = 'stopped' | 'late';

/**
 * Waits for a stop, but no longer than the supervisor does: a killed process cannot say why it was late. Acknowledged
 * work is durable in any case. Rejects when the stop fails.
 */
export async function stopInTime(stopped: Promise<void>, graceMs: number): Promise<Stopping> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Stopping>((resolve) => {
    timer = setTimeout(() => resolve('late'), graceMs);
  });
  try {
    return await Promise.race([stopped.then(() => 'stopped' as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
