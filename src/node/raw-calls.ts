import type { Clock } from '../core/time/clock.ts';
import { NodeError } from './errors.ts';
import { parseLossless, writeLossless } from './lossless-json.ts';
import { parseJson, readEnvelope } from './rpc-answer.ts';
import { createTransport, type TransportOptions } from './transport.ts';

/** The node's answer as JSON text, with every digit of its numbers. */
export type RawReply = { readonly result: string } | { readonly code: number; readonly message: string };

/** Passes read-only calls of clients through to the node, undecoded. */
export interface RawCalls {
  /** @throws NodeError when the node does not answer; the signal's reason on abort */
  call(method: string, params: string, signal: AbortSignal): Promise<RawReply>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 * 1_048_576;
/**
 * Concurrent calls of all clients together, so that they do not load the node. Further calls are refused with a retry
 * hint.
 */
const AT_ONCE = 4;

export function createRawCalls(options: TransportOptions, clock: Pick<Clock, 'steadyMs'>): RawCalls {
  const transport = createTransport({ ...options, connections: AT_ONCE }, clock);
  let underWay = 0;
  return {
    async call(method, params, signal) {
      if (underWay >= AT_ONCE) throw busy();
      underWay += 1;
      try {
        return await transport.send(
          {
            effect: 'read',
            wallet: null,
            body: `{"jsonrpc":"1.0","id":"holdfast","method":${JSON.stringify(method)},"params":${params}}`,
            limitBytes: MAX_BYTES,
            timeoutMs: TIMEOUT_MS,
            signal,
          },
          (body) => {
            const { result, error } = readEnvelope(parseJson(body.toString('utf8'), parseLossless));
            return error === null ? { result: writeLossless(result ?? null) } : error;
          },
        );
      } finally {
        underWay -= 1;
      }
    },
    close: () => transport.close(),
  };
}

function busy(): NodeError {
  return new NodeError('node/busy', `${AT_ONCE} passed-through calls are in progress already.`, {
    retryable: true,
    hint: 'Ask again in a moment, or ask a node.',
  });
}
