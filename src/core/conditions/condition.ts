/** `critical`: bytes or claims are in danger. `error`: the archive cannot do its work. `warning`: worth a look. */
export type Severity = 'critical' | 'error' | 'warning';

/** Something that keeps the archive from doing its job now, or that somebody has to look at. */
export interface Condition {
  /** Stable, for scripts: `node/unreachable`, `storage/full`, … */
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly since: string;
  readonly severity: Severity;
  /** false: worth telling, but the archive can do its work (and is ready). */
  readonly blocksReadiness: boolean;
  /** How much of it there is, where more of it is worse and has to be told again: blobs that are lost. */
  readonly amount?: number;
}
