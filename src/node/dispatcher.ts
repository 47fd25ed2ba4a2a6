import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import type { NodeEndpoint } from './endpoint.ts';
import { invalidArgument } from './errors.ts';

/**
 * Milliseconds after which an idle socket closes. A node closes its own after 30 s or less, and resets a request on a
 * closing socket.
 */
const KEEP_ALIVE_MS = 4_000;
/** Upper limit in milliseconds of a server's keep-alive hint. */
const KEEP_ALIVE_MAX_MS = 15_000;

export interface DispatcherOptions {
  /** Most sockets. A node has four RPC threads and a queue of sixteen calls. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
}

/**
 * Creates a connection pool for one node. The environment may name a proxy (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`, in
 * upper or lower case). Node itself reads private certificate authorities (`NODE_EXTRA_CA_CERTS`).
 */
export function createDispatcher(endpoint: NodeEndpoint, options: DispatcherOptions): Dispatcher {
  const pool = {
    connections: options.connections,
    connectTimeout: options.connectTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    pipelining: 1,
    allowH2: false,
  };
  return proxyIsNamed(endpoint, process.env) ? throughProxy(pool) : new Pool(endpoint.origin, pool);
}

function throughProxy(pool: EnvHttpProxyAgent.Options): Dispatcher {
  try {
    return new EnvHttpProxyAgent(pool);
  } catch {
    // The original error repeats the address, which may hold a password.
    throw invalidArgument(
      'The proxy address in the environment is not a URL.',
      'HTTP_PROXY, HTTPS_PROXY',
      '(not shown)',
    );
  }
}

function proxyIsNamed(endpoint: NodeEndpoint, env: NodeJS.ProcessEnv): boolean {
  const names = endpoint.origin.startsWith('https:') ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY'];
  return names.some((name) => (env[name] ?? env[name.toLowerCase()] ?? '') !== '');
}
