import { createTask, type ScheduledTask } from 'node-cron';

const MINUTE_MS = 60_000;
/** Longest look-back in minutes: after a longer absence the exact missed time does not matter. */
const MAX_MINUTES = 45 * 24 * 60;

/** Due times of five cron fields in the local time of this machine. */
export class CronTime {
  readonly #task: ScheduledTask;

  constructor(expression: string) {
    // The task is never started: the caller's clock decides.
    this.#task = createTask(expression, () => {});
  }

  /** Reports whether a due time lies after `afterMs` and not after `untilMs`. */
  wasDue(afterMs: number, untilMs: number): boolean {
    const last = Math.floor(untilMs / MINUTE_MS);
    const first = Math.floor(afterMs / MINUTE_MS) + 1;
    if (last - first >= MAX_MINUTES) return true;
    for (let minute = last; minute >= first; minute -= 1) {
      if (this.#task.match(new Date(minute * MINUTE_MS))) return true;
    }
    return false;
  }

  async close(): Promise<void> {
    await this.#task.destroy();
  }
}
