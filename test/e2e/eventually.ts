import { setTimeout as pause } from 'node:timers/promises';

const EVERY_MS = 25;

/** Asks until the check holds (does not throw); after the time is up, the last complaint is the error. */
export async function eventually<T>(check: () => Promise<T> | T, timeoutMs = 60_000): Promise<T> {
  // The wall clock is not used: that of a virtual machine steps.
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() >= end) throw error;
    }
    await pause(EVERY_MS);
  }
}
