/** Where the runs of a task are kept over restarts. */
export interface RunLedger {
  /** null: this task was never heard of. */
  find(task: string): TaskRun | null;
  put(task: string, run: TaskRun): void;
}

export interface TaskRun {
  /** When it last began; before its first run, when it was first heard of. */
  readonly begunMs: number;
  /** When it last ended well. */
  readonly succeededMs: number | null;
  readonly outcome: 'never' | 'running' | 'succeeded' | 'failed' | 'interrupted';
}
