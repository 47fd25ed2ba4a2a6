import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createHttpApp } from './app.ts';
import { DEFAULT_HTTP_LIMITS, type HttpOptions } from './config.ts';
import { listenError } from './errors.ts';
import type { Route } from './route.ts';

export interface Listening {
  /** The URL at which a client on this machine reaches it, without a slash at the end. */
  readonly url: string;
  readonly port: number;
}

export interface HttpServer {
  /** @throws HttpError when host and port cannot be had. */
  listen(): Promise<Listening>;
  /**
   * Accepts nothing more, closes idle connections at once, lets open requests finish within `drainMs` and then cuts
   * them. Never rejects for what clients do; a second call gives the outcome of the first.
   */
  close(): Promise<CloseOutcome>;
}

export interface CloseOutcome {
  readonly cutRequests: number;
}

/** Serves these routes, and their description, over a port. */
export async function createHttpServer(routes: readonly Route[], options: HttpOptions): Promise<HttpServer> {
  const { fastify, connections } = createHttpApp(routes, options);
  await fastify.ready();
  const { host, port } = options;
  const { drainMs } = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  let closing: Promise<CloseOutcome> | null = null;

  async function close(): Promise<CloseOutcome> {
    const closed = fastify.close();
    const cutRequests = await connections.drain(drainMs);
    await closed;
    return { cutRequests };
  }

  return {
    async listen() {
      // Fastify's own listen is not used: for `localhost` that opens servers which nothing here watches or drains.
      try {
        // The system would take no host for all of them.
        if (host === '') throw Object.assign(new Error('no host is named'), { code: 'EINVAL' });
        const listening = once(fastify.server, 'listening');
        fastify.server.listen({ host, port });
        await listening;
      } catch (error) {
        throw listenError(host, port, error);
      }
      // Such as no file handle left for a new connection: those that are open go on, and later ones will come in again.
      fastify.server.on('error', (error) => options.onServerError(error, null));
      return listeningAt(fastify.server.address());
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function listeningAt(address: AddressInfo | string | null): Listening {
  if (address === null || typeof address === 'string') throw listenError('', 0, new Error('it has no port'));
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address.address] ?? address.address;
  const host = reachable.includes(':') ? `[${reachable}]` : reachable;
  return { url: `http://${host}:${address.port}`, port: address.port };
}
