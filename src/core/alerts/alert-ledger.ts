import type { Severity } from '../conditions/condition.ts';

/** What the receiver of alerts was told of a subject last. */
export interface ToldCondition {
  readonly code: string;
  readonly severity: Severity;
  /** How much of it was told; null: its condition has no amount. */
  readonly amount: number | null;
  /** Since when it stood. */
  readonly since: string;
}

/** Where that is kept over restarts, so that nothing is told twice and nothing is left untold. */
export interface AlertLedger {
  all(): ReadonlyMap<string, ToldCondition>;
  put(subject: string, told: ToldCondition): void;
  remove(subject: string): void;
}
