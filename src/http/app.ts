import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { codeOf } from '../core/blob/errors.ts';
import { withinMemory } from '../core/memory-share.ts';
import type { Answer } from './answer.ts';
import { AnswerBudget, type BudgetShare } from './answer-budget.ts';
import { PROOF_PATH } from './chain.ts';
import { ClientLimits, clientOf } from './client-limits.ts';
import { DEFAULT_HTTP_LIMITS, type HttpOptions } from './config.ts';
import { FairTurns } from './fair-turns.ts';
import { closeBehindBody, createFramework } from './framework.ts';
import { bodyBytesOf, gateAnswer, isWaitingForLeave, patternOf } from './gate.ts';
import { bodyOf, handlerOf, type PaceOf, type ShareOf } from './handle-request.ts';
import { OpenConnections } from './open-connections.ts';
import { connectionsWithin } from './open-files.ts';
import { OpenStreams } from './open-streams.ts';
import { DESCRIPTION_PATH, withDescription } from './openapi.ts';
import { Pace, SMALL_PART_BYTES } from './pace.ts';
import { PartMemory } from './part-memory.ts';
import { problemAnswer } from './problem.ts';
import { ALL_WORDS } from './public-words.ts';
import { isTooLate, refuseConnection, refuseTunnel } from './refused-connection.ts';
import { guarded } from './report.ts';
import { FACADE_PATH, type RequestCount, type Route, type RouteAccess } from './route.ts';
import { sendAnswer } from './send-answer.ts';
import { streamHandlerOf } from './stream-request.ts';
import { internalError } from './thrown.ts';
import type { TokenList } from './token-list.ts';

export interface HttpApp {
  readonly fastify: FastifyInstance;
  readonly connections: OpenConnections;
  readonly budget: AnswerBudget;
}

/**
 * Everything but the listening: tests put requests into it without a socket. The routes are described in their order, by a
 * route of its own.
 */
export function createHttpApp(given: readonly Route[], options: HttpOptions): HttpApp {
  const routes = withDescription(given);
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const { clock } = options;
  const budget = new AnswerBudget(withinMemory(limits.answerBytes), limits.answerWaitMs, clock);
  options.metrics?.watch(options.isLocal === true ? 'socket' : 'port', budget);
  const report = guarded(options.onServerError);
  const app = createFramework(limits, options, (error, socket) => {
    const isTaken = isTooLate(error) ? connections.hasBegun(socket) : connections.isAnswering(socket);
    refuseConnection(error, socket, isTaken);
  });
  const { ratePerSecond, concurrentPerClient: concurrent } = limits;
  const clients = new ClientLimits({ ratePerSecond, concurrent, clock });
  const connections = new OpenConnections(app.server, connectionsWithin(limits.maxConnections));
  // Node would only hang up.
  app.server.on('connect', (_request, socket) => connections.whenIdle(socket, () => refuseTunnel(socket)));

  const parts = new FairTurns(BYTES_A_TURN, SMALL_PART_BYTES);
  const shares = new WeakMap<FastifyRequest, BudgetShare>();
  const shareOf: ShareOf = (request) => shares.get(request) ?? null;
  const memory = new PartMemory();
  const paceOf: PaceOf = (request) => {
    const asker = { client: clientOf(request), connection: request.socket };
    return new Pace(shareOf(request), (bytes, begin) => parts.take(asker, bytes, begin), clock, memory);
  };
  registerAccessHooks(app, routes, {
    clients,
    turns: new FairTurns(REQUESTS_A_TURN, 1),
    openShare(request, reply) {
      const share = budget.open(clientOf(request));
      shares.set(request, share);
      // A reader that is slow, or goes away: Node has handed the last byte over, or the connection ends.
      if (reply.raw.destroyed) share.giveBack();
      else reply.raw.once('close', share.giveBack);
      return share;
    },
    readTokens: options.readTokens ?? null,
    adminTokens: options.adminTokens ?? null,
    isLocal: options.isLocal ?? false,
  });
  if (options.isLocal !== true) sayPublicly(app, options);
  countAnswers(app, routes, options);
  app.setErrorHandler((error, request, reply) => {
    const refused = refusedBody(error);
    if (refused === null) report(error, request.id);
    // The rest of a body that is not read would be taken for the next request.
    else reply.header('connection', 'close');
    return sendAnswer(reply, refused ?? internalError());
  });
  const streams = new OpenStreams();
  for (const route of routes) {
    const { stream, countRequests } = route;
    const answering = handlerOf(route, shareOf, paceOf, report, options.isLocal ?? false);
    const handler = stream === undefined ? answering : streamHandlerOf(stream, answering, streams, report);
    const method = route.verb === 'GET' ? ['GET', 'HEAD'] : [route.verb];
    app.route({
      method,
      url: route.path,
      handler,
      bodyLimit: route.body?.maxBytes ?? 1,
      ...(countRequests === undefined ? {} : { preHandler: charging(clients, countRequests) }),
    });
  }
  app.addHook('preClose', (done) => {
    streams.close();
    done();
  });
  return { fastify: app, connections, budget };
}

