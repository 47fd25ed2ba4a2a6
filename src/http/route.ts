import type { z } from 'zod';
import type { Answer } from './answer.ts';

/** What routes see of a request, whatever carries it. */
export interface RouteRequest {
  readonly parameters: unknown;
  readonly query: unknown;
  readonly method: string;
  /** By lower-case name; undefined when it was not sent. */
  header(name: string): string | undefined;
  /** Fires when the client goes away before it has its answer. */
  readonly signal: AbortSignal;
}

export interface DecodedRequest<Parameters, Query> extends RouteRequest {
  readonly parameters: Parameters;
  readonly query: Query;
}

/** Read by GET and HEAD. The schemas decode what arrives; a description of the API is to be made from the same. */
export interface Route {
  /** `/v1/blobs/:versionHash` */
  readonly path: string;
  readonly parameters: z.ZodType;
  readonly query: z.ZodType;
  answer(request: RouteRequest): Answer | Promise<Answer>;
}

interface RouteDefinition<Parameters, Query> {
  readonly path: string;
  readonly parameters: z.ZodType<Parameters>;
  readonly query: z.ZodType<Query>;
  answer(request: DecodedRequest<Parameters, Query>): Answer | Promise<Answer>;
}

/** Ties the schemas of a route to what its answer gets. Decoding throws, and what it throws becomes a 400. */
export function defineRoute<Parameters, Query>(definition: RouteDefinition<Parameters, Query>): Route {
  const { path, parameters, query } = definition;
  return {
    path,
    parameters,
    query,
    answer: (request) =>
      definition.answer({
        parameters: parameters.parse(request.parameters),
        query: query.parse(request.query),
        method: request.method,
        header: request.header,
        signal: request.signal,
      }),
  };
}
