import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { ArchiveView } from '../archive/archive-view.ts';
import type { Answer } from './answer.ts';
import { blobRoutes } from './blobs.ts';
import { clientGoneSignal } from './client-gone.ts';
import { compatibilityRoutes } from './compatibility.ts';
import { DEFAULT_HTTP_LIMITS, type HttpOptions, MAX_HEADER_BYTES, MAX_URL_CHARS, TIMEOUT_CHECK_MS } from './config.ts';
import { gateAnswer, hasBody, patternOf } from './gate.ts';
import { OpenConnections } from './open-connections.ts';
import { problemAnswer } from './problem.ts';
import { refuseConnection } from './refused-connection.ts';
import { requestIdFrom } from './request-id.ts';
import type { Route } from './route.ts';
import { sendAnswer } from './send-answer.ts';
import { statusRoutes } from './status.ts';
import { internalError, meaningOfThrown } from './thrown.ts';

export interface HttpApp {
  readonly fastify: FastifyInstance;
  readonly connections: OpenConnections;
}

/** Everything but the listening: tests put requests into it without a socket. */
export function createHttpApp(view: ArchiveView, options: HttpOptions): HttpApp {
  const routes = [...blobRoutes(view), ...statusRoutes(view, options.nowMs), ...compatibilityRoutes(view)];
  const report = reporter(options);
  const app = bareFastify(options, (error, socket) => refuseConnection(error, socket, connections.isAnswering(socket)));
  const connections = new OpenConnections(app.server);

  standAtTheGate(app, routes);
  app.setErrorHandler((error, request, reply) => {
    report(error, request.id);
    return sendAnswer(reply, internalError());
  });
  for (const route of routes) {
    app.route({ method: ['GET', 'HEAD'], url: route.path, handler: handlerOf(route, report) });
  }
  return { fastify: app, connections };
}

type Report = (error: unknown, requestId: string) => void;

function bareFastify(options: HttpOptions, onClientError: ClientErrorHandler): FastifyInstance {
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const app = fastify({
    exposeHeadRoutes: false,
    // A request that comes while the server drains is served, on a connection that then closes.
    return503OnClosing: false,
    requestIdHeader: false,
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
    clientErrorHandler: onClientError,
    frameworkErrors: (_error, request, reply) => {
      closeBehindBody(request, reply);
      sendAnswer(reply, problemAnswer('http/bad-url', 'The path has a % that begins no UTF-8 character.'));
    },
  });
  app.server.maxConnections = limits.maxConnections;
  // Node answers these two by itself, without a body. A client that waits for leave to send one gets its answer instead.
  for (const event of ['checkContinue', 'checkExpectation'] as const) {
    app.server.on(event, (request, response) => app.server.emit('request', request, response));
  }
  return app;
}

type ClientErrorHandler = (error: unknown, socket: FastifyRequest['socket']) => void;

/** Before any parsing of bodies, so that nothing a client sends is waited for in vain. */
function standAtTheGate(app: FastifyInstance, routes: readonly Route[]): void {
  const paths = routes.map((route) => patternOf(route.path));
  app.addHook('onRequest', (request, reply, done) => {
    const { method = '', url = '', httpVersion, headers } = request.raw;
    closeBehindBody(request, reply);
    const answer = gateAnswer({ method, url, httpVersion, headers, routed: !request.is404 }, paths);
    if (answer === null) done();
    else sendAnswer(reply, answer);
  });
}

/** Nothing here reads a body, so nothing that follows it on its connection can be read either. */
function closeBehindBody(request: FastifyRequest, reply: FastifyReply): void {
  if (hasBody(request.headers)) reply.header('connection', 'close');
}

function handlerOf(route: Route, report: Report) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { params, query, method, headers } = request;
    const signal = clientGoneSignal(request.raw, reply.raw);
    const header = (name: string) => single(headers[name]);
    let answer: Answer;
    try {
      answer = await route.answer({ parameters: params, query, method, header, signal });
    } catch (error) {
      const meaning = meaningOfThrown(error);
      // Whatever breaks off because its client went away is no fault, and nobody reads the answer.
      if (meaning.isServerError && !signal.aborted) report(error, request.id);
      answer = meaning.answer;
    }
    return sendAnswer(reply, answer);
  };
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

/** A callback that throws must not cost the client its answer; it has nobody else to tell. */
function reporter({ onServerError }: HttpOptions): Report {
  return (error, requestId) => {
    try {
      onServerError(error, requestId);
    } catch {
      // Nothing is left to report to.
    }
  };
}
