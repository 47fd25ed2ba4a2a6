import { isAbsentAnswer } from '../core/blob/absent-answer.ts';
import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import { malformedAnswer, type NodeErrorCode, NodeRpcError } from './errors.ts';

/** The parts of a JSON-RPC answer that Holdfast uses. */
export interface RpcAnswer {
  readonly id: unknown;
  readonly result: unknown;
  readonly error: { readonly code: number; readonly message: string } | null;
}

const MAX_MESSAGE_CHARS = 500;

/** @throws NodeError `node/malformed-answer` */
export function parseJson(text: string, parse: (text: string) => unknown = parseBoundedJson): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw notJson(text.length, cause);
  }
}

function notJson(length: number, cause: unknown): Error {
  // A node never sends such an answer; its purpose would be to exhaust the parser.
  if (cause instanceof RangeError) return malformedAnswer(`The answer is refused: ${cause.message}`, { length });
  const why =
    cause instanceof Error && /end|unterminated/i.test(cause.message) ? 'it ends in the middle' : 'invalid JSON';
  // The parser's message repeats pieces of the text, which may hold anything.
  return malformedAnswer(`The answer is not JSON: ${why}.`, { length });
}

/** @throws NodeError `node/malformed-answer` */
export function readEnvelope(value: unknown): RpcAnswer {
  if (!isObject(value) || !('result' in value || 'error' in value)) {
    throw malformedAnswer('The answer is JSON, but no answer to a call: it has neither result nor error.', {});
  }
  return { id: value['id'], result: value['result'], error: readError(value['error']) };
}

function readError(value: unknown): RpcAnswer['error'] {
  if (value === null || value === undefined) return null;
  if (!isObject(value)) throw malformedAnswer('The error in the answer is not an object.', {});
  const { code, message } = value;
  if (typeof code !== 'number') throw malformedAnswer('The error in the answer has no code.', {});
  return { code, message: typeof message === 'string' ? message : '' };
}

/** @throws NodeRpcError when the node refused; NodeError `node/malformed-answer` for the answer to another call */
export function resultOf(answer: RpcAnswer, id: string, method: string): unknown {
  if (answer.error !== null) throw rpcError(method, answer.error.code, answer.error.message);
  if (answer.id !== id) throw malformedAnswer('The answer belongs to another call: its id differs.', { method });
  return answer.result;
}

interface Reading {
  readonly code: NodeErrorCode;
  readonly retryable: boolean;
  readonly hint: string;
}

export function rpcError(method: string, rpcCode: number, rpcMessage: string): NodeRpcError {
  const said = rpcMessage.length > MAX_MESSAGE_CHARS ? `${rpcMessage.slice(0, MAX_MESSAGE_CHARS)}…` : rpcMessage;
  const { code, retryable, hint } = readingOf(method, rpcCode, rpcMessage);
  return new NodeRpcError(code, `The node refuses ${method} (${rpcCode}): ${said.split('\n', 1)[0]}`, {
    rpcCode,
    rpcMessage: said,
    details: { method },
    retryable,
    hint,
  });
}

/** Meaning of an error code, as recorded from release 5.1.1 (test/vectors/release-5.1.json). */
function readingOf(method: string, rpcCode: number, rpcMessage: string): Reading {
  switch (rpcCode) {
    case -28:
      return { code: 'node/warming-up', retryable: true, hint: 'The node is starting. Try again in a while.' };
    case -18:
      return { code: 'node/unknown-wallet', retryable: false, hint: 'Name a wallet that the node has loaded.' };
    case -19:
      return { code: 'node/unknown-wallet', retryable: false, hint: 'The node has several wallets loaded; name one.' };
    case -32601:
      return {
        code: 'node/method-not-found',
        retryable: false,
        hint: 'Use a node of a release with this operation.',
      };
  }
  if (method === 'getnevmblobdata' && isAbsentAnswer({ code: rpcCode, message: rpcMessage })) {
    return { code: 'node/absent', retryable: false, hint: 'Ask another node, or an archive.' };
  }
  return { code: 'node/rpc-error', retryable: false, hint: 'Read the node’s own message.' };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
