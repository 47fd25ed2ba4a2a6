import { invalidArgument } from './errors.ts';

/** User and password of HTTP basic authentication. */
export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** Address of a node, without credentials and safe to print. */
export interface NodeEndpoint {
  readonly origin: string;
  /** Path of the node's root without a trailing slash: empty, or `/some/where` behind a proxy. */
  readonly basePath: string;
  /** Origin and path, for people. */
  readonly name: string;
}

/**
 * Splits an address into endpoint and credentials.
 * @throws NodeError `node/invalid-argument`, without the address, which may hold a password
 */
export function parseEndpoint(url: string | URL): { endpoint: NodeEndpoint; credentials: BasicCredentials | null } {
  const parsed = URL.parse(String(url));
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
    throw invalidArgument('A node address must be an http:// or https:// URL.', 'url', '(not shown)');
  }
  if (parsed.search !== '' || parsed.hash !== '') {
    throw invalidArgument('A node address has no query and no fragment.', 'url', '(not shown)');
  }
  const basePath = parsed.pathname.replace(/\/+$/, '');
  const credentials =
    parsed.username === '' && parsed.password === ''
      ? null
      : { user: unescaped(parsed.username), password: unescaped(parsed.password) };
  return { endpoint: { origin: parsed.origin, basePath, name: `${parsed.origin}${basePath}` }, credentials };
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalidArgument('User and password in a URL must be percent-encoded.', 'url', '(not shown)');
  }
}
