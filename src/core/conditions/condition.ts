/** `critical`: bytes or claims are in danger. `error`: the archive cannot do its work. `warning`: worth a look. */
export type Severity = 'critical' | 'error' | 'warning';

/** A fault that keeps the archive from its work now, or that an operator must look at. */
export interface Condition {
  /** Stable, for scripts: `node/unreachable`, `storage/full`, … */
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly since: string;
  readonly severity: Severity;
  /** false: worth telling, but the archive can do its work (and is ready). */
  readonly blocksReadiness: boolean;
  /** Amount, where a larger one is worse and is sent again: lost blobs. */
  readonly amount?: number;
}
