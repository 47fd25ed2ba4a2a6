import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/observability/logger.ts';
import type { RunLedger, TaskRun } from '../../../src/core/schedule/run-ledger.ts';
import { Schedule, type Task } from '../../../src/core/schedule/schedule.ts';
import { openCatalog } from '../../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const MINUTE_MS = 60_000;
/** Noon by this machine's clock. */
const NOON_MS = new Date(2026, 0, 15, 12, 0, 0).getTime();

class LedgerInMemory implements RunLedger {
  readonly runs = new Map<string, TaskRun>();
  find = (task: string): TaskRun | null => this.runs.get(task) ?? null;
  put = (task: string, run: TaskRun): void => void this.runs.set(task, run);
}

/** A clock that moves only while the schedule waits, as far as the test allows. */
class SteppedTime {
  nowMs = NOON_MS;
  #untilMs = 0;
  #waiting: { readonly atMs: number; readonly wake: () => void }[] = [];

  readonly wait = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const entry = { atMs: this.nowMs + ms, wake: resolve };
      signal.addEventListener('abort', () => resolve(), { once: true });
      this.#waiting.push(entry);
    });

  /** Moves the clock by `ms` milliseconds, one wait at a time. */
  async pass(ms: number): Promise<void> {
    this.#untilMs = this.nowMs + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#waiting.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > this.#untilMs) break;
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.wake();
    }
    this.nowMs = this.#untilMs;
  }
}

interface Scene {
  readonly time: SteppedTime;
  readonly ledger: LedgerInMemory;
  readonly ended: [string, unknown][];
  stop(): Promise<void>;
}

function start(tasks: readonly Task[], given: { time?: SteppedTime; ledger?: RunLedger; random?: number } = {}): Scene {
  const time = given.time ?? new SteppedTime();
  const memory = new LedgerInMemory();
  const ended: [string, unknown][] = [];
  const stopping = new AbortController();
  const running = new Schedule(tasks, {
    ledger: given.ledger ?? memory,
    log: createLogger('silent', { write: () => {} }),
    ended: (task, error) => ended.push([task, error]),
    clock: { wallMs: () => time.nowMs, steadyMs: () => time.nowMs },
    random: () => given.random ?? 0,
    wait: time.wait,
  }).run(stopping.signal);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  onTestFinished(stop);
  return { time, ledger: memory, ended, stop };
}

/** A task that records its runs. */
function noting(time: SteppedTime, schedule: string, work: () => Promise<void> = async () => {}) {
  const at: number[] = [];
  const task: Task = {
    name: 'look',
    schedule,
    async run() {
      at.push((time.nowMs - NOON_MS) / MINUTE_MS);
      await work();
    },
  };
  return { task, at };
}

describe('a scheduled task', () => {
  test('a task runs once at each of its times', async () => {
    const time = new SteppedTime();
    const { task, at } = noting(time, '*/20 * * * *');
    start([task], { time });
    await time.pass(65 * MINUTE_MS);
    expect(at.map(Math.floor)).toEqual([20, 40, 60]);
  });

  test('a task starts with a random delay, which keeps two archives apart', async () => {
    const time = new SteppedTime();
    const { task, at } = noting(time, '30 12 * * *');
    start([task], { time, random: 0.5 });
    await time.pass(40 * MINUTE_MS);
    expect(at).toHaveLength(1);
    expect(at[0]).toBeGreaterThanOrEqual(30.5);
    expect(at[0]).toBeLessThan(31);
  });

  test('a task never runs twice at once: times due meanwhile are made up for by one run', async () => {
    const time = new SteppedTime();
    let finish = () => {};
    const long = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { task, at } = noting(time, '*/10 * * * *', () => (at.length === 1 ? long : Promise.resolve()));
    start([task], { time });
    await time.pass(45 * MINUTE_MS);
    expect(at).toHaveLength(1);
    finish();
    await time.pass(MINUTE_MS);
    expect(at).toHaveLength(2);
  });

  test('a failure is reported, and the task runs again at its next time', async () => {
    const time = new SteppedTime();
    const { task, at } = noting(time, '*/10 * * * *', async () => {
      if (at.length === 1) throw new Error('the disk is away');
    });
    const { ended, ledger } = start([task], { time });
    await time.pass(11 * MINUTE_MS);
    expect(ended).toEqual([['look', new Error('the disk is away')]]);
    expect(ledger.find('look')).toMatchObject({ outcome: 'failed', succeededMs: null });
    await time.pass(10 * MINUTE_MS);
    expect(ended.at(-1)).toEqual(['look', null]);
    expect(ledger.find('look')?.outcome).toBe('succeeded');
  });

  test('a task of once a day that failed is repeated after an hour, also over a restart, until it succeeds', async () => {
    const time = new SteppedTime();
    const { task, at } = noting(time, '10 12 * * *', async () => {
      if (at.length < 3) throw new Error('the disk is away');
    });
    const first = start([task], { time });
    await time.pass(60 * MINUTE_MS);
    expect(at).toHaveLength(1);
    await time.pass(15 * MINUTE_MS);
    expect(at).toHaveLength(2);
    await first.stop();
    const { ended } = start([task], { time, ledger: first.ledger });
    await time.pass(62 * MINUTE_MS);
    expect(ended).toEqual([['look', null]]);
    await time.pass(180 * MINUTE_MS);
    expect(at).toHaveLength(3);
  });
});

