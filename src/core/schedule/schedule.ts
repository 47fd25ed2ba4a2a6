import type { Logger } from '../observability/logger.ts';
import { BACKOFF } from '../time/backoff.ts';
import type { Clock } from '../time/clock.ts';
import { LONGEST_SLEEP_MS, type LoopPolicy, type Next, retryUntil, runLoop } from '../time/run-loop.ts';
import { CronTime } from './cron-time.ts';
import type { RunLedger, TaskRun } from './run-ledger.ts';

/** A task that repeats on a schedule. */
export interface Task {
  readonly name: string;
  /** Schedule as five cron fields. */
  readonly schedule: string;
  /**
   * Runs the task once.
   * @param isRepeat whether this run repeats a failed one, and is at no time of its schedule
   * @throws any error; the task runs again an hour later, or at its next time if that comes before
   */
  run(signal: AbortSignal, isRepeat: boolean): Promise<void>;
}

export interface ScheduleModules {
  readonly ledger: RunLedger;
  readonly log: Logger;
  /** Called at the end of each run, with null after success. */
  readonly ended: (task: string, error: unknown) => void;
  readonly clock: Clock;
  /** Random number from 0 to 1, which keeps archives that share a backend apart. */
  readonly random: () => number;
  /** Resolves after `ms` milliseconds, or when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Largest random delay of a task in milliseconds. */
const JITTER_MS = 60_000;
/** Milliseconds after the end of a failed run. A task of once a day is not left undone for a day, nor one of hours without a rest. */
const REPEAT_MS = 3_600_000;

/** State of one task, for metrics. */
export interface TaskState extends TaskRun {
  readonly name: string;
  readonly lastSeconds: number | null;
}

/**
 * Runs each task at its times, never two runs of one task at once. A failed task is repeated after an hour. A time that passed
 * while the process was down is made up for soon after the start. The ledger keeps the last start of each task.
 */
export class Schedule {
  readonly #tasks: readonly Task[];
  readonly #modules: ScheduleModules;
  readonly #lastSeconds = new Map<string, number>();
  /** When the last run of a task ended, in Unix milliseconds. */
  readonly #endedMs = new Map<string, number>();

  constructor(tasks: readonly Task[], modules: ScheduleModules) {
    this.#tasks = tasks;
    this.#modules = modules;
  }

  /** Resolves when the signal has aborted and every running task has ended. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#tasks.map((task) => this.#keep(task, signal)));
  }

  get states(): TaskState[] {
    return this.#tasks.map(({ name }) => ({
      name,
      ...(this.#modules.ledger.find(name) ?? registered(0)),
      lastSeconds: this.#lastSeconds.get(name) ?? null,
    }));
  }

  async #keep(task: Task, signal: AbortSignal): Promise<void> {
    const { clock, random, wait, ended } = this.#modules;
    const time = new CronTime(task.schedule);
    let since: number | null = null;
    const step = async (): Promise<Next> => {
      // After the clock was set back, times ahead of it have not happened.
      const untilMs = clock.wallMs();
      since ??= this.#begin(task);
      const wasDue = time.wasDue(Math.min(since, untilMs), untilMs);
      const isDue = wasDue || this.#isToRepeat(task, untilMs);
      if (!isDue) {
        since = untilMs;
        return LONGEST_SLEEP_MS;
      }
      await wait(random() * JITTER_MS, signal);
      if (signal.aborted) return 'done';
      // A time stays due until its run is recorded. Times that become due during the run are made up for after it.
      const begun = this.#recordBegin(task);
      since = begun.begunMs;
      await this.#once(task, begun, !wasDue, policy);
      return LONGEST_SLEEP_MS;
    };
    // The catalog cannot be written now. The task reports its own failures itself.
    const tell = (error: unknown) => {
      if (error !== null) ended(task.name, error);
    };
    const policy = { signal, backoff: BACKOFF.remote, wake: { notifications: 0, wait }, tell };
    await runLoop(`task:${task.name}`, step, policy);
    await time.close();
  }

  /** Start of the period whose due times count. An interrupted run is repeated. */
  #begin({ name }: Task): number {
    const { ledger, clock, log } = this.#modules;
    const last = ledger.find(name);
    if (last === null) {
      const begunMs = clock.wallMs();
      ledger.put(name, registered(begunMs));
      return begunMs;
    }
    if (last.outcome !== 'running' && last.outcome !== 'interrupted') return last.begunMs;
    log.info({ task: name }, 'a task was interrupted and is done again');
    return 0;
  }

  #isToRepeat({ name }: Task, nowMs: number): boolean {
    const last = this.#modules.ledger.find(name);
    return last?.outcome === 'failed' && nowMs - (this.#endedMs.get(name) ?? last.begunMs) >= REPEAT_MS;
  }

  #recordBegin({ name }: Task): TaskRun {
    const { ledger, clock } = this.#modules;
    const begunMs = clock.wallMs();
    const begun: TaskRun = { ...(ledger.find(name) ?? registered(begunMs)), begunMs, outcome: 'running' };
    ledger.put(name, begun);
    return begun;
  }

  async #once({ name, run }: Task, begun: TaskRun, isRepeat: boolean, policy: LoopPolicy): Promise<void> {
    const { ledger, log, clock, ended } = this.#modules;
    const { signal } = policy;
    const startedMs = clock.steadyMs();
    let end: TaskRun;
    let failure: unknown = null;
    try {
      await run(signal, isRepeat);
      end = { ...begun, succeededMs: clock.wallMs(), outcome: 'succeeded', hasFailed: false };
    } catch (error) {
      end = { ...begun, outcome: 'failed', hasFailed: true };
      failure = error;
    }
    const seconds = (clock.steadyMs() - startedMs) / 1_000;
    this.#endedMs.set(name, clock.wallMs());
    this.#lastSeconds.set(name, seconds);
    if (signal.aborted) {
      ledger.put(name, { ...begun, outcome: 'interrupted' });
      return;
    }
    // The record is tried again by itself. A ledger that cannot be written now is no failure of the task.
    await retryUntil(`task:${name}`, async () => ledger.put(name, end), policy);
    if (failure === null) log.info({ task: name, seconds }, 'a scheduled task ended well');
    ended(name, failure);
  }
}

function registered(atMs: number): TaskRun {
  return { scheduledMs: atMs, begunMs: atMs, succeededMs: null, outcome: 'never', hasFailed: false };
}
