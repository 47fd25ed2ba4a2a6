import { NodeError } from './errors.ts';
import { parseLossless, writeLossless } from './lossless-json.ts';
import { parseJson, readEnvelope } from './rpc-answer.ts';
import { createTransport, type TransportOptions } from './transport.ts';

/** What a node said, as it said it: every digit of its numbers. */
export type RawReply = { readonly result: string } | { readonly code: number; readonly message: string };

/** Read-only calls that are handed on for somebody else, undecoded. */
export interface RawCalls {
  /** @throws NodeError when the node does not answer; on abort the signal's reason. */
  call(method: string, params: string, signal: AbortSignal): Promise<RawReply>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;
const MOST_BYTES = 16 * 1_048_576;
/** A guest on the node: so many at a time, and whoever comes then is told to come again. */
const AT_ONCE = 4;

export function createRawCalls(options: TransportOptions): RawCalls {
  const transport = createTransport({ ...options, connections: AT_ONCE });
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
            limitBytes: MOST_BYTES,
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
  return new NodeError('node/busy', `${AT_ONCE} calls are handed on already.`, {
    retryable: true,
    hint: 'Ask again in a moment, or ask a node.',
  });
}
