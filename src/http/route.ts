import type { ServerResponse } from 'node:http';
import type { z } from 'zod';
import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import type { Sending } from '../view/archive-view.ts';
import type { Answer } from './answer.ts';
import { HttpError } from './errors.ts';
import type { ProblemCode } from './problem-table.ts';

/** A request as routes see it, whatever carries it. */
export interface RouteRequest {
  readonly parameters: unknown;
  readonly query: unknown;
  readonly method: string;
  /** The body of a POST; bounded before it gets here. */
  readonly body: Uint8Array;
  /** The header of a lower-case name; undefined when it was not sent. */
  header(name: string): string | undefined;
  /** Fires when the client goes away before it has its answer. */
  readonly signal: AbortSignal;
  /** Tells the operator of a fault that the answer covers up. */
  report(error: unknown): void;
  /** The client, as limits count clients. */
  readonly client: string;
  /** Reports that the local socket brought it: from a process that may write the data folder. */
  readonly isLocal: boolean;
  /**
   * Waits until the answer may hold so many bytes more than a small one, before it takes them.
   * @throws HttpError `http/too-busy`
   */
  readonly hold: (bytes: number) => Promise<void>;
  /** Large blobs are better sent in parts. */
  readonly isTight: () => boolean;
  /** The answer itself, for what is lent to it. */
  readonly sending: Sending;
  /** The answer needs no memory until it is made: it waits for something else than memory. */
  readonly releaseMemory: () => void;
}

export interface DecodedRequest<Parameters, Query, Body> extends Omit<RouteRequest, 'body'> {
  readonly parameters: Parameters;
  readonly query: Query;
  readonly body: Body;
}

/** For the description of the API: what a good answer carries. */
export interface GoodAnswer {
  /** 200 where it is not given. */
  readonly status?: number;
  /** null: it has no body. */
  readonly mediaType: string | null;
  /** null: bytes or text that no schema describes. */
  readonly schema: z.ZodType | null;
}

export interface RouteDescription {
  /** One sentence for people. */
  readonly says: string;
  readonly answers: readonly GoodAnswer[];
  /** Besides those that every route can have. */
  readonly problems: readonly ProblemCode[];
}

/** The clients that may use it, when tokens are configured. */
export type RouteAccess = 'public' | 'read' | 'admin';

/** Takes a response whose head is sent, and writes to it from now on. */
export type Listen = (response: ServerResponse) => void;

/** An answer that goes on until the client or the server ends it. */
export interface EventStream {
  readonly headers: Readonly<Record<string, string>>;
  readonly listen: Listen;
}

/** JSON-RPC as a node answers it: its refusals are JSON-RPC as well. */
export const FACADE_PATH = '/';

/** GET is HEAD as well. */
export type RouteVerb = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The schemas decode what arrives, and the description is made from the same. */
export interface Route extends RouteDescription {
  /** `/v1/blobs/:versionHash` */
  readonly path: string;
  readonly verb: RouteVerb;
  readonly access: RouteAccess;
  readonly parameters: z.ZodType;
  readonly query: z.ZodType;
  /** null: it takes no body. */
  readonly body: BodyRule | null;
  /** Reports that its answers are small and made at once: they stand outside of the memory that answers share, and of a client's limits. */
  readonly isAlwaysAnswered: boolean;
  /** The number of simple requests it is worth, when that is not always one; told before anything is decoded. */
  readonly countRequests?: RequestCount;
  answer(request: RouteRequest): Answer | Promise<Answer>;
  /** Answers a GET, when given. An answer: it cannot be listened to. */
  readonly stream?: (request: Pick<RouteRequest, 'header' | 'client' | 'query'>) => Answer | EventStream;
}

export interface BodyRule {
  readonly maxBytes: number;
  readonly schema: z.ZodType;
}

export type RequestCount = (request: Pick<RouteRequest, 'query' | 'body'>) => number;

interface RouteDefinition<Parameters, Query, Body> extends RouteDescription {
  readonly path: string;
  readonly access?: RouteAccess;
  readonly parameters: z.ZodType<Parameters>;
  readonly query: z.ZodType<Query>;
  readonly isAlwaysAnswered?: boolean;
  readonly countRequests?: RequestCount;
  answer(request: DecodedRequest<Parameters, Query, Body>): Answer | Promise<Answer>;
}

