import type { Logger } from '../observability/logger.ts';
import { BACKOFF } from '../time/backoff.ts';
import { type Next, runLoop } from '../time/run-loop.ts';
import { CronTime } from './cron-time.ts';
import type { RunLedger, TaskRun } from './run-ledger.ts';

/** Something that is done again and again. */
export interface Task {
  readonly name: string;
  /** Five cron fields. */
  readonly schedule: string;
  /** @throws what kept it from ending well; it is done again at its next time. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ScheduleModules {
  readonly ledger: RunLedger;
  readonly log: Logger;
  /** Told of each end: null where it ended well. */
  readonly ended: (task: string, error: unknown) => void;
  readonly nowMs: () => number;
  /** 0 to 1: archivers on one backend are not to come in one moment. */
  readonly random: () => number;
  /** Resolves after so long, or when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Tasks begin up to so much later than their time. */
const JITTER_MS = 60_000;
/** The clock is looked at so often: a machine that slept, or whose clock was set, is noticed. */
const LOOK_MS = 15_000;

/** How one task does, for metrics. */
export interface TaskState extends TaskRun {
  readonly name: string;
  readonly lastSeconds: number | null;
}

/**
 * Does each task at its times, none beside itself, and one whose time passed while nothing ran soon after the start. When
 * each last began is kept in the ledger.
 */
export class Schedule {
  readonly #tasks: readonly Task[];
  readonly #modules: ScheduleModules;
  readonly #lastSeconds = new Map<string, number>();

  constructor(tasks: readonly Task[], modules: ScheduleModules) {
    this.#tasks = tasks;
    this.#modules = modules;
  }

  /** Resolves when the signal has aborted and everything under way has ended. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#tasks.map((task) => this.#keep(task, signal)));
  }

  get states(): TaskState[] {
    return this.#tasks.map(({ name }) => ({
      name,
      ...(this.#modules.ledger.find(name) ?? { begunMs: 0, succeededMs: null, outcome: 'never' as const }),
      lastSeconds: this.#lastSeconds.get(name) ?? null,
    }));
  }

  async #keep(task: Task, signal: AbortSignal): Promise<void> {
    const { nowMs, random, wait, ended } = this.#modules;
    const time = new CronTime(task.schedule);
    let since: number | null = null;
    const step = async (): Promise<Next> => {
      // A clock that was set back: what lies ahead has not happened.
      const untilMs = nowMs();
      const isDue = time.wasDue(Math.min(since ?? this.#begin(task), untilMs), untilMs);
      since = untilMs;
      if (!isDue) return LOOK_MS;
      await wait(random() * JITTER_MS, signal);
      if (signal.aborted) return 'done';
      // What came due in the meantime is this very run.
      since = nowMs();
      await this.#once(task, signal);
      return LOOK_MS;
    };
    // The catalog cannot be written now. A failure of the task itself is told where it happens.
    const tell = (error: unknown) => {
      if (error !== null) ended(task.name, error);
    };
    const policy = { signal, backoff: BACKOFF.remote, wake: { rings: 0, wait }, tell };
    await runLoop(`task:${task.name}`, step, policy);
    await time.close();
  }

  /** From when on its times count. A run that a stop interrupted is done again. */
  #begin({ name }: Task): number {
    const { ledger, nowMs, log } = this.#modules;
    const last = ledger.find(name);
    if (last === null) {
      const begunMs = nowMs();
      ledger.put(name, { begunMs, succeededMs: null, outcome: 'never' });
      return begunMs;
    }
    if (last.outcome !== 'running' && last.outcome !== 'interrupted') return last.begunMs;
    log.info({ task: name }, 'a task was interrupted and is done again');
    return 0;
  }

  async #once({ name, run }: Task, signal: AbortSignal): Promise<void> {
    const { ledger, log, nowMs, ended } = this.#modules;
    const begunMs = nowMs();
    const succeededMs = ledger.find(name)?.succeededMs ?? null;
    ledger.put(name, { begunMs, succeededMs, outcome: 'running' });
    const startedMs = performance.now();
    try {
      await run(signal);
      if (signal.aborted) {
        ledger.put(name, { begunMs, succeededMs, outcome: 'interrupted' });
        return;
      }
      ledger.put(name, { begunMs, succeededMs: nowMs(), outcome: 'succeeded' });
      log.info({ task: name, seconds: (performance.now() - startedMs) / 1_000 }, 'a scheduled task ended well');
      ended(name, null);
    } catch (error) {
      ledger.put(name, { begunMs, succeededMs, outcome: signal.aborted ? 'interrupted' : 'failed' });
      if (!signal.aborted) ended(name, error);
    } finally {
      this.#lastSeconds.set(name, (performance.now() - startedMs) / 1_000);
    }
  }
}
