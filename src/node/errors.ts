import { type ErrorFacts, HoldfastError } from '../core/blob/errors.ts';

/**
 * What a call to a node can end in, besides an answer and an abort (which throws the signal's own reason).
 *
 * | code | the call | a repetition can help |
 * |---|---|---|
 * | `node/unreachable` | never left: no route, refused, TLS | yes |
 * | `node/connection-lost` | may have been executed; no whole answer came | yes |
 * | `node/timeout` | may have been executed; no answer in time | yes |
 * | `node/unauthorized` | 401 or 403 | no: credentials or `rpcallowip` |
 * | `node/busy` | 503: the work queue is full | yes |
 * | `node/warming-up` | -28 | yes |
 * | `node/rpc-error` | refused by the node with its own code (`NodeRpcError`) | no |
 * | `node/absent` | the node says it does not have that blob (`NodeRpcError`) | no |
 * | `node/method-not-found` | -32601: another release than thought (`NodeRpcError`) | no |
 * | `node/unknown-wallet` | -18, -19 (`NodeRpcError`) | no |
 * | `node/not-a-node` | HTML, an empty body, a redirect: something else listens there | no |
 * | `node/malformed-answer` | invalid or cut JSON, fields of a wrong type, data that is not hex | yes |
 * | `node/wrong-blob` | a blob of another size or version hash than the one asked for | yes |
 * | `node/body-too-large` | longer than that answer can be; cut off | no |
 * | `node/unsupported-operation` | not sent: the dialect lacks it | no |
 * | `node/invalid-argument` | not sent: breaks a rule that the message names | no |
 * | `node/submission-unknown` | sent, no answer, and looking did not show whether it arrived | look again |
 * | `node/closed` | the client was closed | no |
 */
export type NodeErrorCode =
  | 'node/unreachable'
  | 'node/connection-lost'
  | 'node/timeout'
  | 'node/unauthorized'
  | 'node/busy'
  | 'node/warming-up'
  | 'node/rpc-error'
  | 'node/absent'
  | 'node/method-not-found'
  | 'node/unknown-wallet'
  | 'node/not-a-node'
  | 'node/malformed-answer'
  | 'node/wrong-blob'
  | 'node/body-too-large'
  | 'node/unsupported-operation'
  | 'node/invalid-argument'
  | 'node/submission-unknown'
  | 'node/closed';

/** Never carries credentials: not in the message, the details or the cause. */
export class NodeError extends HoldfastError<NodeErrorCode> {}

export interface RpcFacts extends ErrorFacts {
  readonly rpcCode: number;
  readonly rpcMessage: string;
}

/** The node answered, with an error of its own. */
export class NodeRpcError extends NodeError {
  readonly rpcCode: number;
  /** The node's own words, cut at 500 characters. */
  readonly rpcMessage: string;

  constructor(code: NodeErrorCode, message: string, facts: RpcFacts) {
    super(code, message, { ...facts, details: { ...facts.details, rpcCode: facts.rpcCode } });
    this.rpcCode = facts.rpcCode;
    this.rpcMessage = facts.rpcMessage;
  }
}

/** `RPC_INVALID_ADDRESS_OR_KEY`: neither in the memory pool nor where the node looks. */
export const RPC_NO_SUCH_TRANSACTION = -5;

export function invalidArgument(rule: string, argument: string, value: unknown): NodeError {
  return new NodeError('node/invalid-argument', rule, {
    details: { argument, value },
    retryable: false,
    hint: `Correct the argument ${argument}; nothing was sent.`,
  });
}

export function malformedAnswer(what: string, details: Readonly<Record<string, unknown>>, cause?: unknown): NodeError {
  return new NodeError('node/malformed-answer', what, {
    details,
    retryable: true,
    hint: 'The answer was cut or altered on its way, or this is not a node of a known release.',
    ...(cause === undefined ? {} : { cause }),
  });
}
