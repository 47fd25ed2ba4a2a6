import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { MetricsRegistry } from '../../../src/core/observability/metrics.ts';
import { declareScheduleMetrics } from '../../../src/core/schedule/metrics.ts';
import type { RunLedger, TaskRun } from '../../../src/core/schedule/run-ledger.ts';
import { Schedule, type Task } from '../../../src/core/schedule/schedule.ts';
import { openCatalog } from '../../catalog/catalog-in-folder.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const MINUTE_MS = 60_000;
/** Noon by this machine's clock. */
const NOON_MS = new Date(2026, 0, 15, 12, 0, 0).getTime();

/** A task that was registered long ago. */
const NEW: TaskRun = { scheduledMs: 5, begunMs: 5, succeededMs: null, outcome: 'never', hasFailed: false };

class LedgerInMemory implements RunLedger {
  readonly runs = new Map<string, TaskRun>();
  /** Outcomes that are refused once each. */
  readonly refused = new Set<TaskRun['outcome']>();
  find = (task: string): TaskRun | null => this.runs.get(task) ?? null;
  put = (task: string, run: TaskRun): void => {
    if (this.refused.delete(run.outcome)) throw new Error(`the disk is full: ${run.outcome}`);
    this.runs.set(task, run);
  };
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
  readonly schedule: Schedule;
  stop(): Promise<void>;
}

function start(tasks: readonly Task[], given: { time?: SteppedTime; ledger?: RunLedger; random?: number } = {}): Scene {
  const time = given.time ?? new SteppedTime();
  const memory = new LedgerInMemory();
  const ended: [string, unknown][] = [];
  const stopping = new AbortController();
  const schedule = new Schedule(tasks, {
    ledger: given.ledger ?? memory,
    log: createLogger('silent', { write: () => {} }),
    ended: (task, error) => ended.push([task, error]),
    clock: { wallMs: () => time.nowMs, steadyMs: () => time.nowMs },
    random: () => given.random ?? 0,
    wait: time.wait,
  });
  const running = schedule.run(stopping.signal);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  onTestFinished(stop);
  return { time, ledger: memory, ended, schedule, stop };
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

describe('a ledger that cannot be written', () => {
  test('a task that is due then runs after the backoff, and is told no more', async () => {
    const time = new SteppedTime();
    const { task, at } = noting(time, '10 12 * * *');
    const { ended, ledger } = start([task], { time });
    ledger.refused.add('running');
    await time.pass(20 * MINUTE_MS);
    expect(at.map(Math.floor)).toEqual([10]);
    expect(ended).toEqual([
      ['look', new Error('the disk is full: running')],
      ['look', null],
    ]);
    expect(ledger.find('look')).toMatchObject({ outcome: 'succeeded' });
  });

  test.each(['succeeded', 'failed'] as const)(
    'a run that %s is recorded after the backoff, and not run again',
    async (outcome) => {
      const time = new SteppedTime();
      const failure = outcome === 'failed' ? new Error('the disk is away') : null;
      const { task, at } = noting(time, '10 12 * * *', async () => {
        if (failure !== null) throw failure;
      });
      const { ended, ledger } = start([task], { time });
      ledger.refused.add(outcome);
      await time.pass(20 * MINUTE_MS);
      expect(at).toHaveLength(1);
      expect(ended).toEqual([
        ['look', new Error(`the disk is full: ${outcome}`)],
        ['look', failure],
      ]);
      expect(ledger.find('look')).toMatchObject({ outcome });
    },
  );
});

test('until a task has ended well, its last success in the metrics is when it was first scheduled', async () => {
  const time = new SteppedTime();
  const { task } = noting(time, '10 12 * * *', async () => {
    looks.push(schedule.states);
    throw new Error('the disk is away');
  });
  const { schedule } = start([task], { time });
  const looks = [schedule.states];
  await time.pass(20 * MINUTE_MS);
  looks.push(schedule.states);
  expect(looks.flat().map(({ outcome }) => outcome)).toEqual(['never', 'running', 'failed']);
  for (const states of looks) {
    const metrics = new MetricsRegistry();
    declareScheduleMetrics(metrics, () => states);
    const line = `holdfast_task_last_success_timestamp_seconds{task="look"} ${NOON_MS / 1_000}\n`;
    expect(await metrics.scrape()).toContain(line);
  }
});

test('a failed task stays failed in the metrics while its repeat runs, also over a stop, and until a run succeeds', async () => {
  const time = new SteppedTime();
  const failed = async ({ schedule }: Scene) => {
    const metrics = new MetricsRegistry();
    declareScheduleMetrics(metrics, () => schedule.states);
    return /holdfast_task_failed{task="look"} (\d)/.exec(await metrics.scrape())?.[1];
  };
  const during: unknown[] = [];
  const { task } = noting(time, '10 12 * * *', async () => {
    during.push(await failed(scene));
    if (during.length === 2) void scene.stop();
    if (during.length < 3) throw new Error('the disk is away');
  });
  let scene = start([task], { time });
  await time.pass(20 * MINUTE_MS);
  expect([during, await failed(scene)]).toEqual([['0'], '1']);
  const { ledger } = scene;
  await time.pass(60 * MINUTE_MS);
  expect(ledger.find('look')?.outcome).toBe('interrupted');
  scene = start([task], { time, ledger });
  await time.pass(MINUTE_MS);
  expect([during, await failed(scene)]).toEqual([['0', '1', '1'], '0']);
});

describe('times that passed while the process was down', () => {
  test('a missed task runs once after the start, however often it was due', async () => {
    const time = new SteppedTime();
    const ledger = new LedgerInMemory();
    ledger.put('look', { ...NEW, begunMs: NOON_MS - 50 * 3_600_000, outcome: 'succeeded' });
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
    ledger.put('look', { ...NEW, begunMs: NOON_MS - 1_000, outcome: 'running' });
    const { task, at } = noting(time, '17 3 * * *');
    start([task], { time, ledger });
    await time.pass(MINUTE_MS);
    expect(at).toHaveLength(1);
  });

  test('a clock that was set back by a year delays no task', async () => {
    const time = new SteppedTime();
    const ledger = new LedgerInMemory();
    ledger.put('look', { ...NEW, begunMs: NOON_MS + 365 * 86_400_000, outcome: 'succeeded' });
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
  first.runs.put('scrub', { ...NEW, succeededMs: 7, outcome: 'succeeded' });
  const last: TaskRun = { ...NEW, begunMs: 9, succeededMs: 7, outcome: 'running' };
  first.runs.put('scrub', last);
  first.close();
  expect(openCatalog({ folder }).runs.find('scrub')).toEqual(last);
});
