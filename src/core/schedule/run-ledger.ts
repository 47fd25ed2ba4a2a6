/** Storage of task runs over restarts. */
export interface RunLedger {
  /** null for an unknown task. */
  find(task: string): TaskRun | null;
  put(task: string, run: TaskRun): void;
}

export interface TaskRun {
  /** Unix milliseconds of the first registration. */
  readonly scheduledMs: number;
  /** Unix milliseconds of the last start; before the first run, of the first registration. */
  readonly begunMs: number;
  /** Unix milliseconds of the last successful end. */
  readonly succeededMs: number | null;
  readonly outcome: 'never' | 'running' | 'succeeded' | 'failed' | 'interrupted';
  /** Whether the last run that ended failed. A run under way or interrupted leaves it as it was. */
  readonly hasFailed: boolean;
}
