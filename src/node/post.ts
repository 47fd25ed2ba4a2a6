import type { Dispatcher } from 'undici';
import { ArrivingBody } from './arriving-body.ts';
import type { BodyBuffers } from './body-buffers.ts';
import { type CallPhase, connectionError, timeout } from './connection-error.ts';
import type { NodeEndpoint } from './endpoint.ts';
import { NodeError } from './errors.ts';

export interface HttpPost {
  /** Path under the node's root, with its leading slash. */
  readonly path: string;
  readonly body: string | Uint8Array;
  readonly authorization: string | null;
  /** Length in bytes at which the answer is cut off. */
  readonly limitBytes: number;
  /** Milliseconds from now to the answer's last byte. */
  readonly timeoutMs: number;
  /** Milliseconds from sending the request to the first byte of the answer. */
  readonly firstByteMs: number;
  /** Longest pause in milliseconds inside an answer. */
  readonly silenceMs: number;
  /** true: the connection closes after the answer, so the next request uses another one. */
  readonly closesConnection: boolean;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  /** The answer's bytes, valid only while the reader runs; the memory is reused. */
  readonly body: Buffer;
}

export interface PostTarget {
  readonly dispatcher: Dispatcher;
  readonly endpoint: NodeEndpoint;
  readonly buffers: BodyBuffers;
}

/** Longest delay of a timer in milliseconds; a longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Signal of calls without one. */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;

/** Sends one HTTP request. `read` runs synchronously on the complete answer, whatever its status. */
export function post<T>(to: PostTarget, request: HttpPost, read: (answer: HttpAnswer) => T): Promise<T> {
  if (request.signal.aborted) return Promise.reject(request.signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const handler = new PendingPost(to, request, (answer) => resolve(read(answer)), reject);
  const headers = { 'content-type': 'text/plain', accept: 'application/json' };
  to.dispatcher.dispatch(
    {
      origin: to.endpoint.origin,
      path: `${to.endpoint.basePath}${request.path}`,
      method: 'POST',
      headers: request.authorization === null ? headers : { ...headers, authorization: request.authorization },
      body: request.body,
      headersTimeout: Math.min(request.firstByteMs, request.timeoutMs, MAX_TIMER_MS),
      bodyTimeout: request.silenceMs,
      reset: request.closesConnection,
    },
    handler,
  );
  return promise;
}

/** One request in progress. It ends once: by the answer, an error, the time limit or the signal. */
class PendingPost implements Dispatcher.DispatchHandler {
  readonly #name: string;
  readonly #request: HttpPost;
  readonly #succeed: (answer: HttpAnswer) => void;
  readonly #fail: (reason: unknown) => void;
  readonly #body: ArrivingBody;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort: (() => void) | null;
  #settled = false;
  #phase: CallPhase = 'connecting';
  #controller: Dispatcher.DispatchController | null = null;
  #status = 0;
  #contentType = '';

  constructor(
    to: PostTarget,
    request: HttpPost,
    succeed: (answer: HttpAnswer) => void,
    fail: (reason: unknown) => void,
  ) {
    this.#name = to.endpoint.name;
    this.#request = request;
    this.#succeed = succeed;
    this.#fail = fail;
    this.#body = new ArrivingBody(to.buffers, request.limitBytes, (bytes) =>
      tooLarge(this.#name, bytes, request.limitBytes),
    );
    this.#timer = setTimeout(() => this.#giveUp(this.#tooSlow()), Math.min(request.timeoutMs, MAX_TIMER_MS));
    this.#onAbort = request.signal === NEVER_ABORTED ? null : () => this.#giveUp(request.signal.reason);
    if (this.#onAbort !== null) request.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#phase = 'sent';
    if (this.#settled) controller.abort(new Error('aborted before it was sent'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#phase = 'answering';
    this.#status = status;
    this.#contentType = String(headers['content-type'] ?? '');
    const announced = Number(headers['content-length'] ?? 0);
    this.#take(() => this.#body.announce(Number.isSafeInteger(announced) ? announced : 0));
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#take(() => this.#body.add(piece));
  }

  onResponseEnd(): void {
    if (!this.#settle()) return;
    try {
      this.#succeed({ status: this.#status, contentType: this.#contentType, body: this.#body.whole() });
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#body.release();
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#giveUp(connectionError(this.#name, this.#phase, error));
  }

  #take(run: () => void): void {
    if (this.#settled) return;
    try {
      run();
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** Rejects the call and closes its connection if there is one. */
  #giveUp(reason: unknown): void {
    if (!this.#settle()) return;
    this.#body.release();
    this.#fail(reason);
    this.#controller?.abort(reason instanceof Error ? reason : new Error('aborted'));
  }

  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    clearTimeout(this.#timer);
    if (this.#onAbort !== null) this.#request.signal.removeEventListener('abort', this.#onAbort);
    return true;
  }

  #tooSlow(): NodeError {
    const { timeoutMs } = this.#request;
    const details = { node: this.#name, timeoutMs, phase: this.#phase };
    return timeout(`The node at ${this.#name} did not answer within ${timeoutMs} ms.`, details);
  }
}

function tooLarge(name: string, bytes: number, limitBytes: number): NodeError {
  return new NodeError(
    'node/body-too-large',
    `The node at ${name} answers with ${bytes} bytes or more, where Holdfast takes at most ${limitBytes}. Holdfast cut it off.`,
    {
      details: { node: name, bytes, limitBytes },
      retryable: false,
      hint: 'No answer that Holdfast expects is so long. Look at what listens there, and at what stands before the node.',
    },
  );
}
