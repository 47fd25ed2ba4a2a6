import { onTestFinished, vi } from 'vitest';
import { realMs, realTimeout } from './real-time.ts';

/** The clocks of this process run so many times as fast as those of the machine, while it gets processor time. */
export const HURRY = 10;
/** Real milliseconds between two looks at the machine's clock. */
const LOOK_MS = 10;
/** Real milliseconds that count at most between two looks: a process that does not run does not age. */
const MAX_STEP_MS = 25;

const realWallMs = Date.now;
const realInterval = setInterval;

/** Calls in the running test: the clocks are put back when the last of the scenes that made them has stopped. */
let calls = 0;
let restore = () => {};

/**
 * Until the end of the test, both clocks of the process and its timeouts run faster, all by the same factor: a loop that
 * rests for a minute goes on after six seconds, and the order of all that is due stays as it is. On a busy machine they
 * run slower: a deadline of the product, ten times as short, then still has as many turns of the event loop. The timeouts
 * within Node itself keep the machine's time, and so do the latencies of an emulated node.
 */
export function hurry(): void {
  onTestFinished(() => {
    calls -= 1;
    if (calls === 0) restore();
  });
  calls += 1;
  if (calls === 1) restore = beginHurry();
}

function beginHurry(): () => void {
  const [wallMs, steadyMs] = [realWallMs(), realMs()];
  let [passedMs, lookedMs, pace] = [0, steadyMs, HURRY];
  const look = () => {
    const nowMs = realMs();
    passedMs += Math.min(nowMs - lookedMs, pace === HURRY ? MAX_STEP_MS : Number.POSITIVE_INFINITY) * pace;
    lookedMs = nowMs;
    return passedMs;
  };
  const looking = realInterval(look, LOOK_MS).unref();
  Date.now = () => Math.floor(wallMs + look());
  performance.now = () => steadyMs + look();
  vi.stubGlobal('setTimeout', (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
    let dueMs = look() + ms;
    const timer = realTimeout(
      () => {
        if (look() < dueMs) again();
        else run(...given);
      },
      Math.min(ms / HURRY, LOOK_MS),
    );
    const again = timer.refresh.bind(timer);
    return Object.assign(timer, {
      refresh: () => {
        dueMs = look() + ms;
        return again();
      },
    });
  });
  return () => {
    look();
    // A library refreshes its timer for as long as the process runs: from now on by the machine's clock.
    pace = 1;
    clearInterval(looking);
    Date.now = realWallMs;
    performance.now = realMs;
    vi.stubGlobal('setTimeout', realTimeout);
  };
}
