import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Answer } from './answer.ts';
import type { AnswerBudget, BudgetShare } from './answer-budget.ts';
import { clientGoneSignal } from './client-gone.ts';
import { problemAnswer } from './problem.ts';
import type { Route } from './route.ts';
import { sendAnswer } from './send-answer.ts';
import { meaningOfThrown } from './thrown.ts';

export type Report = (error: unknown, requestId: string) => void;

const NO_BODY = new Uint8Array();

/** From a request to its answer, within the memory that answers may hold. */
export function handlerOf(route: Route, budget: AnswerBudget, report: Report) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const signal = clientGoneSignal(request.raw, reply.raw);
    const body = bodyOf(request);
    // For HEAD as well: what is told of bytes is told of bytes that were read and hashed.
    const share = await budget.take(route.weighBytes({ body }), signal);
    if (share === null) {
      return sendAnswer(reply, problemAnswer('http/too-busy', 'Other answers are still under way to their readers.'));
    }
    holdUntilSent(reply, share);
    const tell = (error: unknown) => {
      // A step that breaks off because its client went away is no fault, and nobody reads the answer.
      if (!signal.aborted) report(error, request.id);
    };
    const answer = await answerOf(route, request, body, signal, tell);
    share.shrinkTo(request.method === 'HEAD' ? 0 : heldBy(answer));
    // Cut, its reader has less than was announced, and knows it.
    share.sending(() => reply.raw.destroy());
    return sendAnswer(reply, answer, tell);
  };
}

/** As the parser of bodies leaves it. */
export function bodyOf({ body }: FastifyRequest): Uint8Array {
  return body instanceof Uint8Array ? body : NO_BODY;
}

function heldBy({ body }: Answer): number {
  return body !== null && 'heldBytes' in body ? body.heldBytes : (body?.lengthBytes ?? 0);
}

/** Whoever reads slowly, or goes away: it is given back when Node has handed the last byte over, or the connection ends. */
function holdUntilSent(reply: FastifyReply, share: BudgetShare): void {
  if (reply.raw.destroyed) share.giveBack();
  else reply.raw.once('close', share.giveBack);
}

async function answerOf(
  route: Route,
  request: FastifyRequest,
  body: Uint8Array,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<Answer> {
  const { params, query, method, headers } = request;
  const header = (name: string) => single(headers[name]);
  try {
    const answer = await route.answer({ parameters: params, query, method, body, header, signal, report });
    if (answer.body !== null && 'begin' in answer.body) await answer.body.begin();
    return answer;
  } catch (error) {
    const meaning = meaningOfThrown(error);
    if (meaning.isServerError) report(error);
    return meaning.answer;
  }
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
