import type { Clock } from '../core/time/clock.ts';
import { BodyBuffers } from './body-buffers.ts';
import { basicCredentials, type CredentialSource, cookieFile } from './credentials.ts';
import { createDispatcher } from './dispatcher.ts';
import { type BasicCredentials, parseEndpoint } from './endpoint.ts';
import { NodeError } from './errors.ts';
import { refuseNonRpc, submissionError } from './http-status.ts';
import { type HttpAnswer, type HttpPost, post } from './post.ts';

export interface NodeTimeouts {
  /** Milliseconds to establish a connection. Default 10,000. */
  readonly connectMs?: number;
  /** Milliseconds from the call to the last byte of its answer. Default 60,000. */
  readonly callMs?: number;
  /** Milliseconds until the first byte of a single blob; a batch gets more. Default 15,000. */
  readonly firstByteMs?: number;
  /** Longest pause in milliseconds inside an answer. Default 20,000. */
  readonly silenceMs?: number;
}

export interface TransportOptions {
  /** Address of the node's RPC server, which may hold user and password. */
  readonly url: string | URL;
  /** Credentials, which take precedence over those in the address. */
  readonly credentials?: BasicCredentials | { readonly cookieFile: string };
  /** Most sockets. Default 6. */
  readonly connections?: number;
  readonly timeouts?: NodeTimeouts;
}

/** One call, or one batch of calls. */
export interface TransportRequest {
  /** `read`: may be sent again. `submit`: may have taken effect although no answer arrived. */
  readonly effect: 'read' | 'submit';
  /** Wallet, for the path `/wallet/<name>`; null for the root. */
  readonly wallet: string | null;
  readonly body: string | Uint8Array;
  readonly limitBytes: number;
  /** Milliseconds. Default: the transport's limit. */
  readonly timeoutMs?: number;
  /** Milliseconds until the first byte. Default: the limit of the whole call. */
  readonly firstByteMs?: number;
  /** true: the connection is suspect, and the next request uses another one. Default false. */
  readonly closesConnection?: boolean;
  readonly signal: AbortSignal;
}

export interface NodeTransport {
  /** Address without credentials. */
  readonly name: string;
  /**
   * Sends a request. `read` runs on the body of an answer that can be JSON-RPC; the bytes are valid only while it runs.
   * @throws NodeError; the signal's reason on abort
   */
  send<T>(request: TransportRequest, read: (body: Buffer) => T): Promise<T>;
  close(): Promise<void>;
}

const DEFAULT_CONNECTIONS = 6;
const DEFAULT_CONNECT_MS = 10_000;
export const DEFAULT_CALL_MS = 60_000;
const DEFAULT_SILENCE_MS = 20_000;
/** Bytes of memory kept between calls for bodies: six answers with the largest blob. */
const KEPT_BODY_BYTES = 6 * 5 * 1024 * 1024;

export function createTransport(options: TransportOptions, clock: Pick<Clock, 'steadyMs'>): NodeTransport {
  const { endpoint, credentials } = parseEndpoint(options.url);
  const source = credentialSource(options.credentials ?? credentials, clock);
  const dispatcher = createDispatcher(endpoint, {
    connections: options.connections ?? DEFAULT_CONNECTIONS,
    connectTimeoutMs: options.timeouts?.connectMs ?? DEFAULT_CONNECT_MS,
  });
  const to = { dispatcher, endpoint, buffers: new BodyBuffers(KEPT_BODY_BYTES) };

  async function once<T>(request: TransportRequest, read: (body: Buffer) => T, authorization: string | null) {
    const timeoutMs = request.timeoutMs ?? options.timeouts?.callMs ?? DEFAULT_CALL_MS;
    const call: HttpPost = {
      path: request.wallet === null ? '/' : `/wallet/${encodeURIComponent(request.wallet)}`,
      body: request.body,
      authorization,
      limitBytes: request.limitBytes,
      timeoutMs,
      firstByteMs: request.firstByteMs ?? timeoutMs,
      silenceMs: options.timeouts?.silenceMs ?? DEFAULT_SILENCE_MS,
      closesConnection: request.closesConnection ?? false,
      signal: request.signal,
    };
    const checked = (answer: HttpAnswer) => {
      refuseNonRpc(endpoint.name, answer, request.effect);
      return read(answer.body);
    };
    try {
      return await post(to, call, checked);
    } catch (error) {
      throw request.effect === 'submit' ? submissionError(error) : error;
    }
  }

  return {
    name: endpoint.name,
    async send(request, read) {
      const authorization = await source.current();
      try {
        return await once(request, read, authorization);
      } catch (error) {
        // The node did not execute a call with 401, so even a submission may be sent again: the restarted node has a
        // new cookie.
        if (!isUnauthorized(error) || !(await source.renew(authorization))) throw error;
        return await once(request, read, await source.current());
      }
    },
    close: () => dispatcher.destroy(),
  };
}

function credentialSource(
  given: BasicCredentials | { readonly cookieFile: string } | null,
  clock: Pick<Clock, 'steadyMs'>,
): CredentialSource {
  return given !== null && 'cookieFile' in given ? cookieFile(given.cookieFile, clock) : basicCredentials(given);
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof NodeError && error.code === 'node/unauthorized' && error.details['status'] === 401;
}
