import type { z } from 'zod';
import { JobError } from './errors.ts';

/** An event of a job, as plain JSON. `event` names it; the other members belong to the kind of job. */
export type JobEvent = Readonly<Record<string, unknown>> & { readonly event: string };

export interface JobContext {
  /**
   * Aborts when the job is cancelled or the process stops. The job then throws the reason, after all its work has
   * ended.
   */
  readonly signal: AbortSignal;
  /** Sends an event to every watcher. Never blocks: a slow watcher misses events and learns how many. */
  report(event: JobEvent): void;
}

/**
 * Result of a job. `exitCode` is the command's: 0 done, 1 some source could not be asked, 3 listed items are missing.
 */
export type JobOutcome = Readonly<Record<string, unknown>> & { readonly exitCode: 0 | 1 | 3 };

/**
 * A long operation on an archive. A command runs it alone, with the lock of the folder, or the daemon runs it on behalf
 * of the admin routes. A kind is a plain object; `run` is a method, so that kinds with different parameters fit into
 * one list.
 */
export interface JobKind<Parameters = unknown> {
  /** Name of the kind in `POST /admin/jobs/{kind}`. */
  readonly kind: string;
  /** Decodes the parameters strictly: a misspelt field is refused, not ignored. */
  readonly parameters: z.ZodType<Parameters>;
  /** The job reads or writes files that its parameters name, with the rights of the daemon: a token alone does not begin it. */
  readonly isLocalOnly?: true;
  run(parameters: Parameters, context: JobContext): Promise<JobOutcome>;
}

/**
 * Validates parameters and returns the work of a kind, not started.
 * @throws JobError `jobs/bad-parameters` with the `field`
 */
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
