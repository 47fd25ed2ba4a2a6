import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RpcAnswer } from '../rpc/envelope.ts';
import type { TransportFault } from './fault.ts';

const SLOW_STEP_MS = 20;
const HUGE_STEP_BYTES = 256 * 1024;
const PAGE = '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\r\n';

/** Sends the answer with the fault. Returns false when the caller must send the answer itself. */
export async function deliverFaulty(
  response: ServerResponse,
  answer: RpcAnswer,
  fault: TransportFault,
  signal: AbortSignal,
): Promise<boolean> {
  const body = Buffer.concat(answer.body);
  switch (fault.kind) {
    case 'latency':
      // The client may close the connection first; the fault then has no reader.
      await sleep(fault.ms, undefined, { signal }).catch(() => undefined);
      return false;
    case 'unauthorized':
      return finish(response, 401, { 'WWW-Authenticate': 'Basic realm="jsonrpc"' }, '');
    case 'work-queue-full':
      return finish(response, 503, { 'Content-Type': 'text/html; charset=ISO-8859-1' }, 'Work queue depth exceeded');
    case 'html':
      return finish(response, fault.status, { 'Content-Type': 'text/html' }, PAGE);
    case 'empty-body':
      return finish(response, 200, { 'Content-Type': 'application/json' }, '');
    case 'no-batches':
      return refuseBatch(response, fault.how);
    case 'half-json':
      response.shouldKeepAlive = false;
      return finish(response, answer.status, { 'Content-Type': 'application/json' }, body.subarray(0, fault.bytes));
    case 'reset':
      response.socket?.resetAndDestroy();
      return true;
    case 'truncate':
      response.writeHead(answer.status, { 'Content-Type': 'application/json', 'Content-Length': body.length });
      response.write(body.subarray(0, fault.bytes), () => response.socket?.resetAndDestroy());
      return true;
    case 'slow-body':
      response.writeHead(answer.status, { 'Content-Type': 'application/json', 'Content-Length': body.length });
      await pipeline(Readable.from(drip(body, fault.bytesPerSecond)), response, { signal });
      return true;
    case 'huge-body':
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': fault.bytes });
      await pipeline(Readable.from(flood(fault.bytes)), response, { signal });
      return true;
    default:
      return fault satisfies never;
  }
}

const INVALID = '{"result":null,"error":{"code":-32600,"message":"Invalid Request object"},"id":null}\n';

function refuseBatch(response: ServerResponse, how: Extract<TransportFault, { kind: 'no-batches' }>['how']): true {
  switch (how) {
    case 'invalid-request':
      return finish(response, 400, { 'Content-Type': 'application/json' }, INVALID);
    case 'too-large':
      return finish(response, 413, { 'Content-Type': 'text/html' }, '<html>413 Request Entity Too Large</html>');
    case 'empty-list':
      return finish(response, 200, { 'Content-Type': 'application/json' }, '[]\n');
    case 'closed':
      response.socket?.destroy();
      return true;
    default:
      return how satisfies never;
  }
}

function finish(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string | Uint8Array,
): true {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
  return true;
}

async function* drip(body: Buffer, bytesPerSecond: number): AsyncGenerator<Buffer> {
  const step = Math.max(1, Math.floor((bytesPerSecond * SLOW_STEP_MS) / 1000));
  for (let offset = 0; offset < body.length; offset += step) {
    yield body.subarray(offset, offset + step);
    await sleep(SLOW_STEP_MS);
  }
}

function* flood(bytes: number): Generator<Buffer> {
  const start = Buffer.from('{"result":{"data":"');
  yield start.subarray(0, bytes);
  const chunk = Buffer.alloc(HUGE_STEP_BYTES, '0');
  for (let left = bytes - start.length; left > 0; left -= chunk.length) yield chunk.subarray(0, left);
}
