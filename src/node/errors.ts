import { type ErrorFacts, HoldfastError } from '../core/blob/errors.ts';

/**
 * Reasons why a call to a node fails. An abort throws the signal's own reason instead. A retry of a submission that may
 * have been executed can pay twice: look for its effect first, as `submitBlob` does.
 *
 * | code | the call | a retry can help |
 * |---|---|---|
 * | `node/unreachable` | was not sent: no route, refused, TLS; or a read for which a proxy answered 502 or 504 | yes |
 * | `node/connection-lost` | may have been executed; no complete answer arrived, or a submission got an answer that is not of a node: a proxy's 5xx, 408 or redirect, a page, one that is too long | yes |
 * | `node/timeout` | may have been executed; no answer in time | yes |
 * | `node/unauthorized` | 401 or 403 | no: fix credentials or `rpcallowip` |
 * | `node/busy` | was not executed: the work queue is full (503, or 500 of older releases), 429 of a proxy; or a read with any 503 | yes |
 * | `node/warming-up` | -28 | yes |
 * | `node/rpc-error` | refused by the node with its own code (`NodeRpcError`), or for a missing signature | no |
 * | `node/absent` | the node says that it lacks the blob (`NodeRpcError`) | no |
 * | `node/method-not-found` | -32601: an unexpected release (`NodeRpcError`) | no |
 * | `node/unknown-wallet` | -18, -19 (`NodeRpcError`) | no |
 * | `node/not-a-node` | was not executed: HTML, an empty body; or a read that is redirected; another server listens there | no |
 * | `node/malformed-answer` | may have been executed; invalid or truncated JSON, fields of a wrong type, data that is not hex | yes |
 * | `node/wrong-blob` | a blob of another size or version hash than requested | yes |
 * | `node/body-too-large` | the answer to a read is longer than any that Holdfast expects; cut off | no |
 * | `node/unsupported-operation` | was not sent: the dialect lacks the operation | no |
 * | `node/invalid-argument` | was not sent: breaks a rule that the message names | no |
 * | `node/submission-unknown` | sent without an answer, and later look-ups did not show whether it arrived | look again
 * |
 * | `node/stage-not-reached` | was submitted; the stage to wait for did not come in time | wait on |
 * | `node/stage-unknown` | was submitted; the node does not show whether the stage to wait for is reached | look again later |
 * | `node/closed` | the client was closed; a call in progress may have been executed | no |
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
  | 'node/stage-not-reached'
  | 'node/stage-unknown'
  | 'node/closed';

/** A failed call. Message, details and cause never contain credentials. */
export class NodeError extends HoldfastError<NodeErrorCode> {}

export interface RpcFacts extends ErrorFacts {
  readonly rpcCode: number;
  readonly rpcMessage: string;
}

/** The node answered with its own error. */
export class NodeRpcError extends NodeError {
  readonly rpcCode: number;
  /** The node's own message, cut at 500 characters. */
  readonly rpcMessage: string;

  constructor(code: NodeErrorCode, message: string, facts: RpcFacts) {
    super(code, message, { ...facts, details: { ...facts.details, rpcCode: facts.rpcCode } });
    this.rpcCode = facts.rpcCode;
    this.rpcMessage = facts.rpcMessage;
  }
}

/** `RPC_INVALID_ADDRESS_OR_KEY`: the transaction is neither in the mempool nor where the node searched. */
export const RPC_NO_SUCH_TRANSACTION = -5;

export function invalidArgument(rule: string, argument: string, value: unknown): NodeError {
  return new NodeError('node/invalid-argument', rule, {
    details: { argument, value },
    retryable: false,
    hint: `Correct the argument ${argument}; Holdfast sent nothing.`,
  });
}

export function malformedAnswer(what: string, details: Readonly<Record<string, unknown>>, cause?: unknown): NodeError {
  return new NodeError('node/malformed-answer', what, {
    details,
    retryable: true,
    hint: 'The answer was cut or altered on its way, or the server is not a node of a known release.',
    ...(cause === undefined ? {} : { cause }),
  });
}
