import { onTestFinished, vi } from 'vitest';
import { realMs, realTimeout } from './real-time.ts';

/** The clocks of this process run so many times as fast as those of the machine. */
export const HURRY = 10;

const realWallMs = Date.now;

/** Calls in the running test: the clocks are put back when the last of the scenes that made them has stopped. */
let calls = 0;

/**
 * Until the end of the test, both clocks of the process and its timeouts run faster, all by the same factor: a loop that
 * rests for a minute goes on after six seconds, and the order of all that is due stays as it is. The timeouts within Node
 * itself keep the machine's time, and so do the latencies of an emulated node.
 */
export function hurry(): void {
  onTestFinished(() => {
    calls -= 1;
    if (calls === 0) restore();
  });
  calls += 1;
  if (calls > 1) return;
  const [wallMs, steadyMs] = [realWallMs(), realMs()];
  const passedMs = () => (realMs() - steadyMs) * HURRY;
  Date.now = () => Math.floor(wallMs + passedMs());
  performance.now = () => steadyMs + passedMs();
  const hurriedTimeout = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
    realTimeout(run, ms / HURRY, ...given);
  vi.stubGlobal('setTimeout', hurriedTimeout);
}

function restore(): void {
  Date.now = realWallMs;
  performance.now = realMs;
  vi.stubGlobal('setTimeout', realTimeout);
}
