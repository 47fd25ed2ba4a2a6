import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from './errors.ts';

/**
 * Fires when the connection closes before the answer is written. Both sides are heard: a request that waits behind
 * another on its connection has no socket on the answering side yet.
 */
export function clientGoneSignal(request: IncomingMessage, response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  function closed(): void {
    if (response.writableFinished || gone.signal.aborted) return;
    gone.abort(
      new HttpError('http/client-gone', 'The client went away before it had its answer.', {
        retryable: false,
        hint: 'Nothing has to be done.',
      }),
    );
  }
  // A request also closes when its body has been read, while its client waits for the answer.
  request.once('close', () => {
    if (request.socket.destroyed) closed();
  });
  response.once('close', closed);
  return gone.signal;
}
