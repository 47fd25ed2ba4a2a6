import { randomBytes } from 'node:crypto';
import { codeOf, HoldfastError, messageOf } from '../blob/errors.ts';
import type { Logger } from '../observability/logger.ts';
import { JobError } from './errors.ts';
import { EventLog } from './event-log.ts';
import { type JobKind, type JobOutcome, prepareJob } from './job-kind.ts';

export type JobState = 'running' | 'done' | 'failed' | 'cancelled';

export interface JobFailure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

export interface JobStatus {
  readonly id: string;
  readonly kind: string;
  readonly state: JobState;
  /** Time in ISO 8601. */
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** Outcome of an ended job: complete for the newest of its kind, the exit code alone for older ones. */
  readonly outcome: JobOutcome | null;
  readonly failure: JobFailure | null;
}

interface Job {
  status: JobStatus;
  readonly events: EventLog;
  readonly cancelling: AbortController;
  readonly ended: Promise<void>;
}

/** Most ended jobs that are remembered. */
const MAX_ENDED = 64;
/** Milliseconds between keep-alive lines, well below the time after which a silent connection counts as dead. */
const ALIVE_MS = 15_000;

/**
 * The long operations of a daemon, one of each kind at a time, kept in memory with their events. Jobs end with the
 * process; a second run of a kind does not repeat what the first has done.
 */
export class JobTable {
  readonly #kinds: ReadonlyMap<string, JobKind>;
  readonly #jobs = new Map<string, Job>();
  readonly #log: Logger;
  readonly #nowMs: () => number;
  #refusal: string | null = null;

  constructor(kinds: readonly JobKind[], { log, nowMs }: { readonly log: Logger; readonly nowMs: () => number }) {
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
    this.#log = log;
    this.#nowMs = nowMs;
  }

