import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds between two looks at the event loop. */
const LOOK_MS = 10_000;
/** Shares of its time that the event loop works. A full chain keeps it below the lower one. */
const BUSY = 0.5;
const IDLE = 0.25;
/** Looks that count as the start. A process that is busy for longer has a heap as large as any later one. */
const START_LOOKS = 6;

/** Options of V8's function. */
const LAST_RESORT = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const;

/**
 * Collects all garbage once after the start and after each busy time. V8 collects when it needs room, so the garbage of a
 * flood, or of loading all modules, stays while the process is idle. The pause falls into a quiet time: 0.1 s after the start, some
 * dozens of milliseconds later.
 */
export class IdleCollector {
  readonly #collect: (after: 'start' | 'work') => void;
  readonly #workedShare: () => number;
  /** The garbage that is left to collect. A start is busy before anything can look. */
  #left: 'start' | 'work' | null = 'start';
  #looks = 0;

  /** `workedShare`: of the time since it was called before. */
  constructor(collect: (after: 'start' | 'work') => void, workedShare: () => number) {
    this.#collect = collect;
    this.#workedShare = workedShare;
  }

  look(): void {
    const share = this.#workedShare();
    this.#looks += 1;
    if (this.#left === 'start' && this.#looks > START_LOOKS) this.#left = 'work';
    if (share >= BUSY) this.#left ??= 'work';
    if (share > IDLE || this.#left === null) return;
    this.#collect(this.#left);
    this.#left = null;
  }
}

/** Does something in processes that run for long, and keeps no process from ending. */
export function collectWhenIdle(): void {
  const collect = (after: 'start' | 'work') => collectorOfAll()(after === 'start' ? LAST_RESORT : undefined);
  let before = performance.eventLoopUtilization();
  const collector = new IdleCollector(collect, () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  });
  setInterval(() => collector.look(), LOOK_MS).unref();
}

/**
 * V8's own function, which only a flag shows, and only to contexts that are made after it. The last resort gives freed pages back
 * to the system, and compiled code that did not run lately: 17 MiB of a new archiver, of which a plain collection gives 6. It
 * takes several collections, so it is for a heap that is small.
 */
export function collectorOfAll(): (options?: typeof LAST_RESORT) => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  if (typeof collect !== 'function') return () => undefined;
  return (options) => {
    if (options === undefined) collect();
    else collect(options);
  };
}
