import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SYSTEM_CLOCK } from '../core/time/clock.ts';
import type { Answer, AnswerLines, AnswerParts } from './answer.ts';
import { Pace } from './pace.ts';
import { PartMemory } from './part-memory.ts';
import { isProblem, rpcRefusal } from './problem.ts';
import { FACADE_PATH } from './route.ts';
import { STANDING_HEADERS } from './standing-headers.ts';

/**
 * Writes an answer; nothing else does. HEAD gets every header of GET, and its body is never made. `report` is told what
 * ends a body short, and `pace` how large its parts are and when they go.
 */
export function sendAnswer(
  reply: FastifyReply,
  given: Answer,
  report: (error: unknown) => void = () => undefined,
  pace = new Pace(null, (_, begin) => begin(), SYSTEM_CLOCK, new PartMemory()),
): FastifyReply {
  const isRefusedCall = isProblem(given) && isRpcCall(reply.request);
  const answer = isRefusedCall ? rpcRefusal(given) : given;
  reply.code(answer.status).headers(STANDING_HEADERS).headers(answer.headers);
  // A node answers every call with this type.
  if (isRefusedCall && reply.request.routeOptions.url === FACADE_PATH) reply.header('content-type', 'application/json');
  reply.header('x-request-id', reply.request.id);
  if (answer.body === null) return reply.send();
  if (answer.body.lengthBytes === null) {
    return reply.request.method === 'HEAD' ? reply.send() : reply.send(Readable.from(linesOf(answer.body)));
  }
  reply.header('content-length', String(answer.body.lengthBytes));
  if ('stream' in answer.body) return sendParts(reply, answer.body, report, pace);
  return reply.request.method === 'HEAD' ? reply.send() : reply.send(asBuffer(answer.body.make()));
}

/**
 * Every POST that no other route takes counts as a call of the façade: Rollux's client appends `/wallet/<name>` to the
 * URL that it was given, and a wrong path must not look like an empty result either.
 */
function isRpcCall({ method, routeOptions: { url } }: FastifyRequest): boolean {
  return method === 'POST' && (url === undefined || url === FACADE_PATH);
}

/** A reader that is gone already takes nothing. */
function sendParts(reply: FastifyReply, body: AnswerParts, report: (error: unknown) => void, pace: Pace): FastifyReply {
  if (reply.request.method !== 'HEAD' && !reply.raw.destroyed) {
    return reply.send(body.stream(pace).once('error', report));
  }
  body.drop();
  return reply.send();
}

async function* linesOf(body: AnswerLines): AsyncGenerator<string> {
  for await (const line of body.open()) yield `${line}\n`;
}

/** The same memory, in the class that Node's streams take without a copy. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
