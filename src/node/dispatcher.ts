import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import type { NodeEndpoint } from './endpoint.ts';
import { invalidArgument } from './errors.ts';

/**
 * Idle sockets are let go after this long. A node closes its own after 30 s or less, and a request that meets the
 * closing socket is reset.
 */
const KEEP_ALIVE_MS = 4_000;
/** What a server's own keep-alive hint may stretch that to. */
const KEEP_ALIVE_MAX_MS = 15_000;

export interface DispatcherOptions {
  /** Sockets at most: a node has four RPC threads and a queue of sixteen calls. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
}

/**
 * One pool for one node. A proxy is used where the environment names one (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`, upper
 * or lower case); private certificate authorities come through Node itself (`NODE_EXTRA_CA_CERTS`).
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
    // What it throws repeats the address, which may hold a password.
    throw invalidArgument(
      'The proxy that the environment names is not a URL.',
      'HTTP_PROXY, HTTPS_PROXY',
      '(not shown)',
    );
  }
}

function proxyIsNamed(endpoint: NodeEndpoint, env: NodeJS.ProcessEnv): boolean {
  const names = endpoint.origin.startsWith('https:') ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY'];
  return names.some((name) => (env[name] ?? env[name.toLowerCase()] ?? '') !== '');
}