function countAnswers(app: FastifyInstance, routes: readonly Route[], { metrics }: HttpOptions): void {
  if (metrics === undefined) return;
  const streams = new Set(routes.filter(({ stream }) => stream !== undefined).map(({ path }) => path));
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
    // Listening for hours is no answer that took hours.
    const listened = streams.has(route) && reply.statusCode === 200;
    if (!listened) metrics.answered(route, request.method, reply.statusCode, reply.elapsedTime / 1_000);
    done();
  });
}

/** Larger answers hold blobs and listings, which name no place. */
const MAX_WORDED_BYTES = 1_048_576;
/** The façade puts its errors into words by itself, and gives a client's id back as it came; the description is ours. */
const UNCHANGED_PATHS: ReadonlySet<string | undefined> = new Set([DESCRIPTION_PATH, FACADE_PATH]);

/** Messages name nodes and backends to operators in full, and to all others by name alone. */
function sayPublicly(app: FastifyInstance, { words = ALL_WORDS, adminTokens }: HttpOptions): void {
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    const isJson = /^application\/(problem\+)?json/.test(String(reply.getHeader('content-type')));
    const isShown =
      !isJson ||
      (request.routeOptions.url === PROOF_PATH && reply.statusCode === 200) ||
      UNCHANGED_PATHS.has(request.routeOptions.url) ||
      !Buffer.isBuffer(payload) ||
      payload.length > MAX_WORDED_BYTES;
    if (isShown || adminTokens?.admits(request.headers.authorization) === true) {
      done(null, payload);
      return;
    }
    const said = Buffer.from(words(payload.toString('utf8')));
    reply.header('content-length', String(said.length));
    done(null, said);
  });
}

/** The work that begins in one turn of the event loop, all clients together: a few milliseconds each. */
const REQUESTS_A_TURN = 32;
const BYTES_A_TURN = 2_097_152;

interface Doorkeepers {
  readonly clients: ClientLimits;
  readonly turns: FairTurns;
  /** Opens the share that the request has of the memory for answers, until its answer is sent. */
  openShare(request: FastifyRequest, reply: FastifyReply): BudgetShare;
  readonly readTokens: TokenList | null;
  readonly adminTokens: TokenList | null;
  readonly isLocal: boolean;
}

/** Before any parsing of bodies, so that nothing a client sends is waited for in vain. */
function registerAccessHooks(app: FastifyInstance, routes: readonly Route[], doorkeepers: Doorkeepers): void {
  const paths = routes.map(({ path, verb }) => ({ pattern: patternOf(path), verb }));
  const routeAt = new Map(routes.map((route) => [`${route.verb} ${route.path}`, route]));
  const routeOf = ({ method, routeOptions }: FastifyRequest): Route | undefined =>
    routeAt.get(`${method === 'HEAD' ? 'GET' : method} ${routeOptions.url}`);
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (takesToken(routeOf(request)?.access ?? 'read', doorkeepers)) keepPrivate(reply);
    done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { method = '', url = '', httpVersion, headers, rawHeaders } = request.raw;
    const route = routeOf(request);
    const access = route?.access ?? 'read';
    // Prometheus is to see an attack too; a client without its token is a client like others.
    const isUnlimited = route?.isAlwaysAnswered === true && tokenAnswer(request, access, doorkeepers) === null;
    const refuse = (answer: Answer) => {
      closeBehindBody(request, reply);
      sendAnswer(reply, answer);
    };
    const pass = () => {
      const answer =
        gateAnswer({ method, url, httpVersion, headers, rawHeaders, routed: !request.is404 }, paths) ??
        tokenAnswer(request, access, doorkeepers) ??
        memoryAnswer(request, reply, route, doorkeepers);
      if (answer !== null) return refuse(answer);
      // Only now: a body that is refused need not be sent.
      if (isWaitingForLeave(headers, httpVersion)) reply.raw.writeContinue();
      done();
    };
    if (isUnlimited) return pass();
    const limited = limitAnswer(request, reply, doorkeepers.clients);
    if (limited !== null) refuse(limited);
    else doorkeepers.turns.take({ client: clientOf(request), connection: request.socket }, 1, pass);
  });
}