/** Ties the schemas of a route to what its answer gets. Decoding throws, and what it throws becomes a 400. */
export function defineRoute<Parameters, Query>(definition: RouteDefinition<Parameters, Query, null>): Route {
  return { ...routeOf(definition, () => null), verb: 'GET', body: null };
}

/** Takes something back; no body says what, the path does. */
export function defineDeleteRoute<Parameters, Query>(definition: RouteDefinition<Parameters, Query, null>): Route {
  return { ...routeOf(definition, () => null), verb: 'DELETE', body: null };
}

interface PostDefinition<Parameters, Query, Body> extends RouteDefinition<Parameters, Query, Body> {
  readonly body: z.ZodType<Body>;
  readonly maxBytes: number;
}

/** A route asked by POST with JSON, whatever Content-Type says: the clients that exist do not agree on one. */
export function definePostRoute<Parameters, Query, Body>(definition: PostDefinition<Parameters, Query, Body>): Route {
  const { body: schema, maxBytes } = definition;
  return {
    ...routeOf(definition, (bytes) => fitting(schema, jsonOf(bytes))),
    verb: 'POST',
    body: { maxBytes, schema },
  };
}

/** The same by PUT: it sets what it names, and twice is as once. */
export function definePutRoute<Parameters, Query, Body>(definition: PostDefinition<Parameters, Query, Body>): Route {
  return { ...definePostRoute(definition), verb: 'PUT' };
}

interface RawPostDefinition<Parameters, Query> extends RouteDefinition<Parameters, Query, Uint8Array> {
  readonly maxBytes: number;
  /** For the description alone: the route reads the bytes by itself. */
  readonly describedBody: z.ZodType;
}

/** A route asked by POST with a body that has errors of its own kind. */
export function defineRawPostRoute<Parameters, Query>(definition: RawPostDefinition<Parameters, Query>): Route {
  const { describedBody: schema, maxBytes } = definition;
  return { ...routeOf(definition, (bytes) => bytes), verb: 'POST', body: { maxBytes, schema } };
}

function routeOf<Parameters, Query, Body>(
  definition: RouteDefinition<Parameters, Query, Body>,
  decodeBody: (bytes: Uint8Array) => Body,
): Omit<Route, 'verb' | 'body'> {
  const { path, access, parameters, query, says, answers, problems, isAlwaysAnswered, countRequests } = definition;
  return {
    path,
    access: access ?? 'read',
    parameters,
    query,
    says,
    answers,
    problems,
    isAlwaysAnswered: isAlwaysAnswered ?? false,
    ...(countRequests === undefined ? {} : { countRequests }),
    answer: (request) =>
      definition.answer({
        parameters: parameters.parse(request.parameters),
        query: query.parse(request.query),
        body: decodeBody(request.body),
        method: request.method,
        header: request.header,
        signal: request.signal,
        report: request.report,
        client: request.client,
        isLocal: request.isLocal,
        hold: request.hold,
        isTight: request.isTight,
        sending: request.sending,
        releaseMemory: request.releaseMemory,
      }),
  };
}

/** @throws HttpError `http/bad-body` */
function fitting<Body>(schema: z.ZodType<Body>, value: unknown): Body {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const issue = read.error.issues[0];
  const where =
    issue === undefined || issue.path.length === 0 ? 'The body' : `Entry ${issue.path.join('.')} of the body`;
  throw new HttpError('http/bad-body', `${where} ${issue?.message ?? 'has a wrong value'}.`, {
    retryable: false,
    hint: 'Correct it.',
  });
}

/** @throws HttpError `http/bad-json` */
export function jsonOf(bytes: Uint8Array): unknown {
  try {
    return parseBoundedJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    const message = cause instanceof RangeError ? 'The body nests too deeply.' : 'The body is not JSON in UTF-8.';
    throw new HttpError('http/bad-json', message, {
      retryable: false,
      hint: 'Send JSON.',
      cause,
    });
  }
}
