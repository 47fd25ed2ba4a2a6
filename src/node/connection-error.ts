import { errors } from 'undici';
import { codeOf, messageOf } from '../core/blob/errors.ts';
import { NodeError } from './errors.ts';

/** Progress of a call when its connection failed. */
export type CallPhase = 'connecting' | 'sent' | 'answering';

/** Converts errors of undici, sockets and TLS to NodeError. */
export function connectionError(name: string, phase: CallPhase, cause: unknown): NodeError {
  if (cause instanceof NodeError) return cause;
  const reason = codeOf(cause) ?? messageOf(cause);
  const details = { node: name, reason, phase };
  switch (reason) {
    case 'UND_ERR_CONNECT_TIMEOUT':
      return unreachable(`No connection to the node at ${name} in time.`, details, cause);
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return timeout(`The node at ${name} stopped answering.`, details);
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return new NodeError('node/closed', `The client of the node at ${name} was closed.`, {
        details,
        retryable: false,
        hint: 'Create a new client.',
      });
    default:
      // The cause would contain received bytes.
      if (cause instanceof errors.HTTPParserError) return notHttp(name, details);
      if (phase === 'connecting')
        return unreachable(`The node at ${name} cannot be reached: ${reason}.`, details, cause);
      return new NodeError('node/connection-lost', `The connection to the node at ${name} broke: ${reason}.`, {
        details,
        retryable: true,
        hint: 'The node may have stopped, or a network device closed the connection.',
        cause,
      });
  }
}

export function timeout(message: string, details: Readonly<Record<string, unknown>>): NodeError {
  return new NodeError('node/timeout', message, {
    details,
    retryable: true,
    hint: 'The node is busy or the network slow. Raise the time limit if that is usual here.',
  });
}

function unreachable(message: string, details: Readonly<Record<string, unknown>>, cause: unknown): NodeError {
  return new NodeError('node/unreachable', message, {
    details,
    retryable: true,
    hint: 'Check that the node runs, that address and port are right, and for https that its certificate is trusted (NODE_EXTRA_CA_CERTS).',
    cause,
  });
}

function notHttp(name: string, details: Readonly<Record<string, unknown>>): NodeError {
  return new NodeError('node/not-a-node', `What listens at ${name} does not speak HTTP.`, {
    details,
    retryable: false,
    hint: 'Give the RPC port of the node, not its peer-to-peer or ZeroMQ port.',
  });
}
