import { setTimeout as pause } from 'node:timers/promises';
import { realMs } from '../real-time.ts';

const SHORTEST_MS = 10;
const LONGEST_MS = 100;
/** A pause is this share of the time that has gone by: what comes soon is seen soon, and a long wait costs few looks. */
const SHARE = 0.1;

/** Asks until the check holds (does not throw); after the time is up, the last complaint is the error. */
export async function eventually<T>(check: () => Promise<T> | T, timeoutMs = 300_000): Promise<T> {
  // The wall clock is not used: that of a virtual machine steps.
  const begun = realMs();
  for (;;) {
    const goneMs = realMs() - begun;
    try {
      return await check();
    } catch (error) {
      if (goneMs >= timeoutMs) throw error;
    }
    await pause(Math.min(Math.max(goneMs * SHARE, SHORTEST_MS), LONGEST_MS));
  }
}
