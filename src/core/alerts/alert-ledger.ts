import type { Severity } from '../conditions/condition.ts';

/** The last document that the receiver took for a subject. */
export interface ToldCondition {
  readonly code: string;
  readonly severity: Severity;
  /** Amount in that document; null when the condition has no amount. */
  readonly amount: number | null;
  /** Since when it stood. */
  readonly since: string;
}

/** Storage of delivered alerts, so that a restart repeats none and loses none. */
export interface AlertLedger {
  all(): ReadonlyMap<string, ToldCondition>;
  put(subject: string, told: ToldCondition): void;
  remove(subject: string): void;
}
