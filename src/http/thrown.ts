import { z } from 'zod';
import { ArchiveError } from '../core/archive-errors.ts';
import { HoldfastError, MalformedError } from '../core/blob/errors.ts';
import { JobError } from '../core/jobs/errors.ts';
import { SubscriptionError } from '../view/subscription-view.ts';
import type { Answer } from './answer.ts';
import { HttpError } from './errors.ts';
import { problemAnswer } from './problem.ts';

/** The answer to something thrown, and whether the operator has to hear of it. */
export interface ThrownMeaning {
  readonly answer: Answer;
  readonly isServerError: boolean;
}

/** A client's mistake is told as it is; the archive's own faults do not get out. */
export function meaningOfThrown(error: unknown): ThrownMeaning {
  if (error instanceof MalformedError) {
    return clientError(problemAnswer(error.code, error.message, { hint: error.hint }));
  }
  if (error instanceof HttpError && error.code === 'http/too-busy') {
    return clientError(problemAnswer('http/too-busy', error.message));
  }
  if (error instanceof z.ZodError) return clientError(badParameter(error));
  if (error instanceof HttpError && (error.code === 'http/bad-json' || error.code === 'http/bad-body')) {
    return clientError(problemAnswer(error.code, error.message));
  }
  if (error instanceof ArchiveError && error.code === 'archive/bad-cursor') {
    return clientError(
      problemAnswer('archive/bad-cursor', 'The parameter "after" is no cursor of this listing.', {
        members: { parameter: 'after' },
      }),
    );
  }
  if (error instanceof JobError && error.code !== 'jobs/bad-event') {
    return clientError(problemAnswer(error.code, error.message, { hint: error.hint, members: error.details }));
  }
  if (error instanceof ArchiveError && error.code === 'archive/not-withheld') {
    return clientError(problemAnswer(error.code, error.message, { hint: error.hint }));
  }
  if (error instanceof SubscriptionError) {
    return clientError(problemAnswer(error.code, error.message, { hint: error.hint, members: error.details }));
  }
  if (error instanceof HoldfastError && error.retryable) {
    return {
      answer: problemAnswer('http/temporary-fault', 'A part that is needed failed just now.'),
      isServerError: true,
    };
  }
  return { answer: internalError(), isServerError: true };
}

export function internalError(): Answer {
  return problemAnswer('http/internal', 'The request could not be handled.');
}

function clientError(answer: Answer): ThrownMeaning {
  return { answer, isServerError: false };
}

function badParameter(error: z.ZodError): Answer {
  const issue = error.issues[0];
  const unknownKey = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const parameter = unknownKey ?? String(issue?.path[0] ?? '');
  const says = unknownKey === undefined ? (issue?.message ?? 'has a wrong value') : 'is not known here';
  return problemAnswer('http/bad-parameter', `The parameter ${JSON.stringify(parameter)} ${says}.`, {
    members: { parameter },
  });
}
