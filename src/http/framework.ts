import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { METHODS } from '../core/node-http.ts';
import { type HttpLimits, type HttpOptions, MAX_HEADER_BYTES, MAX_URL_CHARS, TIMEOUT_CHECK_MS } from './config.ts';
import { hasBody } from './gate.ts';
import { problemAnswer } from './problem.ts';
import { requestIdFrom } from './request-id.ts';
import { sendAnswer } from './send-answer.ts';

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
/** Every path refuses it. */
const METHOD_WITHOUT_ROUTE = 'TRACE';

/** Routes check with zod. Without these, Fastify loads its own two compilers: a hundred modules and 3 MiB that nothing uses. */
const NO_COMPILERS = { buildValidator: noCompiler, buildSerializer: noCompiler };

function noCompiler(): never {
  throw new TypeError('a route was given a schema of Fastify');
}

type ClientErrorHandler = (error: unknown, socket: FastifyRequest['socket']) => void;

/** Makes Fastify without any route, with the limits of connections and heads. */
export function createFramework(
  limits: HttpLimits,
  { trustProxy }: HttpOptions,
  onClientError: ClientErrorHandler,
): FastifyInstance {
  const app = fastify({
    exposeHeadRoutes: false,
    // A request that comes while the server drains is served, on a connection that then closes.
    return503OnClosing: false,
    requestIdHeader: false,
    trustProxy: typeof trustProxy === 'number' ? (_address, hop) => hop < trustProxy : [...(trustProxy ?? [])],
    genReqId: (request) => requestIdFrom(request.headers['x-request-id']),
    connectionTimeout: limits.stalledTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    http: {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node would refuse with an empty body; the gate does it with a problem.
      requireHostHeader: false,
    },
    // A long name is a malformed hash, and the route says so; longer URLs never get there.
    routerOptions: { maxParamLength: MAX_URL_CHARS },
    schemaController: { compilersFactory: NO_COMPILERS },
    clientErrorHandler: onClientError,
    frameworkErrors: (_error, request, reply) => {
      closeBehindBody(request, reply);
      sendAnswer(reply, problemAnswer('http/bad-url', 'The path has a % that begins no UTF-8 character.'));
    },
  });
  // The route says what a body is; Content-Type decides nothing.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  // Node would give leave, or refuse, by itself and without a body. The gate has a say first.
  for (const event of ['checkContinue', 'checkExpectation'] as const) {
    app.server.on(event, (request, response) => app.server.emit('request', request, response));
  }
  // Node's parser reads methods of other protocols (RTSP) as well, and the framework answers those without any of its hooks.
  app.server.prependListener('request', (request) => {
    if (!KNOWN_METHODS.has(request.method ?? '')) request.method = METHOD_WITHOUT_ROUTE;
  });
  return app;
}

/** A body that is not read: nothing that follows it on its connection can be read either. */
export function closeBehindBody(request: FastifyRequest, reply: FastifyReply): void {
  if (hasBody(request.headers)) reply.header('connection', 'close');
}
