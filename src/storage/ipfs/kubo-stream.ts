import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { lendMemory } from '../../core/blob/lent-memory.ts';
import { proxyIsNamed } from '../proxy-environment.ts';
import type { IpfsOptions, KuboEndpoint } from './ipfs-options.ts';
import { KuboRefusal, NotKuboAnswer } from './kubo-error.ts';

/** Idle sockets are closed before Kubo closes them. */
const KEEP_ALIVE_MS = 4_000;
/** Limit of an error message from Kubo, and of one line in a listing. */
const MAX_MESSAGE_BYTES = 65_536;

/**
 * Every call of Kubo's RPC API that Holdfast makes, over connections of its own. None goes through kubo-rpc-client 7.1:
 * - All: that client takes neither a `fetch` nor a dispatcher, so that a proxy would need the dispatcher of the whole process.
 * - `block/get`, `block/stat`: it reads an answer without a bound; here a block of 5 MB ends after 2 MiB and one byte.
 * - `pin/ls`, `block/rm`: it drops the trailer `X-Stream-Error`, by which alone Kubo says that a listing broke off: the
 *   listing would look complete.
 * - `block/put`: it takes a third longer for 2 MiB (measured by `npm run bench -- ipfs`).
 */
export class KuboStream {
  readonly #dispatcher: Dispatcher;
  readonly #endpoint: KuboEndpoint;

  constructor(endpoint: KuboEndpoint, options: IpfsOptions) {
    this.#endpoint = endpoint;
    const pool = {
      connections: options.connections,
      connectTimeout: options.connectTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: options.timeoutMs,
      bodyTimeout: options.timeoutMs,
    };
    this.#dispatcher = proxyIsNamed(endpoint.base) ? new EnvHttpProxyAgent(pool) : new Pool(endpoint.base.origin, pool);
  }

  /** Never more than `limitBytes` of the body. */
  async bytes(command: string, query: URLSearchParams, limitBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    const { body, trailers } = await this.#ask(command, query, signal);
    const bytes = await readUpTo(body, limitBytes);
    throwStreamError(trailers);
    return bytes;
  }

  /** A short answer, parsed. */
  async json(command: string, words: Readonly<Record<string, string>>, signal: AbortSignal): Promise<unknown> {
    const bytes = await this.bytes(command, new URLSearchParams(words), MAX_MESSAGE_BYTES, signal);
    return JSON.parse(new TextDecoder().decode(bytes));
  }

  /** One file in a form, as Kubo takes blocks. */
  async send(command: string, query: URLSearchParams, file: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const boundary = `holdfast-${randomBytes(16).toString('hex')}`;
    const parts = [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\n\r\n`),
      file,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ];
    const form = {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(parts.reduce((length, part) => length + part.length, 0)),
    };
    const { body, trailers } = await this.#ask(command, query, signal, form, inOne(parts));
    const bytes = await readUpTo(body, MAX_MESSAGE_BYTES);
    throwStreamError(trailers);
    return bytes;
  }

  /** Each line of the answer, parsed. */
  async *lines(command: string, query: URLSearchParams, signal: AbortSignal): AsyncIterable<unknown> {
    const { body, trailers } = await this.#ask(command, query, signal);
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of body) {
      const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_MESSAGE_BYTES) throw new NotKuboAnswer('a line of a listing without an end');
      for (const line of lines) if (line !== '') yield JSON.parse(line);
    }
    if (rest.trim() !== '') yield JSON.parse(rest);
    throwStreamError(trailers);
  }

  /**
   * Reports whether this address serves IPFS paths, which a gateway does and the API does not. The empty block needs no
   * network.
   */
  async isGateway(signal: AbortSignal): Promise<boolean> {
    const { origin } = this.#endpoint.base;
    const path = '/ipfs/bafkqaaa';
    const answer = await this.#dispatcher.request({ origin, path, method: 'GET', signal });
    await answer.body.dump();
    return answer.statusCode === 200 && answer.headers['x-ipfs-path'] !== undefined;
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #ask(
    command: string,
    query: URLSearchParams,
    signal: AbortSignal,
    more: Readonly<Record<string, string>> = {},
    body: Buffer | Readable | null = null,
  ): Promise<Dispatcher.ResponseData> {
    const { base, headers } = this.#endpoint;
    const answer = await this.#dispatcher.request({
      origin: base.origin,
      path: `${base.pathname}/${command}?${query}`,
      method: 'POST',
      headers: { ...headers, ...more },
      body,
      signal,
    });
    if (answer.statusCode === 200) return answer;
    throw new KuboRefusal(answer.statusCode, messageIn(await readUpTo(answer.body, MAX_MESSAGE_BYTES)));
  }
}

/** A stream costs more than copying little. */
const COPIED_BYTES = 65_536;

function inOne(parts: readonly Uint8Array[]): Buffer | Readable {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return length <= COPIED_BYTES ? Buffer.concat(parts, length) : Readable.from(parts);
}

function throwStreamError(trailers: Readonly<Record<string, string>>): void {
  const broken = trailers['x-stream-error'];
  if (broken !== undefined && broken !== '') throw new KuboRefusal(500, broken);
}

/** Reads by events: `for await` takes half as long again for a body of 2 MiB. Bytes beyond the limit are not read. */
async function readUpTo(body: Readable, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let read = 0;
  await new Promise<void>((resolve, reject) => {
    body.once('error', reject);
    body.once('end', resolve);
    body.once('close', () => reject(new Error('the connection was closed')));
    body.on('data', (chunk: Uint8Array) => {
      const wanted = chunk.subarray(0, limitBytes - read);
      chunks.push(wanted);
      read += wanted.length;
      if (read < limitBytes) return;
      resolve();
      body.destroy();
    });
  });
  const whole = Buffer.from(lendMemory(read), 0, read);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function messageIn(body: Uint8Array): string {
  const text = new TextDecoder().decode(body);
  try {
    const said: unknown = JSON.parse(text);
    if (typeof said === 'object' && said !== null && 'Message' in said) return String(said.Message);
  } catch {
    // The body is not Kubo's error format: another server wrote this page.
  }
  return text;
}