test('a failed task of several hours rests for an hour before it is repeated, and is told that it is', async () => {
  const time = new SteppedTime();
  const runs: [atMinutes: number, isRepeat: boolean][] = [];
  const task: Task = {
    name: 'long',
    schedule: '10 12 * * *',
    async run(_signal, isRepeat) {
      runs.push([Math.floor((time.nowMs - NOON_MS) / MINUTE_MS), isRepeat]);
      time.nowMs += 120 * MINUTE_MS;
      throw new Error('the disk is away');
    },
  };
  start([task], { time });
  await time.pass(300 * MINUTE_MS);
  expect(runs).toEqual([
    [10, false],
    [190, true],
  ]);
});

describe('times that passed while the process was down', () => {
  test('a missed task runs once after the start, however often it was due', async () => {
    const time = new SteppedTime();
    const ledger = new LedgerInMemory();
    ledger.put('look', { begunMs: NOON_MS - 50 * 3_600_000, succeededMs: null, outcome: 'succeeded' });
    const { task, at } = noting(time, '17 3 * * *');
    start([task], { time, ledger });
    await time.pass(60 * MINUTE_MS);
    expect(at).toHaveLength(1);
  });

  test('a task without missed times does not run at the start, nor at the very first start', async () => {
    const time = new SteppedTime();
    const { task, at } = noting(time, '17 3 * * *');
    const first = start([task], { time });
    await time.pass(60 * MINUTE_MS);
    await first.stop();
    start([task], { time, ledger: first.ledger });
    await time.pass(60 * MINUTE_MS);
    expect(at).toEqual([]);
    await time.pass(15 * 60 * MINUTE_MS);
    expect(at).toHaveLength(1);
  });

  test('a killed run is repeated', async () => {
    const time = new SteppedTime();
    const ledger = new LedgerInMemory();
    ledger.put('look', { begunMs: NOON_MS - 1_000, succeededMs: null, outcome: 'running' });
    const { task, at } = noting(time, '17 3 * * *');
    start([task], { time, ledger });
    await time.pass(MINUTE_MS);
    expect(at).toHaveLength(1);
  });

  test('a clock that was set back by a year delays no task', async () => {
    const time = new SteppedTime();
    const ledger = new LedgerInMemory();
    ledger.put('look', { begunMs: NOON_MS + 365 * 86_400_000, succeededMs: null, outcome: 'succeeded' });
    const { task, at } = noting(time, '*/20 * * * *');
    start([task], { time, ledger });
    await time.pass(25 * MINUTE_MS);
    expect(at).toHaveLength(1);
  });
});

test('the catalog keeps the last run of a task over a restart', () => {
  const folder = temporaryFolder();
  const first = openCatalog({ folder });
  expect(first.runs.find('scrub')).toBeNull();
  first.runs.put('scrub', { begunMs: 5, succeededMs: 7, outcome: 'succeeded' });
  first.runs.put('scrub', { begunMs: 9, succeededMs: 7, outcome: 'running' });
  first.close();
  expect(openCatalog({ folder }).runs.find('scrub')).toEqual({ begunMs: 9, succeededMs: 7, outcome: 'running' });
});
