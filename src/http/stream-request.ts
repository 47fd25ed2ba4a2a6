import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientOf } from './client-limits.ts';
import type { OpenStreams } from './open-streams.ts';
import { problemAnswer } from './problem.ts';
import type { Report } from './report.ts';
import type { Route } from './route.ts';
import { sendAnswer } from './send-answer.ts';
import { STANDING_HEADERS } from './standing-headers.ts';
import { meaningOfThrown } from './thrown.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Does as `handlerOf` does, for a route that goes on answering. HEAD and refusals are answers like any other. */
export function streamHandlerOf(
  open: NonNullable<Route['stream']>,
  answering: Handler,
  streams: OpenStreams,
  report: Report,
): Handler {
  return async (request, reply) => {
    if (request.method === 'HEAD') return answering(request, reply);
    if (streams.isClosed) return sendAnswer(reply, problemAnswer('http/too-busy', 'The server stops.'));
    const { headers } = request;
    try {
      const opened = open({
        header: (name) => headers[name]?.toString(),
        client: clientOf(request),
        query: request.query,
      });
      if (!('listen' in opened)) return sendAnswer(reply, opened);
      reply.hijack();
      reply.raw.writeHead(200, { ...STANDING_HEADERS, ...opened.headers, 'x-request-id': request.id });
      streams.add(reply.raw);
      opened.listen(reply.raw);
      return reply;
    } catch (error) {
      const { answer, isServerError } = meaningOfThrown(error);
      if (isServerError) report(error, request.id);
      return sendAnswer(reply, answer);
    }
  };
}
