import { HoldfastError } from '../core/blob/errors.ts';
import type { CliContext } from './cli-context.ts';

/** A person or the system asked the command to stop; the hint says what is kept, and how to go on. */
export class InterruptedError extends HoldfastError<'cli/interrupted'> {}

/** Does the work; when it is interrupted, the command says what is kept of it. */
export async function keeping<T>(
  { signal }: Pick<CliContext, 'signal'>,
  work: Promise<T>,
  kept: () => string,
): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!signal.aborted || cause !== signal.reason) throw cause;
    throw new InterruptedError('cli/interrupted', 'interrupted before it was done', {
      retryable: true,
      hint: kept(),
      cause,
    });
  }
}
