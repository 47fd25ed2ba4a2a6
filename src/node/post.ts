import type { Dispatcher } from 'undici';
import type { BodyBuffers } from './body-buffers.ts';
import { type CallPhase, connectionError, timeout } from './connection-error.ts';
import type { NodeEndpoint } from './endpoint.ts';
import { NodeError } from './errors.ts';

export interface HttpPost {
  /** Path under the node's root, with its leading slash. */
  readonly path: string;
  readonly body: string | Uint8Array;
  readonly authorization: string | null;
  /** An answer longer than this is cut off. */
  readonly limitBytes: number;
  /** From now to the answer's last byte. */
  readonly timeoutMs: number;
  /** Longest silence in the middle of an answer. */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Valid only while the reader runs: the memory is used again. */
  readonly body: Buffer;
}

/** Where the first piece of an answer of untold length goes. */
const FIRST_PIECE_BYTES = 16 * 1024;

/** One HTTP exchange: `read` runs, synchronously, on the whole answer of any status. */
export function post<T>(
  to: { readonly dispatcher: Dispatcher; readonly endpoint: NodeEndpoint; readonly buffers: BodyBuffers },
  request: HttpPost,
  read: (answer: HttpAnswer) => T,
): Promise<T> {
  const { signal } = request;
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise<T>((resolve, reject) => {
    let settled = false;
    let phase: CallPhase = 'connecting';
    let controller: Dispatcher.DispatchController | null = null;
    let status = 0;
    let contentType = '';
    let body: Buffer | null = null;
    let length = 0;

    const timer = setTimeout(() => {
      const message = `The node at ${to.endpoint.name} did not answer within ${request.timeoutMs} ms.`;
      give(timeout(message, { node: to.endpoint.name, timeoutMs: request.timeoutMs, phase }));
    }, request.timeoutMs);
    const onAbort = () => give(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });

    function settle(): boolean {
      if (settled) return false;
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      return true;
    }

    /** Ends the call with this and lets the connection go. */
    function give(reason: unknown): void {
      if (!settle()) return;
      controller?.abort(reason instanceof Error ? reason : new Error('aborted'));
      if (body !== null) to.buffers.giveBack(body);
      reject(reason);
    }

    function room(needed: number): Buffer {
      if (needed > request.limitBytes) throw tooLarge(to.endpoint.name, needed, request.limitBytes);
      if (body !== null && body.length >= needed) return body;
      const grown = to.buffers.take(Math.min(Math.max(needed, length * 2, FIRST_PIECE_BYTES), request.limitBytes));
      if (body !== null) {
        body.copy(grown, 0, 0, length);
        to.buffers.giveBack(body);
      }
      body = grown;
      return grown;
    }

    function guarded(run: () => void): void {
      if (settled) return;
      try {
        run();
      } catch (error) {
        give(error);
      }
    }

    to.dispatcher.dispatch(
      {
        origin: to.endpoint.origin,
        path: `${to.endpoint.basePath}${request.path}`,
        method: 'POST',
        headers: headersOf(request),
        body: request.body,
        headersTimeout: request.timeoutMs,
        bodyTimeout: request.silenceMs,
      },
      {
        onRequestStart(started) {
          controller = started;
          phase = 'sent';
          if (settled) started.abort(new Error('given up before it was sent'));
        },
        onResponseStart(_controller, statusCode, headers) {
          guarded(() => {
            phase = 'answering';
            status = statusCode;
            contentType = String(headers['content-type'] ?? '');
            const announced = Number(headers['content-length'] ?? 0);
            if (Number.isSafeInteger(announced) && announced > 0) room(announced);
          });
        },
        onResponseData(_controller, chunk) {
          guarded(() => {
            chunk.copy(room(length + chunk.length), length);
            length += chunk.length;
          });
        },
        onResponseEnd() {
          if (!settle()) return;
          try {
            resolve(read({ status, contentType, body: body?.subarray(0, length) ?? Buffer.alloc(0) }));
          } catch (error) {
            reject(error);
          } finally {
            if (body !== null) to.buffers.giveBack(body);
          }
        },
        onResponseError(_controller, error) {
          give(connectionError(to.endpoint.name, phase, error));
        },
      },
    );
  });
}

function headersOf(request: HttpPost): Record<string, string> {
  const headers = { 'content-type': 'text/plain', accept: 'application/json' };
  return request.authorization === null ? headers : { ...headers, authorization: request.authorization };
}

function tooLarge(name: string, bytes: number, limitBytes: number): NodeError {
  return new NodeError(
    'node/body-too-large',
    `The node at ${name} answers with ${bytes} bytes or more, where at most ${limitBytes} can be right; cut off.`,
    { details: { node: name, bytes, limitBytes }, retryable: false, hint: 'Something else than a node listens there.' },
  );
}
