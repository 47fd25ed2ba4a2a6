import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after so long, or when the signal aborts. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal, ref: false });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
