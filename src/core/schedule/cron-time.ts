import { createTask, type ScheduledTask } from 'node-cron';

const MINUTE_MS = 60_000;
/** Of a longer absence, nobody asks when exactly something was missed. */
const MOST_MINUTES = 45 * 24 * 60;

/** When something is due, by five cron fields and the local time of this machine. */
export class CronTime {
  readonly #task: ScheduledTask;

  constructor(expression: string) {
    // It is asked, and never started: the clock is that of the caller.
    this.#task = createTask(expression, () => {});
  }

  /** Was it due after `afterMs`, up to and with `untilMs`? */
  wasDue(afterMs: number, untilMs: number): boolean {
    const last = Math.floor(untilMs / MINUTE_MS);
    const first = Math.floor(afterMs / MINUTE_MS) + 1;
    if (last - first >= MOST_MINUTES) return true;
    for (let minute = last; minute >= first; minute -= 1) {
      if (this.#task.match(new Date(minute * MINUTE_MS))) return true;
    }
    return false;
  }

  async close(): Promise<void> {
    await this.#task.destroy();
  }
}
