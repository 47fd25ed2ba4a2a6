import { BodyBuffers } from './body-buffers.ts';
import { basicCredentials, type CredentialSource, cookieFile } from './credentials.ts';
import { createDispatcher } from './dispatcher.ts';
import { type BasicCredentials, parseEndpoint } from './endpoint.ts';
import { NodeError } from './errors.ts';
import { refuseNonRpc } from './http-status.ts';
import { type HttpAnswer, type HttpPost, post } from './post.ts';

export interface NodeTimeouts {
  /** Until a connection stands. Default 10,000. */
  readonly connectMs?: number;
  /** From the call to the last byte of its answer. Default 60,000. */
  readonly callMs?: number;
  /** Until a fetch of one blob begins to be answered; more blobs take longer. Default 15,000. */
  readonly firstByteMs?: number;
  /** Longest silence in the middle of an answer. Default 20,000. */
  readonly silenceMs?: number;
}

export interface TransportOptions {
  /** Address of the node's RPC; may hold user and password. */
  readonly url: string | URL;
  /** Before those in the address. */
  readonly credentials?: BasicCredentials | { readonly cookieFile: string };
  /** Sockets at most. Default 6. */
  readonly connections?: number;
  readonly timeouts?: NodeTimeouts;
}

/** One call, or one batch of calls. */
export interface TransportRequest {
  /** `read`: may be sent again; `submit`: may have happened although no answer came. */
  readonly effect: 'read' | 'submit';
  /** Sent to `/wallet/<name>`; null: to the root. */
  readonly wallet: string | null;
  readonly body: string | Uint8Array;
  readonly limitBytes: number;
  /** Default: that of the transport. */
  readonly timeoutMs?: number;
  /** Until the answer begins. Default: as long as the whole may take. */
  readonly firstByteMs?: number;
  /** What came over this connection is doubted: the next request has another one. Default: false. */
  readonly closesConnection?: boolean;
  readonly signal: AbortSignal;
}

export interface NodeTransport {
  /** Origin and path, without credentials. */
  readonly name: string;
  /**
   * `read` runs on the body of an answer that can be JSON-RPC; the bytes are valid only while it runs.
   * @throws NodeError; on abort the signal's reason.
   */
  send<T>(request: TransportRequest, read: (body: Buffer) => T): Promise<T>;
  close(): Promise<void>;
}

const DEFAULT_CONNECTIONS = 6;
const DEFAULT_CONNECT_MS = 10_000;
export const DEFAULT_CALL_MS = 60_000;
const DEFAULT_SILENCE_MS = 20_000;
/** Memory for bodies that is kept between calls: that of six answers with the largest blob. */
const KEPT_BODY_BYTES = 6 * 5 * 1024 * 1024;

export function createTransport(options: TransportOptions): NodeTransport {
  const { endpoint, credentials } = parseEndpoint(options.url);
  const source = credentialSource(options.credentials ?? credentials);
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
      refuseNonRpc(endpoint.name, answer);
      return read(answer.body);
    };
    return await post(to, call, checked);
  }

  return {
    name: endpoint.name,
    async send(request, read) {
      const authorization = await source.current();
      try {
        return await once(request, read, authorization);
      } catch (error) {
        // A 401 was not executed, so this is safe for a submission too: the node was restarted and has a new cookie.
        if (!isUnauthorized(error) || !(await source.renew(authorization))) throw error;
        return await once(request, read, await source.current());
      }
    },
    close: () => dispatcher.destroy(),
  };
}

function credentialSource(given: BasicCredentials | { readonly cookieFile: string } | null): CredentialSource {
  return given !== null && 'cookieFile' in given ? cookieFile(given.cookieFile) : basicCredentials(given);
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof NodeError && error.code === 'node/unauthorized' && error.details['status'] === 401;
}
