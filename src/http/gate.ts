import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from './answer.ts';
import { MAX_URL_CHARS } from './config.ts';
import { problemAnswer } from './problem.ts';
import type { RouteVerb } from './route.ts';
import { preflightHeaders } from './standing-headers.ts';

/** The methods of a path, each by a route of its own; GET brings HEAD with it, and browsers do OPTIONS. */
export interface GatePath {
  readonly pattern: RegExp;
  readonly verb: RouteVerb;
}

export interface GateRequest {
  readonly method: string;
  readonly url: string;
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
  /** Reports whether a route takes this method and path. */
  readonly routed: boolean;
}

/** RFC 9110 7.2: a name or an address, and a port; empty where the client knows of none. */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.%A-Za-z]+\])(?::[0-9]{0,5})?$/;

/** The methods whose routes take a body. */
const TAKING_BODIES = new Set(['POST', 'PUT']);
const VERBS: readonly RouteVerb[] = ['GET', 'POST', 'PUT', 'DELETE'];

/** Refuses, or answers, a request before any route sees it; null: let it through. `paths` are those of the routes. */
export function gateAnswer(request: GateRequest, paths: readonly GatePath[]): Answer | null {
  if (request.url.length > MAX_URL_CHARS) {
    return problemAnswer('http/uri-too-long', `It has more than ${MAX_URL_CHARS} characters.`);
  }
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    return problemAnswer('http/malformed-request', 'HTTP/1.1 wants a Host header.');
  }
  const hosts = request.rawHeaders.filter((_, at, all) => at % 2 === 1 && all[at - 1]?.toLowerCase() === 'host');
  if (hosts.length > 1) return problemAnswer('http/malformed-request', 'It has more than one Host header.');
  if (hosts.some((host) => !HOST.test(host))) {
    return problemAnswer('http/malformed-request', 'Its Host header names no host.');
  }
  if (!request.routed) return unroutedAnswer(request, paths);
  if (!TAKING_BODIES.has(request.method) && hasBody(request.headers)) {
    return problemAnswer('http/body-not-allowed', `${request.method} has no body here.`);
  }
  return null;
}

export function hasBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0);
}

/** The bytes of the body by what the client says, and at most `maxBytes`: more are refused. */
export function bodyBytesOf(headers: IncomingHttpHeaders, maxBytes: number): number {
  if (headers['transfer-encoding'] !== undefined) return maxBytes;
  return Math.min(Number(headers['content-length'] ?? 0), maxBytes);
}

/** Does the client send its body only when it is told to (RFC 9110 10.1.1)? */
export function isWaitingForLeave(headers: IncomingHttpHeaders, httpVersion: string): boolean {
  return httpVersion !== '1.0' && headers.expect?.toLowerCase() === '100-continue' && hasBody(headers);
}

function unroutedAnswer({ method, url }: GateRequest, paths: readonly GatePath[]): Answer {
  const path = url.split(/[?#]/, 1)[0] ?? '';
  const taking = paths.filter(({ pattern }) => pattern.test(path));
  if (taking.length === 0) return problemAnswer('http/no-such-route', `Nothing is at ${JSON.stringify(path)}.`);
  const taken = VERBS.filter((verb) => taking.some((path) => path.verb === verb));
  const allowed = [...taken.flatMap((verb) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb])), 'OPTIONS'].join(', ');
  if (method === 'OPTIONS') return { status: 204, headers: preflightHeaders(allowed), body: null };
  return problemAnswer('http/method-not-allowed', `${method} is not a method of this route.`, {
    headers: { allow: allowed },
  });
}

/** `/v1/blobs/:versionHash` as a pattern. Each parameter is one segment, whatever is in it. */
export function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/:[A-Za-z]+/g, '[^/]+')}$`);
}
