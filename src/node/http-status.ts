import { NodeError } from './errors.ts';
import type { HttpAnswer } from './post.ts';

const BRACE = 0x7b;
const BRACKET = 0x5b;
/** The node's own body of a 503, or of a 500 in older releases. A proxy also answers both after it passed the call on. */
const QUEUE_IS_FULL = Buffer.from('Work queue depth exceeded');

/**
 * Passes answers that can be JSON-RPC. A node sends its own errors with 400, 404 or 500 and a JSON body.
 * @throws NodeError `unauthorized`, `busy`, `not-a-node`, `unreachable`; `connection-lost` for a submission that the node may
 * have executed
 */
export function refuseNonRpc(name: string, answer: HttpAnswer, effect: 'read' | 'submit'): void {
  const { status } = answer;
  const details = { node: name, status, contentType: answer.contentType.slice(0, 80), bytes: answer.body.length };
  if (status === 401) {
    throw new NodeError('node/unauthorized', `The node at ${name} refuses user or password (401).`, {
      details,
      retryable: false,
      hint: 'Set user and password, or the cookie file, to the node’s own.',
    });
  }
  if (status === 403) {
    throw new NodeError('node/unauthorized', `The node at ${name} refuses this machine (403).`, {
      details,
      retryable: false,
      hint: 'Allow this machine’s address in the node (rpcallowip), and the operation for this user (rpcwhitelist).',
    });
  }
  const isQueueFull = (status === 500 || status === 503) && answer.body.equals(QUEUE_IS_FULL);
  if (status === 429 || isQueueFull || (status === 503 && effect === 'read')) {
    throw new NodeError('node/busy', `The work queue of the node at ${name} is full (${status}).`, {
      details,
      retryable: true,
      hint: 'Send fewer calls at once, or raise rpcworkqueue of the node.',
    });
  }
  const first = answer.body[0];
  const isJson = first === BRACE || first === BRACKET;
  const what = answer.body.length === 0 ? 'an empty body' : answer.contentType || 'something that is not JSON';
  const isOfGateway = status >= 502 && status <= 504;
  const isRedirect = status >= 300 && status < 400;
  // A proxy answers with a redirect to its error page, or with 408, also after it passed the call on. No other 4xx did so.
  const isOfProxy = isOfGateway || isRedirect || status === 408;
  if (effect === 'submit' && (isOfProxy || (!isJson && (status < 400 || status >= 500)))) {
    throw unknownOutcome(`The server at ${name} gave no answer of the node: status ${status} with ${what}.`, details);
  }
  if (isOfGateway) {
    throw new NodeError('node/unreachable', `A proxy in front of ${name} does not reach the node (${status}).`, {
      details,
      retryable: true,
      hint: 'Check that the node behind the proxy runs.',
    });
  }
  if (isRedirect) {
    throw new NodeError(
      'node/not-a-node',
      `The server at ${name} redirects (${status}), which Holdfast does not follow.`,
      {
        details,
        retryable: false,
        hint: 'Set the final address: Holdfast sends credentials and submissions nowhere else.',
      },
    );
  }
  if (isJson) return;
  throw new NodeError(
    'node/not-a-node',
    `The server at ${name} is no node: it answered status ${status} with ${what}.`,
    {
      details,
      retryable: false,
      hint: 'Give the address of the RPC port, with its path if there is a proxy before it.',
    },
  );
}

/** Converts the error of a submission whose answer is too long, or no HTTP: the node may have executed the call. */
export function submissionError(error: unknown): unknown {
  if (!(error instanceof NodeError)) return error;
  const { code, message, details } = error;
  const isHidden = code === 'node/body-too-large' || (code === 'node/not-a-node' && details['status'] === undefined);
  return isHidden ? unknownOutcome(message, details, error) : error;
}

function unknownOutcome(message: string, details: Readonly<Record<string, unknown>>, cause?: NodeError): NodeError {
  return new NodeError('node/connection-lost', message, {
    details,
    retryable: true,
    hint: 'The node may have executed the call: look for its effect before you send it again.',
    cause,
  });
}
