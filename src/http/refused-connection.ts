import type { Duplex } from 'node:stream';
import { codeOf } from '../core/blob/errors.ts';
import { STATUS_CODES } from '../core/node-http.ts';
import { type ProblemAnswer, problemAnswer, rpcRefusal } from './problem.ts';
import { requestIdFrom } from './request-id.ts';
import { STANDING_HEADERS } from './standing-headers.ts';

/** Reports whether the request did not come in time. Then it may have been begun with, and nothing of its answer is out. */
export function isTooLate(error: unknown): boolean {
  return codeOf(error) === 'ERR_HTTP_REQUEST_TIMEOUT';
}

/**
 * Ends a connection on which no request could be read. `isAnswering`: an answer is under way on it, and anything written
 * now would land in the middle of that answer's bytes; so it is only cut, and the client sees that it is short.
 */
export function refuseConnection(error: unknown, socket: Duplex, isAnswering: boolean): void {
  if (isAnswering || !socket.writable || codeOf(error) === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  socket.end(onTheWire(answerTo(error)), () => socket.destroy());
}

/** CONNECT: no client gets from here to anywhere else. Called when the answers before it are sent. */
export function refuseTunnel(socket: Duplex): void {
  const answer = problemAnswer('http/method-not-allowed', 'CONNECT is not a method here.', {
    headers: { allow: 'GET' },
  });
  // The rest that has come on it is not read.
  socket.on('error', () => socket.destroy());
  socket.end(onTheWire(answer), () => socket.destroy());
}

function answerTo(error: unknown): ProblemAnswer {
  switch (codeOf(error)) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problemAnswer('http/request-timeout', 'The request did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return problemAnswer('http/headers-too-large', 'The headers of this request are more than this server reads.');
    default:
      return problemAnswer('http/malformed-request', 'The request could not be read.');
  }
}

/** The request is not known, so each answer here is also one for a client of the façade. */
function onTheWire(refused: ProblemAnswer): Buffer {
  const { status, headers, body } = rpcRefusal(refused);
  const bytes = body.make();
  const all = {
    ...STANDING_HEADERS,
    ...headers,
    'x-request-id': requestIdFrom(undefined),
    'content-length': String(bytes.length),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`), bytes]);
}
