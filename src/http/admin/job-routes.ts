import { z } from 'zod';
import { JobError } from '../../core/jobs/errors.ts';
import { jsonAnswer, linesAnswer } from '../answer.ts';
import { NOTHING } from '../parameters.ts';
import { defineDeleteRoute, defineRawPostRoute, defineRoute, jsonOf, type Route } from '../route.ts';
import type { AdminView } from './admin-view.ts';

/** A kind where one is begun, an id elsewhere. */
const JOB = z.object({ job: z.string() });
const STATUS = z.looseObject({ id: z.string(), kind: z.string(), state: z.string() });
const LIST = z.object({ kinds: z.array(z.string()), jobs: z.array(STATUS) });
const EVENTS = { mediaType: 'application/x-ndjson', schema: null };
/** Names, heights, addresses: what a job is told. */
const MAX_BYTES = 65_536;

/** Begin, watch, list and cancel the long operations of the daemon. */
export function jobRoutes(jobs: AdminView['jobs']): Route[] {
  return [
    defineRawPostRoute({
      path: '/admin/jobs/:job',
      access: 'admin',
      says: 'Begins a job, and answers what it tells as it goes on; the last line is its outcome. It outlives the asker.',
      answers: [EVENTS],
      problems: ['jobs/unknown-kind', 'jobs/local-only', 'jobs/bad-parameters', 'jobs/busy', 'jobs/stopping'],
      parameters: JOB,
      query: NOTHING,
      maxBytes: MAX_BYTES,
      describedBody: z.looseObject({}),
      answer({ parameters, body, signal, isLocal }) {
        if (!isLocal && jobs.isLocalOnly(parameters.job)) throw localOnly(parameters.job);
        const id = jobs.start(parameters.job, body.length === 0 ? {} : jsonOf(body));
        return linesAnswer(() => jobs.follow(id, signal));
      },
    }),
    defineRoute({
      path: '/admin/jobs',
      access: 'admin',
      says: 'The kinds of jobs, and the jobs that run or ran, the newest last.',
      answers: [{ mediaType: 'application/json', schema: LIST }],
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      answer: () => jsonAnswer({ kinds: jobs.kinds, jobs: jobs.list() }),
    }),
    defineRoute({
      path: '/admin/jobs/:job',
      access: 'admin',
      says: 'How a job does, and what came of it.',
      answers: [{ mediaType: 'application/json', schema: STATUS }],
      problems: ['jobs/unknown-job'],
      parameters: JOB,
      query: NOTHING,
      answer: ({ parameters }) => jsonAnswer(jobs.find(parameters.job)),
    }),
    defineRoute({
      path: '/admin/jobs/:job/events',
      access: 'admin',
      says: 'What a job told, and tells as it goes on; the last line is its outcome.',
      answers: [EVENTS],
      problems: ['jobs/unknown-job'],
      parameters: JOB,
      query: NOTHING,
      answer({ parameters, signal }) {
        const lines = jobs.follow(parameters.job, signal);
        return linesAnswer(() => lines);
      },
    }),
    defineDeleteRoute({
      path: '/admin/jobs/:job',
      access: 'admin',
      says: 'Asks a job to end; it says so itself when it has.',
      answers: [{ mediaType: 'application/json', schema: STATUS }],
      problems: ['jobs/unknown-job'],
      parameters: JOB,
      query: NOTHING,
      answer: ({ parameters }) => jsonAnswer(jobs.cancel(parameters.job)),
    }),
  ];
}

function localOnly(kind: string): JobError {
  return new JobError('jobs/local-only', `A job of the kind ${kind} works on files of the machine.`, {
    details: { kind },
    retryable: false,
    hint: `Type \`holdfast ${kind}\` on the machine of the daemon, with its data folder: it takes the local socket.`,
  });
}
