import { NodeError } from './errors.ts';
import type { HttpAnswer } from './post.ts';

const BRACE = 0x7b;
const BRACKET = 0x5b;

/**
 * Lets pass what can be a JSON-RPC answer (a node answers errors of its own with 400, 404 or 500 and a JSON body).
 * @throws NodeError `unauthorized`, `busy`, `not-a-node`, or `unreachable` for a proxy that says so.
 */
export function refuseNonRpc(name: string, answer: HttpAnswer): void {
  const { status } = answer;
  const details = { node: name, status, contentType: answer.contentType.slice(0, 80), bytes: answer.body.length };
  if (status === 401) {
    throw new NodeError('node/unauthorized', `The node at ${name} refuses user or password (401).`, {
      details,
      retryable: false,
      hint: 'Set user and password, or the cookie file, to what the node was started with.',
    });
  }
  if (status === 403) {
    throw new NodeError('node/unauthorized', `The node at ${name} refuses this machine (403).`, {
      details,
      retryable: false,
      hint: 'Allow the address of this machine in the node (rpcallowip), and the operation for this user (rpcwhitelist).',
    });
  }
  if (status === 503 || status === 429) {
    throw new NodeError('node/busy', `The node at ${name} has more calls waiting than it takes (${status}).`, {
      details,
      retryable: true,
      hint: 'Ask less at once, or raise rpcworkqueue of the node.',
    });
  }
  if (status === 502 || status === 504) {
    throw new NodeError('node/unreachable', `A proxy before ${name} does not reach the node (${status}).`, {
      details,
      retryable: true,
      hint: 'Check that the node behind the proxy runs.',
    });
  }
  if (status >= 300 && status < 400) {
    throw new NodeError('node/not-a-node', `What answers at ${name} redirects (${status}), which is not followed.`, {
      details,
      retryable: false,
      hint: 'Give the address that the node itself answers at: credentials and submissions go nowhere else.',
    });
  }
  const first = answer.body[0];
  if (first === BRACE || first === BRACKET) return;
  const what = answer.body.length === 0 ? 'an empty body' : answer.contentType || 'something that is not JSON';
  throw new NodeError('node/not-a-node', `What answers at ${name} is no node: status ${status} with ${what}.`, {
    details,
    retryable: false,
    hint: 'Give the address of the RPC port, with its path if there is a proxy before it.',
  });
}
