/** What an error of ours carries besides its message. */
export interface ErrorFacts {
  /** Structured, safe to log: never a secret, never blob bytes. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Can the same call succeed later without anyone changing anything? */
  readonly retryable: boolean;
  /** What the operator can do about it, one sentence. */
  readonly hint: string;
  readonly cause?: unknown;
}

/** The base of every error that Holdfast throws. Each room narrows `Code` to its own union. */
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

/** The sentence of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The same without the full stop at its end, for the middle of another sentence. */
export function clauseOf(error: unknown): string {
  return messageOf(error).replace(/\.$/, '');
}

/** The code of any thrown value: ours, Node's (`ENOSPC`), or null. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

export type MalformedCode = 'malformed/hex' | 'malformed/version-hash' | 'malformed/txid' | 'malformed/block-hash';

/** A value from outside that does not have the form it must have. */
export class MalformedError extends HoldfastError<MalformedCode> {}
