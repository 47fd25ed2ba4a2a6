import type { Clock } from '../core/time/clock.ts';
import type { HttpMetrics } from './metrics.ts';
import type { PublicWords } from './public-words.ts';
import type { TokenList } from './token-list.ts';

/** Bounds on what clients can make the server hold. */
export interface HttpLimits {
  /** Further ones take the places of those that are idle longest; fewer where the system gives few handles. */
  readonly maxConnections: number;
  /** For the head of a request, from its first byte (or from the connection). */
  readonly headersTimeoutMs: number;
  /** For a whole request to arrive. */
  readonly requestTimeoutMs: number;
  /** The time that an idle connection stays; longer than the 60 s of common balancers, so that they close first. */
  readonly keepAliveTimeoutMs: number;
  /** A connection on which nothing moves for so long is destroyed: a reader that stopped reading. */
  readonly stalledTimeoutMs: number;
  /** Memory of requests and answers under way, bytes, all clients together; at most an eighth of what the process may have. */
  readonly answerBytes: number;
  /** The time that an answer waits for its share of that memory; a reader that takes longer loses its answer to those who wait. */
  readonly answerWaitMs: number;
  /** Requests a second of one client over time; 0: no limit. */
  readonly ratePerSecond: number;
  /** Requests of one client under way at a time; 0: no limit. */
  readonly concurrentPerClient: number;
  /** The time that open requests get to finish when the server closes. */
  readonly drainMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  maxConnections: 4_096,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 20_000,
  keepAliveTimeoutMs: 65_000,
  stalledTimeoutMs: 90_000,
  answerBytes: 256 * 1_048_576,
  answerWaitMs: 10_000,
  ratePerSecond: 2_000,
  concurrentPerClient: 256,
  drainMs: 3_000,
};

/** All headers of a request together, request line included; above it 431. */
export const MAX_HEADER_BYTES = 16_384;
/** Path and query; above it 414. */
export const MAX_URL_CHARS = 2_048;
/** The precision of the head and request timeouts. */
export const TIMEOUT_CHECK_MS = 1_000;

/** The settings of a listener, whatever its routes are. */
export interface HttpOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly limits?: Partial<HttpLimits>;
  /**
   * The proxies in front that are believed when they name the client (X-Forwarded-For): a number of hops, or addresses. null:
   * none is, and the connecting address is the client.
   */
  readonly trustProxy?: number | readonly string[] | null;
  /** The names of places for the public; operators read addresses (an admin token, or the local socket). */
  readonly words?: PublicWords;
  /** Tokens of operators, who may do more than read; without any, no client may over this port. */
  readonly adminTokens?: TokenList | null;
  /** Only a process that may write the data folder reaches it: it is asked for no token. */
  readonly isLocal?: boolean;
  /** Tokens that reading takes, when given; liveness and readiness do not. */
  readonly readTokens?: TokenList | null;
  /** Counts answers, when given. */
  readonly metrics?: HttpMetrics;
  /** Every fault that the archive did not announce by its answer; null: it belongs to no request. */
  readonly onServerError: (error: unknown, requestId: string | null) => void;
  readonly clock: Clock;
}
