import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { z } from 'zod';
import { addressWithoutCredentials } from '../config/index.ts';
import { parseBoundedJson } from '../core/blob/bounded-json.ts';
import { clauseOf, HoldfastError } from '../core/blob/errors.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { request as httpRequest } from '../core/node-http.ts';
import type { DaemonTarget } from './daemon-address.ts';
import { CliError } from './errors.ts';

export interface DaemonAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

const TIMEOUT_MS = 30_000;
/** A listing or a status is smaller than this; a blob too. */
const MAX_BYTES = 4 * MAX_BLOB_BYTES;

const problem = z.object({ code: z.string(), detail: z.string(), hint: z.string().optional() });

export interface DaemonQuestion {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** JSON of it is sent. */
  readonly body?: unknown;
}

export interface DaemonReply {
  readonly status: number;
  readonly body: AsyncIterable<unknown>;
}

/**
 * Sends one request to the daemon and reads its whole answer.
 * @throws CliError `cli/no-daemon` when no daemon answers
 */
export async function askDaemon(
  target: DaemonTarget,
  question: DaemonQuestion,
  signal: AbortSignal,
): Promise<DaemonAnswer> {
  return await withDaemon(target, question, signal, async ({ status, body }) => ({
    status,
    body: await wholeBody(body),
  }));
}

/** The same, with the answer in the hands of the caller while it comes. */
export async function withDaemon<T>(
  target: DaemonTarget,
  { method = 'GET', path, body }: DaemonQuestion,
  signal: AbortSignal,
  read: (reply: DaemonReply) => Promise<T>,
): Promise<T> {
  const { url, socket, token } = target;
  const asked = begin(new URL(`${socket === null ? url : 'http://localhost'}${path}`), {
    method,
    signal,
    agent: false,
    timeout: TIMEOUT_MS,
    ...(socket === null ? {} : { socketPath: socket }),
    headers: socket !== null || token === null ? {} : { authorization: `Bearer ${token}` },
  });
  // The time passes without a byte, before the answer and in the midst of it.
  asked.on('timeout', () => asked.destroy(new Error(`it was silent for ${TIMEOUT_MS / 1_000} s`)));
  try {
    const answered = answerTo(asked);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    const answer = await answered;
    const status = answer.statusCode ?? 0;
    if (status === 401 && target.keepsToken) throw tokenKept(url);
    return await read({ status, body: answer });
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof HoldfastError) throw cause;
    const shown = addressWithoutCredentials(url);
    throw new CliError('cli/no-daemon', `No holdfast daemon answers at ${shown}: ${clauseOf(cause)}.`, {
      details: { base: shown },
      retryable: true,
      hint: 'Start one with `holdfast run`, or name its address with --url.',
      cause,
    });
  } finally {
    asked.destroy();
  }
}

/** The token is in the environment of every command, and any listener at the address would get it. */
function tokenKept(url: string): CliError {
  const shown = addressWithoutCredentials(url);
  return new CliError(
    'cli/unproven-address',
    `${shown} asks for a token, and nothing proves that a holdfast daemon listens there: HOLDFAST_TOKEN would be sent to it. It was not sent.`,
    {
      details: { base: shown },
      retryable: false,
      hint: 'Type --token-file <file> beside --url if what listens there may have the token. A certificate proves an https:// address.',
    },
  );
}

/** Node's own client: a command that asks one question starts in a fraction of the time that loading another takes. */
function begin(url: URL, options: RequestOptions): ClientRequest {
  return url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options);
}

function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    // The listener stays: a failure while the answer is read also reaches the body, and must not crash.
    request.on('error', reject);
  });
}

/** @throws Error when it is larger than any answer is. */
export async function wholeBody(body: AsyncIterable<unknown>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const part = z.instanceof(Uint8Array).parse(chunk);
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The body as JSON, decoded by the schema; the daemon's own words when it answered with a problem. */
export function readAnswer<T>(answer: DaemonAnswer, schema: z.ZodType<T>): T {
  const value: unknown = parseJson(answer.body);
  if (answer.status === 200) {
    const decoded = schema.safeParse(value);
    if (decoded.success) return decoded.data;
  }
  throw refusal(answer);
}

/** The daemon's error in place of the expected answer. */
export function refusal(answer: DaemonAnswer): CliError {
  const said = problem.safeParse(parseJson(answer.body));
  const details = { status: answer.status, code: said.success ? said.data.code : null };
  if (!said.success) {
    return new CliError('cli/daemon-answer', `What answers there is not a holdfast daemon (HTTP ${answer.status}).`, {
      details,
      retryable: false,
      hint: 'Name the address of a holdfast daemon with --url.',
    });
  }
  return new CliError(answer.status === 503 ? 'cli/cannot-tell' : 'cli/daemon-answer', said.data.detail, {
    details,
    retryable: answer.status === 503,
    hint: said.data.hint ?? 'Ask again in a few seconds.',
  });
}

function parseJson(body: Uint8Array): unknown {
  try {
    return parseBoundedJson(Buffer.from(body).toString('utf8'));
  } catch {
    // An answer that is not JSON counts too: the caller says that no Holdfast answers here.
    return null;
  }
}
