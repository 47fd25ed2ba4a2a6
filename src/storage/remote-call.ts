import { codeOf, messageOf } from '../core/blob/errors.ts';
import { StorageError, type StorageErrorCode } from './errors.ts';

/** Meaning of a backend's failure for the operator. */
export interface FaultMeaning {
  readonly code: StorageErrorCode;
  /** Continues "The <backend> store at <where> …". */
  readonly says: string;
  readonly retryable: boolean;
  readonly hint: string;
}

/** One question to a backend behind a network. */
export interface RemoteCall {
  readonly backend: string;
  /** Address without secrets. */
  readonly where: string;
  readonly operation: string;
  readonly signal: AbortSignal;
  /** For the whole of it, the body included. */
  readonly timeoutMs: number;
}

/**
 * Asks, and tells abort (the signal's own reason), timeout and failure apart. The signal that `work` gets covers both
 * ends; nothing stays attached to the caller's afterwards.
 */
export async function remoteCall<T>(
  call: RemoteCall,
  explain: (cause: unknown) => FaultMeaning,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  call.signal.throwIfAborted();
  const ending = new AbortController();
  const giveUp = () => ending.abort(call.signal.reason);
  call.signal.addEventListener('abort', giveUp, { once: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    ending.abort(new DOMException('the deadline has passed', 'TimeoutError'));
  }, call.timeoutMs);
  try {
    return await work(ending.signal);
  } catch (cause) {
    call.signal.throwIfAborted();
    // A body that the deadline has cut short is late, whatever the reader of the body made of it.
    throw isLate ? faultOf(call, tooLate(call.timeoutMs), cause) : remoteFault(call, explain(cause), cause);
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener('abort', giveUp);
  }
}

export function remoteFault(
  call: Pick<RemoteCall, 'backend' | 'where' | 'operation'>,
  meaning: FaultMeaning,
  cause: unknown,
): StorageError {
  return cause instanceof StorageError ? cause : faultOf(call, meaning, cause);
}

function faultOf(
  { backend, where, operation }: Pick<RemoteCall, 'backend' | 'where' | 'operation'>,
  meaning: FaultMeaning,
  cause: unknown,
): StorageError {
  return new StorageError(
    meaning.code,
    `The ${backend} store at ${where} ${meaning.says} (${operation}: ${reasonOf(cause)}).`,
    {
      details: { backend, operation, where, systemCode: codeOf(cause) },
      retryable: meaning.retryable,
      hint: meaning.hint,
      cause,
    },
  );
}

/** `fetch failed` and `UnknownError` say nothing: the deepest cause does. One line, bounded: servers send whole pages. */
function reasonOf(cause: unknown): string {
  let deepest = cause;
  while (deepest instanceof Error && deepest.cause instanceof Error) deepest = deepest.cause;
  const message = messageOf(deepest).replace(/\s+/g, ' ').trim();
  const text = message === '' ? (codeOf(deepest) ?? 'no reason given') : message;
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function tooLate(timeoutMs: number): FaultMeaning {
  return {
    code: 'storage/timeout',
    says: `did not answer within ${timeoutMs / 1_000} s`,
    retryable: true,
    hint: 'Look at the load and the network of that server; the archiver tries again with growing pauses.',
  };
}