  get kinds(): string[] {
    return [...this.#kinds.keys()];
  }

  /** Reports whether a kind is begun over the local socket alone. */
  isLocalOnly(name: string): boolean {
    return this.#kinds.get(name)?.isLocalOnly === true;
  }

  /**
   * Starts a job and returns its id.
   * @throws JobError `jobs/unknown-kind`, `jobs/bad-parameters` (with the `field`), `jobs/busy` (with the running `job`
   * of that kind), `jobs/stopping`
   */
  start(name: string, given: unknown): string {
    const kind = this.#kinds.get(name);
    if (kind === undefined) throw unknownKind(name, this.kinds);
    const run = prepareJob(kind, given);
    if (this.#refusal !== null) throw refused(this.#refusal);
    const running = this.#running().find(({ status }) => status.kind === name);
    if (running !== undefined) throw busy(running.status);
    this.#makeRoom(name);
    const id = `${name}-${randomBytes(6).toString('hex')}`;
    const events = new EventLog();
    const cancelling = new AbortController();
    const { signal } = cancelling;
    events.append({ event: 'started', job: id, kind: name });
    const startedAt = this.#now();
    const ended = Promise.try(run, { signal, report: (event) => events.append(event) }).then(
      (outcome) => this.#end(id, { state: 'done', outcome, failure: null }),
      (error: unknown) => {
        const state = signal.aborted ? 'cancelled' : 'failed';
        if (state === 'failed') this.#log.error({ error, job: id }, 'a job failed');
        this.#end(id, { state, outcome: null, failure: failureOf(signal.aborted ? signal.reason : error) });
      },
    );
    const status = {
      id,
      kind: name,
      state: 'running' as const,
      startedAt,
      endedAt: null,
      outcome: null,
      failure: null,
    };
    this.#jobs.set(id, { status, events, cancelling, ended });
    this.#log.info({ job: id, kind: name }, 'a job began');
    return id;
  }

  /** Lists the jobs, the newest last. */
  list(): JobStatus[] {
    return [...this.#jobs.values()].map(({ status }) => status);
  }

  /** @throws JobError `jobs/unknown-job` */
  find(id: string): JobStatus {
    return this.#job(id).status;
  }

  /**
   * Events of a job, past and future, one line of JSON each, with the outcome last: `{"event":"ended", …status}`.
   * @throws JobError `jobs/unknown-job` at the call, not at the first read
   */
  follow(id: string, signal: AbortSignal): AsyncIterable<string> {
    const job = this.#job(id);
    return (async function* () {
      yield* job.events.follow(signal, ALIVE_MS);
      if (!signal.aborted) yield JSON.stringify({ event: 'ended', ...job.status });
    })();
  }

  /**
   * Cancels a job; `follow` reports its end. An ended job stays as it is.
   * @throws JobError `jobs/unknown-job`
   */
  cancel(id: string): JobStatus {
    const job = this.#job(id);
    job.cancelling.abort(cancelled('It was cancelled.'));
    return job.status;
  }

  /** Refuses new jobs with a reason; null accepts them again. Running jobs continue. */
  refuse(why: string | null): void {
    this.#refusal = why;
  }

  /** Cancels the running jobs and waits for their end. Starts no job afterwards. */
  async stop(): Promise<void> {
    this.refuse('The daemon stops.');
    for (const { cancelling } of this.#running()) cancelling.abort(cancelled('The daemon stopped.'));
    await Promise.all(this.#running().map(({ ended }) => ended));
  }

  #running(): Job[] {
    return [...this.#jobs.values()].filter(({ status }) => status.state === 'running');
  }

  #job(id: string): Job {
    const job = this.#jobs.get(id);
    if (job !== undefined) return job;
    throw new JobError('jobs/unknown-job', 'There is no such job.', {
      retryable: false,
      hint: 'GET /admin/jobs lists those that there are; a restart forgets them.',
    });
  }

  #end(id: string, how: Pick<JobStatus, 'state' | 'outcome' | 'failure'>): void {
    const job = this.#job(id);
    job.status = { ...job.status, ...how, endedAt: this.#now() };
    job.events.close();
    const { kind, state, outcome } = job.status;
    this.#log.info({ job: id, kind, state, exitCode: outcome?.exitCode ?? null }, 'a job ended');
  }

  /** Reports are long: the newest one of each kind is kept, and the exit code of older ones. */
  #makeRoom(kind: string): void {
    const ended = [...this.#jobs.values()].filter(({ status }) => status.state !== 'running');
    for (const job of ended.filter(({ status }) => status.kind === kind)) {
      const { outcome } = job.status;
      job.status = { ...job.status, outcome: outcome === null ? null : { exitCode: outcome.exitCode } };
      job.events.forget();
    }
    for (const { status } of ended.slice(0, -MAX_ENDED)) this.#jobs.delete(status.id);
  }

  #now(): string {
    return new Date(this.#nowMs()).toISOString();
  }
}

function failureOf(error: unknown): JobFailure {
  const hint =
    error instanceof HoldfastError ? error.hint : 'This is a bug of holdfast: please report it with the log.';
  return { code: codeOf(error) ?? 'jobs/unexpected', message: messageOf(error), hint };
}

function cancelled(why: string): HoldfastError {
  return new HoldfastError('jobs/cancelled', why, {
    retryable: true,
    hint: 'Begin it again: what it has done is not done twice.',
  });
}

function unknownKind(name: string, kinds: readonly string[]): JobError {
  return new JobError('jobs/unknown-kind', `There is no job of the kind ${JSON.stringify(name.slice(0, 64))}.`, {
    details: { kinds },
    retryable: false,
    hint: `Name one of ${kinds.join(', ')}.`,
  });
}

function busy({ id, kind }: JobStatus): JobError {
  return new JobError('jobs/busy', `A job of the kind ${kind} is under way: ${id}.`, {
    details: { job: id },
    retryable: true,
    hint: `Watch it with GET /admin/jobs/${id}/events, or end it with DELETE /admin/jobs/${id}.`,
  });
}

function refused(why: string): JobError {
  return new JobError('jobs/stopping', `No job is begun now: ${why}`, {
    retryable: true,
    hint: 'Ask again when the daemon takes work again.',
  });
}
