import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds between two looks at the event loop. */
const LOOK_MS = 10_000;
/** Shares of its time that the event loop works. A full chain keeps it below the lower one. */
const BUSY = 0.5;
const IDLE = 0.25;

/**
 * Collects all garbage once after each busy time. V8 collects when it needs room, so the garbage of a flood stays while
 * the process is idle. The pause of some dozens of milliseconds falls into a quiet time.
 */
export class IdleCollector {
  readonly #collect: () => void;
  readonly #workedShare: () => number;
  #wasBusy = false;

  /** `workedShare`: of the time since it was called before. */
  constructor(collect: () => void, workedShare: () => number) {
    this.#collect = collect;
    this.#workedShare = workedShare;
  }

  look(): void {
    const share = this.#workedShare();
    if (share >= BUSY) this.#wasBusy = true;
    if (share > IDLE || !this.#wasBusy) return;
    this.#wasBusy = false;
    this.#collect();
  }
}

/** Does something in processes that run for long, and keeps no process from ending. */
export function collectWhenIdle(): void {
  const collect = () => collectorOfAll()();
  let before = performance.eventLoopUtilization();
  const collector = new IdleCollector(collect, () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  });
  setInterval(() => collector.look(), LOOK_MS).unref();
}

/** V8's own function, which only a flag shows, and only to contexts that are made after it. */
export function collectorOfAll(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect !== 'function') return () => undefined;
  return () => {
    collect();
  };
}
