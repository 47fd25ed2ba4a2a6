import { backoffMs } from '../core/time/backoff.ts';
import { pause } from '../core/time/run-loop.ts';
import { NodeError } from './errors.ts';
import type { NodeTransport, TransportRequest } from './transport.ts';

export interface RetryPolicy {
  /** Repetitions of a read at most, besides the immediate one after a reset. 0: none. */
  readonly repetitions: number;
  /** Before the first repetition; doubled before each further one, and spread by up to a quarter. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

/** For callers with a loop of their own. */
export const NO_REPETITION: RetryPolicy = { repetitions: 0, firstDelayMs: 0, maxDelayMs: 0 };
export const DEFAULT_RETRY: RetryPolicy = { repetitions: 2, firstDelayMs: 250, maxDelayMs: 5_000 };

/** Milliseconds to wait before asking again; null: give up. `repeated`: how often it was asked again already. */
export function delayBeforeRepetition(
  error: unknown,
  request: Pick<TransportRequest, 'effect' | 'signal'>,
  repeated: number,
  policy: RetryPolicy,
): number | null {
  if (request.effect !== 'read' || request.signal.aborted || !(error instanceof NodeError)) return null;
  switch (error.code) {
    case 'node/connection-lost':
      // The node closes idle sockets: a call that meets the closing one is reset before any answer, and only that.
      if (repeated === 0 && error.details['phase'] === 'sent') return 0;
      break;
    case 'node/unreachable':
    case 'node/busy':
    case 'node/warming-up':
      break;
    default:
      return null;
  }
  if (repeated >= policy.repetitions) return null;
  return backoffMs({ firstMs: policy.firstDelayMs, maxMs: policy.maxDelayMs }, repeated + 1);
}

/** Repeats reads, never submissions. The time limit of a call holds for each turn. */
export function withReadRetries(transport: NodeTransport, policy: RetryPolicy): NodeTransport {
  return {
    name: transport.name,
    async send(request, read) {
      for (let repeated = 0; ; repeated += 1) {
        try {
          return await transport.send(request, read);
        } catch (error) {
          const waitMs = delayBeforeRepetition(error, request, repeated, policy);
          if (waitMs === null) throw error;
          if (waitMs > 0) await pause(waitMs, request.signal);
        }
      }
    },
    close: () => transport.close(),
  };
}
