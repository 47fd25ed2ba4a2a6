export interface DrainStatus {
  readonly isDraining: boolean;
  /** ISO 8601. */
  readonly since: string | null;
  /** Nothing is under way any more: the process can be stopped, and its volume moved, and nothing waits here alone. */
  readonly isDone: boolean;
  readonly fetching: boolean;
  readonly runningJobs: number;
  /** Copies that each backend has still to get. */
  readonly queued: Readonly<Record<string, number>>;
}