function takesToken(
  access: RouteAccess,
  { readTokens, isLocal }: Pick<Doorkeepers, 'readTokens' | 'isLocal'>,
): boolean {
  return !isLocal && (access === 'admin' || (access === 'read' && readTokens !== null));
}

/** A shared cache gives its entries to every client, so it must keep nothing that takes a token. */
function keepPrivate(reply: FastifyReply): void {
  const cached = String(reply.getHeader('cache-control') ?? 'no-cache');
  if (!cached.includes('no-store')) {
    reply.header('cache-control', `private, ${cached.replace('public, ', '')}`);
  }
  const varies = reply.getHeader('vary');
  reply.header('vary', varies === undefined ? 'authorization' : `${String(varies)}, authorization`);
}

/** The body is held before any of it is read. */
function memoryAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  route: Route | undefined,
  { openShare }: Doorkeepers,
): Answer | null {
  if (route === undefined || route.isAlwaysAnswered) return null;
  const share = openShare(request, reply);
  if (route.body === null || share.growNow(bodyBytesOf(request.headers, route.body.maxBytes))) return null;
  return problemAnswer('http/too-busy', 'Other requests and answers hold the memory that this one needs.');
}

function limitAnswer(request: FastifyRequest, reply: FastifyReply, clients: ClientLimits): Answer | null {
  const admission = clients.admit(clientOf(request));
  if (admission.kind === 'admitted') {
    reply.raw.once('close', admission.done);
    return null;
  }
  const detail = {
    rate: 'This client asks more often than it may.',
    concurrency: 'This client has too many requests under way.',
  }[admission.why];
  return problemAnswer('http/too-many-requests', detail, { retryAfterSeconds: admission.retryAfterSeconds });
}

/** A request that is worth many requests counts as many. */
function charging(clients: ClientLimits, count: RequestCount) {
  return (request: FastifyRequest, _reply: FastifyReply, done: () => void): void => {
    clients.charge(clientOf(request), Math.max(0, count({ query: request.query, body: bodyOf(request) }) - 1));
    done();
  };
}

function tokenAnswer(
  { headers, method }: FastifyRequest,
  access: RouteAccess,
  { readTokens, adminTokens, isLocal }: Doorkeepers,
): Answer | null {
  if (method === 'OPTIONS' || !takesToken(access, { readTokens, isLocal })) return null;
  if (access === 'admin' && adminTokens === null) {
    return problemAnswer(
      'http/admin-closed',
      'No tokens of operators are configured, so no client may do this over a port.',
    );
  }
  const lists = access === 'admin' ? [adminTokens] : [readTokens, adminTokens];
  if (lists.some((tokens) => tokens?.admits(headers.authorization) === true)) return null;
  return problemAnswer('http/unauthorized', 'This takes a token.', { headers: { 'www-authenticate': 'Bearer' } });
}

/** null: the error has nothing to do with the body. */
function refusedBody(error: unknown): Answer | null {
  switch (codeOf(error)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return problemAnswer('http/body-too-large', 'It has more bytes than this route takes.');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'ECONNRESET':
    case 'ECONNABORTED':
      return problemAnswer('http/malformed-request', 'The body could not be read.');
    default:
      return null;
  }
}
