import type { ConditionBoard, Subject } from '../conditions/condition-board.ts';
import { Notifier } from '../notifier.ts';
import { type Backoff, backoffMs } from './backoff.ts';

/**
 * A loop without work sleeps until something is due or a notifier wakes it. It looks by itself after so many milliseconds,
 * because a wall clock that is set forward makes work due earlier than the loop expected.
 */
export const LONGEST_SLEEP_MS = 30_000;

/** Milliseconds that a loop sleeps until work that is due at a time of the wall clock; null: no work is due. */
export function sleepUntil(dueMs: number | null, nowMs: number): number {
  return dueMs === null ? LONGEST_SLEEP_MS : Math.min(Math.max(dueMs - nowMs, 1), LONGEST_SLEEP_MS);
}

/** Milliseconds until the next step, 0 for at once; `done` ends the loop. */
export type Next = number | 'done';

export type Step = (signal: AbortSignal) => Promise<Next> | Next;

interface Pace {
  /** The loop ends with this signal, and with it the step and the pause. */
  readonly signal: AbortSignal;
  /** The pauses after failed steps. */
  readonly backoff: Backoff;
  /** Ends a pause early. A ring during a step that succeeded begins the next step at once. */
  readonly wake?: Pick<Notifier, 'notifications' | 'wait'>;
  /**
   * The caller's test for errors that end the loop, which rejects with them. By default every failed step is reported
   * and repeated.
   */
  readonly isFinal?: (error: unknown) => boolean;
}

/** Raises the condition of the loop's name while its steps fail, and clears it when one succeeds. */
interface OnBoard {
  readonly conditions: Pick<ConditionBoard, 'set' | 'setError'>;
  /** Whether the archive is not ready while the steps fail. Default: true. */
  readonly blocksReadiness?: boolean;
}

/** For loops whose steps raise conditions of their own: told of each error, and null after a step that succeeded. */
interface ByCaller {
  readonly tell: (error: unknown) => void;
}

export type LoopPolicy = Pace & (OnBoard | ByCaller);

/**
 * Repeats a step until the signal aborts: the one loop of the product. A step that throws is told under the loop's name and
 * repeated after its backoff, whatever it threw. Resolves when the signal aborts or the step says `done`.
 */
export async function runLoop(name: Subject, step: Step, policy: LoopPolicy): Promise<void> {
  const { signal, backoff, wake = new Notifier(), isFinal = () => false } = policy;
  let failures = 0;
  while (!signal.aborted) {
    const { notifications } = wake;
    let next: Next;
    try {
      next = await step(signal);
      failures = 0;
      tell(name, policy, null);
    } catch (error) {
      if (signal.aborted) return;
      if (isFinal(error)) throw error;
      failures += 1;
      next = backoffMs(backoff, failures);
      tell(name, policy, error);
    }
    if (next === 'done') return;
    if (next > 0 && (failures > 0 || wake.notifications === notifications)) await wake.wait(next, signal);
  }
}

/** Repeats the work until it succeeds and gives its result. Rejects when the signal aborts, and with a final error. */
export async function retryUntil<T>(name: Subject, work: () => Promise<T>, policy: LoopPolicy): Promise<T> {
  const results: T[] = [];
  const step = async (): Promise<Next> => {
    results.push(await work());
    return 'done';
  };
  await runLoop(name, step, policy);
  for (const result of results) return result;
  throw policy.signal.reason;
}

/** Looks until there is an answer, and gives it. Rejects when the signal aborts, and with what the look throws. */
export async function pollUntil<T>(look: () => T | null, pauseMs: () => number, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const found = look();
    if (found !== null) return found;
    await pause(pauseMs(), signal);
  }
}

/** Resolves after so long. Rejects when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Notifier().wait(ms, signal);
  signal.throwIfAborted();
}

function tell(name: Subject, policy: LoopPolicy, error: unknown): void {
  if ('tell' in policy) policy.tell(error);
  else if (error === null) policy.conditions.set(name, null);
  else policy.conditions.setError(name, error, policy.blocksReadiness ?? true);
}
