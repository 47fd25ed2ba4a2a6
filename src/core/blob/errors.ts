/** Members of a HoldfastError besides its message. */
export interface ErrorFacts {
  /** Structured values, safe to log: no secrets, no blob bytes. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** true when the same call can succeed later without any change. */
  readonly retryable: boolean;
  /** One sentence that tells the operator what to do. */
  readonly hint: string;
  readonly cause?: unknown;
}

/** Base class of every error that Holdfast throws. Each room narrows `Code` to its own union. */
export class HoldfastError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryable: boolean;
  readonly hint: string;

  constructor(code: Code, message: string, facts: ErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = facts.details ?? {};
    this.retryable = facts.retryable;
    this.hint = facts.hint;
  }
}

/** The message of any thrown value. Errors that a library makes of a server's answer can carry anything as theirs. */
export function messageOf(error: unknown): string {
  const message: unknown = error instanceof Error ? error.message : String(error);
  return typeof message === 'string' ? message : String(JSON.stringify(message));
}

/** The message without its final full stop, to embed in another sentence. */
export function clauseOf(error: unknown): string {
  return messageOf(error).replace(/\.$/, '');
}

/** The code of any thrown value: Holdfast's, Node's (`ENOSPC`), or null. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/**
 * One error with the messages of all of these, and every hint once. It has the code of the first, unless one of them is
 * unexpected: then it is so as a whole.
 */
export function joinedError(errors: readonly [unknown, ...unknown[]]): unknown {
  const [first, ...others] = errors;
  if (others.length === 0) return first;
  const message = [...new Set(errors.map(messageOf))].join(' ');
  const known = errors.filter((error) => error instanceof HoldfastError);
  if (!(first instanceof HoldfastError) || known.length < errors.length) return new AggregateError(errors, message);
  const hint = [...new Set(known.map((error) => error.hint))].join(' ');
  const retryable = known.every((error) => error.retryable);
  return new HoldfastError(first.code, message, { hint, retryable, details: first.details, cause: errors });
}

export type MalformedCode = 'malformed/hex' | 'malformed/version-hash' | 'malformed/txid' | 'malformed/block-hash';

/** A malformed value from outside. */
export class MalformedError extends HoldfastError<MalformedCode> {}
