export interface IpfsOptions {
  /** Stable name of this backend, for records and messages: `ipfs`, `ipfs:offsite`. */
  readonly id: string;
  /** Kubo's RPC API, port 5001 as it comes; may carry user and password. Not its gateway. */
  readonly apiUrl: string;
  /** Whole value of the Authorization header (`Bearer …`), where the API asks for one. */
  readonly authorization: string | null;
  /** Sockets for reading, at most. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** For one question with its whole body; a listing may take longer, but never pause for longer. */
  readonly timeoutMs: number;
}

export function ipfsOptions(given: Pick<IpfsOptions, 'apiUrl'> & Partial<IpfsOptions>): IpfsOptions {
  return { id: 'ipfs', authorization: null, connections: 32, connectTimeoutMs: 5_000, timeoutMs: 60_000, ...given };
}

/** Address and header, apart: `fetch` takes no credentials in an address, and no message may show them. */
export interface KuboEndpoint {
  /** Ends in `/api/v0`. */
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
}

const API_PATH = '/api/v0';

export function kuboEndpoint(options: IpfsOptions): KuboEndpoint {
  const base = new URL(options.apiUrl);
  const user = decodeURIComponent(base.username);
  const password = decodeURIComponent(base.password);
  base.username = '';
  base.password = '';
  const path = base.pathname.replace(/\/+$/, '');
  base.pathname = path.endsWith(API_PATH) ? path : `${path}${API_PATH}`;
  const basic =
    user === '' && password === '' ? null : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const authorization = options.authorization ?? basic;
  return { base, headers: authorization === null ? {} : { authorization } };
}
