import { type Dispatcher, EnvHttpProxyAgent, errors, request } from 'undici';
import { clauseOf, codeOf } from '../../core/blob/errors.ts';
import { BODY_LIMIT_BYTES } from './candidates.ts';
import { SourceError } from './errors.ts';

export interface PeerOptions {
  /** Sockets at most. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** For one question with its whole body: one that drips is given up too. */
  readonly timeoutMs: number;
}

/** Each socket may be reading a blob as hex text: 4 MiB, and 2 MiB for its bytes. */
export const PEER: PeerOptions = { connections: 8, connectTimeoutMs: 5_000, timeoutMs: 60_000 };

export interface PeerReply {
  readonly status: number;
  readonly contentType: string;
  /** The Content-Length; null without one. */
  readonly lengthBytes: number | null;
  readonly body: Uint8Array;
}

const KEEP_ALIVE_MS = 4_000;

/** GET and HEAD of a peer, bounded in time and bytes, with errors that say who and what. */
export class PeerHttp {
  /** For messages: without credentials. */
  readonly where: string;
  readonly #authorization: string | null;
  readonly #dispatcher: Dispatcher;
  readonly #options: PeerOptions;

  /** null: no token is sent. */
  constructor(url: URL, options: PeerOptions, token: string | null) {
    this.where = `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}`;
    const user = decodeURIComponent(url.username);
    const password = decodeURIComponent(url.password);
    const basic = user === '' && password === '' ? null : Buffer.from(`${user}:${password}`).toString('base64');
    if (token !== null) this.#authorization = `Bearer ${token}`;
    else this.#authorization = basic === null ? null : `Basic ${basic}`;
    this.#options = options;
    // Proxies as the environment names them; private authorities come through Node itself.
    this.#dispatcher = new EnvHttpProxyAgent({
      connections: options.connections,
      connectTimeout: options.connectTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      pipelining: 1,
      allowH2: false,
    });
  }

  async ask(method: 'GET' | 'HEAD', url: string, accept: string, signal: AbortSignal): Promise<PeerReply> {
    signal.throwIfAborted();
    const { timeoutMs } = this.#options;
    const late = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await request(url, {
        method,
        dispatcher: this.#dispatcher,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: AbortSignal.any([signal, late]),
        headers: { accept, ...(this.#authorization === null ? {} : { authorization: this.#authorization }) },
      });
      const length = answer.headers['content-length'];
      const type = answer.headers['content-type'];
      const lengthBytes = typeof length === 'string' && /^\d{1,12}$/.test(length) ? Number(length) : null;
      return {
        status: answer.statusCode,
        contentType: typeof type === 'string' ? type.toLowerCase() : '',
        lengthBytes,
        body: await this.#read(answer.body, method === 'HEAD' ? null : lengthBytes),
      };
    } catch (cause) {
      signal.throwIfAborted();
      throw this.#explain(cause, late.aborted);
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  /** With a length that is told, into memory of that size at once. */
  async #read(body: AsyncIterable<unknown>, lengthBytes: number | null): Promise<Uint8Array> {
    if (lengthBytes !== null && lengthBytes > BODY_LIMIT_BYTES) throw this.#tooLarge();
    const whole = lengthBytes === null ? null : new Uint8Array(lengthBytes);
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of body) {
      if (!(part instanceof Uint8Array)) throw new TypeError('a body came as something else than bytes');
      if (bytes + part.length > (lengthBytes ?? BODY_LIMIT_BYTES)) throw this.#tooLarge();
      if (whole === null) parts.push(part);
      else whole.set(part, bytes);
      bytes += part.length;
    }
    return whole ?? Buffer.concat(parts);
  }

  #tooLarge(): SourceError {
    return new SourceError('source/bad-answer', `${this.where} answers with more bytes than any blob has.`, {
      details: { where: this.where },
      retryable: false,
      hint: 'Is that the address of an archive? Give it like peer=https://archive.example or peer=https://old.example/vh/.',
    });
  }

  #explain(cause: unknown, isLate: boolean): SourceError {
    if (cause instanceof SourceError) return cause;
    const isTimeout = isLate || cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError;
    const facts = { details: { where: this.where, systemCode: codeOf(cause) }, retryable: true, cause };
    if (isTimeout) {
      return new SourceError(
        'source/timeout',
        `${this.where} did not answer within ${this.#options.timeoutMs / 1_000} s.`,
        {
          ...facts,
          hint: 'Look at its load and at the network; what it did not answer is not absent.',
        },
      );
    }
    return new SourceError('source/unreachable', `${this.where} cannot be asked: ${clauseOf(cause)}.`, {
      ...facts,
      hint: 'Check the address, the network and proxies; what it did not answer is not absent.',
    });
  }
}
