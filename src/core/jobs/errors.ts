import { HoldfastError } from '../blob/errors.ts';

export type JobErrorCode =
  | 'jobs/unknown-kind'
  | 'jobs/unknown-job'
  | 'jobs/local-only'
  | 'jobs/bad-parameters'
  | 'jobs/busy'
  | 'jobs/stopping'
  | 'jobs/bad-event';

/** A job that was not started or not found. A failing job throws the error of the room that does its work. */
export class JobError extends HoldfastError<JobErrorCode> {}
