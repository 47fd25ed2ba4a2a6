import { backoffMs } from '../core/time/backoff.ts';
import { pause } from '../core/time/run-loop.ts';
import { NodeError } from './errors.ts';
import type { NodeTransport, TransportRequest } from './transport.ts';

export interface RetryPolicy {
  /** Most retries of a read, besides the immediate one after a reset. 0: none. */
  readonly repetitions: number;
  /** Milliseconds before the first retry. Each further delay doubles, with up to a quarter of jitter. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

/** Policy for callers with their own retry loop. */
export const NO_REPETITION: RetryPolicy = { repetitions: 0, firstDelayMs: 0, maxDelayMs: 0 };
export const DEFAULT_RETRY: RetryPolicy = { repetitions: 2, firstDelayMs: 250, maxDelayMs: 5_000 };

/** Milliseconds until the next retry; null to give up. `repeated` counts the earlier retries. */
export function delayBeforeRepetition(
  error: unknown,
  request: Pick<TransportRequest, 'effect' | 'signal'>,
  repeated: number,
  policy: RetryPolicy,
): number | null {
  if (request.effect !== 'read' || request.signal.aborted || !(error instanceof NodeError)) return null;
  switch (error.code) {
    case 'node/connection-lost':
      // The node closes idle sockets. A call on a closing socket is reset before any answer; only that is retried at
      // once.
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

/** Retries reads, never submissions. The time limit holds for each attempt. */
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
