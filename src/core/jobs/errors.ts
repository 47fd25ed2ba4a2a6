import { HoldfastError } from '../blob/errors.ts';

export type JobErrorCode =
  | 'jobs/unknown-kind'
  | 'jobs/unknown-job'
  | 'jobs/bad-parameters'
  | 'jobs/busy'
  | 'jobs/stopping'
  | 'jobs/bad-event';

/** Why a job was not begun, or not found. What a job itself fails at is an error of the room that does the work. */
export class JobError extends HoldfastError<JobErrorCode> {}
