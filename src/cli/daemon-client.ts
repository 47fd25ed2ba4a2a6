import { request } from 'undici';
import { z } from 'zod';
import { messageOf } from '../blob/errors.ts';
import { MAX_BLOB_BYTES } from '../blob/limits.ts';
import { addressWithoutCredentials } from '../config/index.ts';
import { CliError } from './errors.ts';

export interface DaemonAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

const TIMEOUT_MS = 30_000;
/** A listing or a status is smaller than this; a blob too. */
const MOST_BYTES = 4 * MAX_BLOB_BYTES;

const problem = z.object({ code: z.string(), detail: z.string(), hint: z.string().optional() });

/** One GET to the daemon. Throws `CliError` `cli/no-daemon` when nobody answers there. */
export async function askDaemon(base: string, path: string, signal: AbortSignal): Promise<DaemonAnswer> {
  try {
    const answer = await request(`${base}${path}`, { signal, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of answer.body) {
      const part = z.instanceof(Uint8Array).parse(chunk);
      bytes += part.length;
      if (bytes > MOST_BYTES) throw new Error(`the answer is larger than ${MOST_BYTES} bytes`);
      parts.push(part);
    }
    return { status: answer.statusCode, body: Buffer.concat(parts) };
  } catch (cause) {
    signal.throwIfAborted();
    const shown = addressWithoutCredentials(base);
    throw new CliError('cli/no-daemon', `No holdfast daemon answers at ${shown}: ${messageOf(cause)}.`, {
      details: { base: shown },
      retryable: true,
      hint: 'Start one with `holdfast run`, or name its address with --url.',
      cause,
    });
  }
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

/** What the daemon said instead of what it was asked for. */
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
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    // Not JSON is an answer too: the caller says that this is no daemon of ours.
    return null;
  }
}
