import { z } from 'zod';
import { HoldfastError, messageOf } from '../core/blob/errors.ts';
import type { JobEvent, JobOutcome } from '../core/jobs/job-kind.ts';
import type { DaemonTarget } from './daemon-address.ts';
import { askDaemon, type DaemonReply, refusal, wholeBody, withDaemon } from './daemon-client.ts';
import { CliError } from './errors.ts';

export interface AskedJob {
  readonly kind: string;
  /** Decoded by the kind itself. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The job needs the configured node: alone, it never takes the folder of an emulated chain. */
  readonly needsNode?: boolean;
}

const event = z.looseObject({ event: z.string() });
const started = z.looseObject({ event: z.literal('started'), job: z.string() });
const failure = z.object({ code: z.string(), message: z.string(), hint: z.string() });
const ended = z.looseObject({
  event: z.literal('ended'),
  state: z.enum(['done', 'failed', 'cancelled']),
  outcome: z.looseObject({ exitCode: z.union([z.literal(0), z.literal(1), z.literal(3)]) }).nullable(),
  failure: failure.nullable(),
});
/** Between the two ends alone. */
const BETWEEN_US = new Set(['started', 'alive', 'ended']);
/** Asking it to end is not cut short by what made us ask. */
const CANCEL_MS = 10_000;

/** Has the daemon do it, and tells what it tells. Asked to stop, it cancels the job and waits for its end. */
export async function attachJob(
  { kind, parameters }: AskedJob,
  target: DaemonTarget,
  signal: AbortSignal,
  onEvent: (event: JobEvent) => void,
): Promise<JobOutcome> {
  const path = `/admin/jobs/${encodeURIComponent(kind)}`;
  // The request has a signal of its own: an aborted caller still waits for the end of the job, to show its result.
  const leaving = new AbortController();
  const question = { method: 'POST' as const, path, body: parameters };
  const end = await withDaemon(target, question, leaving.signal, async (reply) => {
    if (reply.status !== 200) throw refused(reply.status, await wholeBody(reply.body));
    return await followToEnd(reply, target, signal, onEvent);
  });
  return outcomeOf(end, signal);
}

async function followToEnd(
  { body }: DaemonReply,
  target: DaemonTarget,
  signal: AbortSignal,
  onEvent: (event: JobEvent) => void,
): Promise<z.infer<typeof ended>> {
  let cancel: (() => void) | null = null;
  let end: z.infer<typeof ended> | null = null;
  try {
    for await (const line of linesOf(body)) {
      const told = event.parse(JSON.parse(line));
      const begun = started.safeParse(told);
      if (begun.success && cancel === null) {
        cancel = () => void cancelJob(target, begun.data.job);
        if (signal.aborted) cancel();
        else signal.addEventListener('abort', cancel, { once: true });
      }
      end ??= ended.safeParse(told).data ?? null;
      if (!BETWEEN_US.has(told.event)) onEvent(told);
    }
  } catch (cause) {
    if (cause instanceof HoldfastError || cause === signal.reason) throw cause;
    throw gone(target, cause);
  } finally {
    if (cancel !== null) signal.removeEventListener('abort', cancel);
  }
  if (end === null) throw gone(target, null);
  return end;
}

/** Whole lines; one that is cut off at the end is none. */
async function* linesOf(body: AsyncIterable<unknown>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(z.instanceof(Uint8Array).parse(chunk), { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

function outcomeOf({ outcome, failure: why }: z.infer<typeof ended>, signal: AbortSignal): JobOutcome {
  if (outcome !== null) return outcome;
  signal.throwIfAborted();
  throw new HoldfastError(why?.code ?? 'jobs/unexpected', why?.message ?? 'The job ended without a word.', {
    retryable: true,
    hint: why?.hint ?? 'The log of the daemon says more.',
  });
}

async function cancelJob(target: DaemonTarget, job: string): Promise<void> {
  const question = { method: 'DELETE' as const, path: `/admin/jobs/${encodeURIComponent(job)}` };
  // When this request fails, the daemon is gone, and following the job says so.
  await askDaemon(target, question, AbortSignal.timeout(CANCEL_MS)).catch(() => null);
}

/** Before it began: the daemon's own words, with its own code where it is one of jobs. */
function refused(status: number, body: Uint8Array): HoldfastError {
  const error = refusal({ status, body });
  const code = error.details['code'];
  if (typeof code !== 'string' || !code.startsWith('jobs/')) return error;
  return new HoldfastError(code, error.message, { retryable: error.retryable, hint: error.hint });
}

function gone({ url }: DaemonTarget, cause: unknown): CliError {
  const why = cause === null ? 'it ended the connection' : messageOf(cause);
  return new CliError('cli/daemon-gone', `The daemon at ${url} went away before the job was done: ${why}.`, {
    details: { url },
    retryable: true,
    hint: 'Look at its log, start it, and type the command again: what was done already is not done twice.',
    cause,
  });
}
