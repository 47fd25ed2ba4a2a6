import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from '../core/node-http.ts';
import { DevnodeError } from './errors.ts';
import { isCarriedOut } from './faults/fault.ts';
import type { FaultBoard } from './faults/fault-board.ts';
import { deliverFaulty } from './faults/faulty-delivery.ts';
import type { RpcAnswer } from './rpc/envelope.ts';

/** Largest request body in bytes, as on the real node. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Milliseconds before the answer to a wrong password, which slows down guessing. */
const WRONG_PASSWORD_DELAY_MS = 250;
const HTML = 'text/html; charset=ISO-8859-1';

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** Milliseconds after which an idle keep-alive connection closes. */
  readonly keepAliveMs: number;
  readonly answer: (body: string, walletName: string | null, signal: AbortSignal) => Promise<RpcAnswer>;
  readonly faults: FaultBoard;
}

/** The node's HTTP server. Paths, verbs, credentials, statuses and headers are as recorded. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  readonly #authorization: Buffer;
  #address: AddressInfo | null = null;

  private constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#authorization = Buffer.from(
      `Basic ${Buffer.from(`${options.username}:${options.password}`).toString('base64')}`,
    );
    this.#server = createServer(
      { keepAliveTimeout: options.keepAliveMs, keepAliveTimeoutBuffer: 0 },
      (request, response) => {
        this.#handle(request, response).catch(() => response.destroy());
      },
    );
  }

  static async listen(options: HttpServerOptions): Promise<HttpServer> {
    const server = new HttpServer(options);
    await server.#listen(options.port);
    return server;
  }

  get address(): AddressInfo {
    if (this.#address === null) throw new Error('The server does not listen.');
    return this.#address;
  }

  /** Closes all connections and the port. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Listens again on the same port. */
  async reopen(): Promise<void> {
    if (!this.#server.listening) await this.#listen(this.address.port);
  }

  async #listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause) => reject(cannotListen(this.#options, cause)));
      this.#server.listen(port, this.#options.host, resolve);
    });
    const address = this.#server.address();
    this.#address = typeof address === 'string' ? null : address;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The real node sends neither a `Connection` nor a `Keep-Alive` header.
    response.removeHeader('Connection');
    const wallet = walletPath(request.url ?? '/');
    if (wallet === undefined) return sendPlain(response, 404, '');
    if (request.method !== 'POST') return sendPlain(response, 405, 'JSONRPC server handles only POST requests');
    if (!this.#authorized(request)) {
      if (request.headers.authorization !== undefined) await delay(WRONG_PASSWORD_DELAY_MS);
      response.setHeader('WWW-Authenticate', 'Basic realm="jsonrpc"');
      return sendPlain(response, 401, '');
    }
    const body = await readBody(request);
    if (body === null) return sendPlain(response, 413, '');
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const faults = this.#options.faults.takeTransport(body);
    const carriedOut = faults.every(isCarriedOut);
    const answer = carriedOut ? await this.#options.answer(body, wallet, gone.signal) : { status: 500, body: [] };
    for (const fault of faults) if (await deliverFaulty(response, answer, fault, gone.signal)) return;
    send(response, answer);
  }

  #authorized(request: IncomingMessage): boolean {
    const given = Buffer.from(request.headers.authorization ?? '');
    return given.length === this.#authorization.length && timingSafeEqual(given, this.#authorization);
  }
}

/** Name of the wallet in the path, null for `/`; `undefined` for an unknown path. */
function walletPath(url: string): string | null | undefined {
  if (url === '/') return null;
  return url.startsWith('/wallet/') ? decodeURIComponent(url.slice('/wallet/'.length)) : undefined;
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString();
}

function send(response: ServerResponse, { status, body }: RpcAnswer): void {
  const length = body.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': length });
  response.cork();
  for (const part of body) response.write(part);
  response.end();
  response.uncork();
}

function sendPlain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': HTML, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function cannotListen(options: HttpServerOptions, cause: unknown): DevnodeError {
  return new DevnodeError('devnode/listen', `The emulated node cannot listen on ${options.host}:${options.port}.`, {
    cause,
    retryable: false,
    hint: 'Choose a free port, or 0 for any.',
  });
}
