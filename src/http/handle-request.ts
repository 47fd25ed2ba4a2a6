import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Sending } from '../view/archive-view.ts';
import type { Answer } from './answer.ts';
import { type BudgetShare, SMALL_BYTES } from './answer-budget.ts';
import { AnswerUnderWay } from './answer-under-way.ts';
import { clientGoneSignal } from './client-gone.ts';
import { clientOf } from './client-limits.ts';
import { HttpError } from './errors.ts';
import type { Pace } from './pace.ts';
import { problemAnswer } from './problem.ts';
import type { Report } from './report.ts';
import type { Route, RouteRequest } from './route.ts';
import { sendAnswer } from './send-answer.ts';
import { meaningOfThrown } from './thrown.ts';

const NO_BODY = new Uint8Array();

/** The share of the memory for answers that a request holds; null: its route stands outside of it. */
export type ShareOf = (request: FastifyRequest) => BudgetShare | null;

/** The turns of the parts of its answer, and their memory. */
export type PaceOf = (request: FastifyRequest) => Pace;

/** From a request to its answer, within the memory that answers may hold. */
export function handlerOf(route: Route, shareOf: ShareOf, paceOf: PaceOf, report: Report, isLocal: boolean) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const signal = clientGoneSignal(request.raw, reply.raw);
    const share = shareOf(request);
    const pace = paceOf(request);
    const sending = new AnswerUnderWay(reply.raw, share);
    const tell = (error: unknown) => {
      // A step that breaks off because its client went away is no fault, and the answer is not read.
      if (!signal.aborted) report(error, request.id);
    };
    try {
      const answer = await heldAnswer(route, request, { share, pace, sending, signal, report: tell, isLocal });
      const bytes = request.method === 'HEAD' ? 0 : bytesAtOnce(answer);
      if (bytes > SMALL_BYTES) await pace.turn(bytes);
      return sendAnswer(reply, answer, tell, pace);
    } finally {
      sending.begin();
    }
  };
}

interface Circumstances {
  readonly share: BudgetShare | null;
  readonly pace: Pace;
  readonly sending: Sending;
  readonly signal: AbortSignal;
  readonly report: (error: unknown) => void;
  readonly isLocal: boolean;
}

/** For HEAD as well: what is told of bytes is told of bytes that were read and hashed. */
async function heldAnswer(route: Route, request: FastifyRequest, circumstances: Circumstances): Promise<Answer> {
  const { share, pace, signal } = circumstances;
  if (share === null) return await answerOf(route, request, circumstances);
  if (!(await share.grow(SMALL_BYTES - share.heldBytes, signal))) return tooBusy();
  const answer = await answerOf(route, request, circumstances);
  const bytes = request.method === 'HEAD' ? 0 : heldBy(answer, pace);
  share.shrinkTo(bytes);
  if (await share.grow(bytes - share.heldBytes, signal)) return answer;
  if (answer.body !== null && 'drop' in answer.body) answer.body.drop();
  return tooBusy();
}

function tooBusy(): Answer {
  return problemAnswer('http/too-busy', TOO_BUSY);
}

const TOO_BUSY = 'Other answers are still under way to their readers.';

/** The body as the parser leaves it. */
export function bodyOf({ body }: FastifyRequest): Uint8Array {
  return body instanceof Uint8Array ? body : NO_BODY;
}

function heldBy({ body }: Answer, { moreBytes }: Pace): number {
  return body !== null && 'heldBytes' in body ? body.heldBytes + moreBytes : 0;
}

/** The memory of an answer that is not in parts. */
function bytesAtOnce({ body }: Answer): number {
  return body !== null && 'make' in body ? body.lengthBytes : 0;
}

async function answerOf(
  route: Route,
  request: FastifyRequest,
  { share, pace, sending, signal, report, isLocal }: Circumstances,
): Promise<Answer> {
  const { params, query, method, headers } = request;
  const body = bodyOf(request);
  const memory: Pick<RouteRequest, 'hold' | 'isTight' | 'sending' | 'releaseMemory'> = {
    async hold(bytes) {
      if (share === null || (await share.grow(bytes, signal))) return;
      throw new HttpError('http/too-busy', TOO_BUSY, { retryable: true, hint: 'Nothing has to be done.' });
    },
    isTight: () => share?.isTight ?? false,
    sending,
    releaseMemory: () => share?.shrinkTo(body.length),
  };
  const header = (name: string) => single(headers[name]);
  const client = clientOf(request);
  try {
    const asked = { parameters: params, query, method, body, header, signal, report, client, isLocal, ...memory };
    const answer = await route.answer(asked);
    if (answer.body !== null && 'begin' in answer.body) await answer.body.begin(pace);
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
