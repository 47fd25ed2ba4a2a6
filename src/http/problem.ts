import { type Answer, type AnswerBody, bodyOf } from './answer.ts';
import { PROBLEMS, type ProblemCode } from './problem-table.ts';
import { RPC_CODES } from './rpc/rpc-error.ts';

const DEFAULT_RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 3_600;

export interface ProblemFacts {
  /** Instead of the hint of the table. */
  readonly hint?: string;
  /** For 503 and 429, which always say when to come back. */
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Members besides those of every problem. */
  readonly members?: Readonly<Record<string, unknown>>;
}

export interface ProblemAnswer extends Answer {
  readonly body: AnswerBody;
  /** The problem that the body says. */
  readonly problem: Readonly<Record<string, unknown>> & { readonly title: string; readonly detail: string };
}

/**
 * An error as RFC 9457 has it. The body is never empty and begins with `{`: a client that ignores the status and takes
 * the body for hex fails, and does not take it for a blob.
 */
export function problemAnswer(code: ProblemCode, detail: string, facts: ProblemFacts = {}): ProblemAnswer {
  const { status, title, hint } = PROBLEMS[code];
  const problem = {
    type: `urn:holdfast:problem:${code}`,
    title,
    status,
    code,
    detail,
    hint: facts.hint ?? hint,
    ...facts.members,
  };
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(status === 503 || status === 429 ? { 'retry-after': retryAfter(facts.retryAfterSeconds) } : {}),
      ...facts.headers,
    },
    body: bodyOf(Buffer.from(JSON.stringify(problem))),
    problem,
  };
}

/**
 * The same refusal for a client that may speak JSON-RPC. Rollux's client ignores the status: without an `error` member it
 * takes the refusal for an empty result. The code is never -32602, which means a proved absence. The body is a problem
 * document all the same: RFC 9457 allows further members.
 */
export function rpcRefusal({ problem, ...refused }: ProblemAnswer): ProblemAnswer {
  const error = { code: RPC_CODES.internal, message: `${problem.title}: ${problem.detail}` };
  const both = { result: null, error, id: null, ...problem };
  return {
    ...refused,
    body: bodyOf(Buffer.from(JSON.stringify(both))),
    problem: both,
  };
}

export function isProblem(answer: Answer): answer is ProblemAnswer {
  return 'problem' in answer;
}

/** Whole seconds, as the header wants them; never 0, which would invite a client to spin. */
function retryAfter(seconds = DEFAULT_RETRY_SECONDS): string {
  const whole = Number.isFinite(seconds) ? Math.ceil(seconds) : DEFAULT_RETRY_SECONDS;
  return String(Math.min(Math.max(whole, 1), MAX_RETRY_SECONDS));
}
