import { HoldfastError, messageOf } from '../blob/errors.ts';
import type { Logger } from '../observability/logger.ts';
import type { Condition } from './condition.ts';
import { bySeverity, eachOnce, severityOf } from './condition-severity.ts';

/** Subject of a condition. A subject has one condition at a time; `null` clears it. */
export type Subject =
  | 'node'
  | 'list'
  | 'store'
  | 'fetch'
  | 'slow'
  | 'blobs'
  | 'overdue'
  | 'custom'
  | 'custom-copies'
  | 'damage'
  | 'withheld'
  | 'drain'
  | 'rebuild'
  | 'disk'
  | 'repair'
  | 'local'
  | 'rows'
  | 'room'
  | 'scrub'
  | 'unmined'
  | 'canary'
  | 'audit'
  | 'clock'
  | 'heartbeat'
  | 'alert'
  | 'subscriptions'
  | 'peers'
  | `peer:${string}`
  | `task:${string}`
  | `backend:${string}`
  | `copies:${string}`
  | `refused-custom:${string}`
  | `place:${string}`
  | `probe:${string}`
  | `batches:${string}`
  | `chain:${string}`;

/** A condition as it is raised: the board knows since when, and how severe. */
export type Raised = Omit<Condition, 'since' | 'severity'>;

/** A condition with what it is about. */
export interface Standing extends Condition {
  readonly subject: Subject;
}

/** Raised before the node first answered. */
export function notAskedYet(since: string): Standing {
  return {
    subject: 'node',
    code: 'node/not-asked-yet',
    message: 'The node has not answered yet.',
    hint: 'Wait a moment; if it stays, look at HOLDFAST_NODE_URL.',
    since,
    severity: 'error',
    blocksReadiness: true,
  };
}

/** Conditions that hold now. Readiness and status show them, and a change is logged. */
export class ConditionBoard {
  readonly #conditions = new Map<Subject, Condition>();
  readonly #log: Logger;
  readonly #nowMs: () => number;

  constructor(log: Logger, nowMs: () => number) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  set(subject: Subject, raised: Raised | null): void {
    const before = this.#conditions.get(subject);
    if (raised === null) {
      if (before === undefined) return;
      this.#conditions.delete(subject);
      this.#log.info({ subject, code: before.code }, 'condition cleared');
      return;
    }
    const same = before?.code === raised.code;
    const since = same ? before.since : new Date(this.#nowMs()).toISOString();
    const severity = severityOf(raised);
    this.#conditions.set(subject, { ...raised, severity, since });
    if (same && before.message === raised.message) return;
    const level = same ? 'debug' : severity === 'warning' ? 'warn' : 'error';
    this.#log[level]({ subject, code: raised.code, severity, hint: raised.hint }, raised.message);
  }

  /**
   * Raises an error as a condition. Only Holdfast's errors have a code and a hint; any other error is a bug in
   * Holdfast.
   */
  setError(subject: Subject, error: unknown, blocksReadiness = true): void {
    if (error instanceof HoldfastError) {
      const { code, message, hint } = error;
      this.set(subject, { code, message, hint, blocksReadiness });
      return;
    }
    this.#log.error({ error, subject }, 'unexpected error');
    this.set(subject, {
      code: 'archive/unexpected',
      message: `Something unexpected went wrong: ${messageOf(error)}`,
      hint: 'This is a bug of holdfast: please report it with the log line beside it. The archiver tries again.',
      blocksReadiness: true,
    });
  }

  /**
   * Raises a condition that does not block readiness, unless `teller` shows the same message. Returns whether it was
   * raised.
   */
  setErrorBeside(subject: Subject, error: unknown, teller: Subject): boolean {
    const isTold = error instanceof HoldfastError && this.#conditions.get(teller)?.code === error.code;
    if (isTold) this.set(subject, null);
    else this.setError(subject, error, false);
    return !isTold;
  }

  /** Records an event that an operator may read later. */
  note(subject: Subject, message: string): void {
    this.#log.warn({ subject }, message);
  }

  has(subject: Subject): boolean {
    return this.#conditions.has(subject);
  }

  /** The most severe first, each cause once. */
  all(): Condition[] {
    return eachOnce(bySeverity([...this.#conditions.values()]));
  }

  /** All of them, each with its subject, in the same order. */
  standing(): Standing[] {
    return bySeverity([...this.#conditions].map(([subject, condition]) => ({ subject, ...condition })));
  }
}
