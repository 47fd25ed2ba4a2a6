import type { ConditionBoard } from '../core/conditions/condition-board.ts';

/** Raises and clears the conditions of scheduled tasks and of the heartbeat. */
export class TaskReports {
  readonly #conditions: ConditionBoard;

  constructor(conditions: ConditionBoard) {
    this.#conditions = conditions;
  }

  /** A scheduled task ended: well where `error` is null. */
  taskEnded(task: string, error: unknown): void {
    if (error === null) this.#conditions.set(`task:${task}`, null);
    else this.#conditions.setError(`task:${task}`, error, false);
  }

  /** Raises the condition that a heartbeat was refused, with the answer. */
  heartbeatTold(failure: string | null): void {
    this.#conditions.set(
      'heartbeat',
      failure === null
        ? null
        : {
            code: 'heartbeat/not-taken',
            message: `The heartbeat does not arrive: ${failure}.`,
            hint: 'The service at HOLDFAST_HEARTBEAT_URL will raise an alarm although the archive works. Check that setting and the service.',
            blocksReadiness: false,
          },
    );
  }
}
