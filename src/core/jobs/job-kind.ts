import type { z } from 'zod';
import { JobError } from './errors.ts';

/** Something that happened in a job; plain JSON. `event` says what, the rest is the kind's own. */
export type JobEvent = Readonly<Record<string, unknown>> & { readonly event: string };

export interface JobContext {
  /** Fires when the job is cancelled or the process stops: the job then throws its reason, with nothing left under way. */
  readonly signal: AbortSignal;
  /** Tells whoever watches. Never blocks: who watches too slowly misses events, and is told how many. */
  report(event: JobEvent): void;
}

/** As the exit code of the command: 0 done, 1 something could not be asked, 3 something is missing, and listed. */
export type JobOutcome = Readonly<Record<string, unknown>> & { readonly exitCode: 0 | 1 | 3 };

/**
 * A long operation on an archive, the same whether a command runs it alone (the lock of the folder taken) or the daemon
 * does (asked over its admin routes). Written as a plain object; `run` is a method, so that kinds with different
 * parameters go into one list.
 */
export interface JobKind<Parameters = unknown> {
  /** A word, as it stands in `POST /admin/jobs/{kind}`. */
  readonly kind: string;
  /** Decodes what was asked for; a strict object, so that a misspelt field is refused and not ignored. */
  readonly parameters: z.ZodType<Parameters>;
  run(parameters: Parameters, context: JobContext): Promise<JobOutcome>;
}

/** The work of a kind with parameters that fit it, not begun. Throws `JobError` `jobs/bad-parameters` with the `field`. */
export function prepareJob(kind: JobKind, given: unknown): (context: JobContext) => Promise<JobOutcome> {
  const read = kind.parameters.safeParse(given);
  if (read.success) return (context) => kind.run(read.data, context);
  const issue = read.error.issues[0];
  const unknownField = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const field = unknownField ?? issue?.path.join('.') ?? '';
  const says = unknownField === undefined ? (issue?.message ?? 'has a wrong value') : 'is not known here';
  throw new JobError('jobs/bad-parameters', `${field === '' ? 'The body' : `The field ${field}`}: ${says}.`, {
    details: { kind: kind.kind, field },
    retryable: false,
    hint: `Correct it; \`holdfast ${kind.kind} --help\` says what it takes.`,
  });
}
