import { isIP, isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../core/time/clock.ts';

export interface ClientLimitOptions {
  /** Requests a second that one client may make over time; twice as many at once. 0: no limit. */
  readonly ratePerSecond: number;
  /** Requests of one client under way at a time, until their answers are sent. 0: no limit. */
  readonly concurrent: number;
  readonly clock: Pick<Clock, 'steadyMs'>;
}

export type Admission =
  | { readonly kind: 'admitted'; readonly done: () => void }
  | { readonly kind: 'refused'; readonly why: 'rate' | 'concurrency'; readonly retryAfterSeconds: number };

interface Client {
  tokens: number;
  atMs: number;
  underWay: number;
}

/** Clients of which something is remembered; the one heard of least lately is forgotten first. */
const MAX_CLIENTS = 10_000;
const BURST_SECONDS = 2;

/**
 * The limits of one client. They are written by hand, as each of the two would need a plugin of its own: the usual one counts requests
 * in fixed windows, knows nothing of those under way, and answers in its own shape.
 */
export class ClientLimits {
  readonly #options: ClientLimitOptions;
  readonly #clients = new Map<string, Client>();

  constructor(options: ClientLimitOptions) {
    this.#options = options;
  }

  /** `done` is called once, when the answer is sent or the client gone. */
  admit(client: string): Admission {
    const { ratePerSecond, concurrent, clock } = this.#options;
    const known = this.#clientAt(client, clock.steadyMs());
    if (concurrent > 0 && known.underWay >= concurrent) {
      return { kind: 'refused', why: 'concurrency', retryAfterSeconds: 1 };
    }
    if (ratePerSecond > 0) {
      if (known.tokens < 1) {
        return { kind: 'refused', why: 'rate', retryAfterSeconds: (1 - known.tokens) / ratePerSecond };
      }
      known.tokens -= 1;
    }
    known.underWay += 1;
    let isDone = false;
    const done = () => {
      if (isDone) return;
      isDone = true;
      known.underWay -= 1;
    };
    return { kind: 'admitted', done };
  }

  /** Counts its call as so many requests more than the one that was admitted; they are paid for before the next one. */
  charge(client: string, requests: number): void {
    const { ratePerSecond, clock } = this.#options;
    if (ratePerSecond > 0) this.#clientAt(client, clock.steadyMs()).tokens -= requests;
  }

  #clientAt(key: string, nowMs: number): Client {
    const most = this.#options.ratePerSecond * BURST_SECONDS;
    const client = this.#clients.get(key) ?? { tokens: most, atMs: nowMs, underWay: 0 };
    const passedSeconds = Math.max(0, nowMs - client.atMs) / 1_000;
    client.tokens = Math.min(most, client.tokens + passedSeconds * this.#options.ratePerSecond);
    client.atMs = nowMs;
    this.#clients.delete(key);
    this.#clients.set(key, client);
    if (this.#clients.size > MAX_CLIENTS) this.#forgetOne();
    return client;
  }

  /** Never one with requests under way: it would begin again. */
  #forgetOne(): void {
    for (const [key, { underWay }] of this.#clients) {
      if (underWay > 0) continue;
      this.#clients.delete(key);
      return;
    }
  }
}

/**
 * The client, as limits count clients. A name from a trusted proxy that is no address counts as the proxy itself: such a name can
 * be of any length, and another one each time.
 */
export function clientOf({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  // Over a local socket a client has no address, whatever the type says.
  return clientKey(isIP(ip ?? '') === 0 ? (socket.remoteAddress ?? '') : ip);
}

/** A home or a rented machine has a whole /64 of IPv6: each of its addresses would be a client of its own. */
export function clientKey(address: string): string {
  // The test for one is not cheap, and without a colon it is none.
  if (!address.includes(':') || !isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => '0');
  const groups = [...front, ...zeros, ...back].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
}
