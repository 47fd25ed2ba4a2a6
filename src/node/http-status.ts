import { NodeError } from './errors.ts';
import type { HttpAnswer } from './post.ts';

const BRACE = 0x7b;
const BRACKET = 0x5b;

/**
 * Passes answers that can be JSON-RPC. A node sends its own errors with 400, 404 or 500 and a JSON body.
 * @throws NodeError `unauthorized`, `busy`, `not-a-node`, or what a proxy reports: of a read `unreachable`, of a submission
 * `connection-lost`
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
  if (status === 503 || status === 429) {
    throw new NodeError('node/busy', `The work queue of the node at ${name} is full (${status}).`, {
      details,
      retryable: true,
      hint: 'Send fewer calls at once, or raise rpcworkqueue of the node.',
    });
  }
  if (status === 502 || status === 504) {
    // The proxy may have passed the call on before the node's answer was lost.
    if (effect === 'submit') {
      throw new NodeError(
        'node/connection-lost',
        `A proxy in front of ${name} gave no answer of the node (${status}).`,
        {
          details,
          retryable: true,
          hint: 'The node may have executed the call: look for its effect before you send it again.',
        },
      );
    }
    throw new NodeError('node/unreachable', `A proxy in front of ${name} does not reach the node (${status}).`, {
      details,
      retryable: true,
      hint: 'Check that the node behind the proxy runs.',
    });
  }
  if (status >= 300 && status < 400) {
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
  const first = answer.body[0];
  if (first === BRACE || first === BRACKET) return;
  const what = answer.body.length === 0 ? 'an empty body' : answer.contentType || 'something that is not JSON';
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
