import { clauseOf, codeOf, HoldfastError, messageOf } from '../core/blob/errors.ts';

export type HttpErrorCode =
  | 'http/port-in-use'
  | 'http/permission-denied'
  | 'http/bad-host'
  | 'http/bad-port'
  | 'http/listen-failed'
  | 'http/no-local-socket'
  | 'http/client-gone'
  | 'http/bad-json'
  | 'http/bad-body'
  | 'http/bad-tokens-file'
  | 'http/too-busy';

/** Faults of the server itself. Answers to clients are in the problem table instead. */
export class HttpError extends HoldfastError<HttpErrorCode> {}

interface Meaning {
  readonly code: HttpErrorCode;
  readonly says: string;
  readonly hint: string;
}

const BAD_HOST: Meaning = {
  code: 'http/bad-host',
  says: 'this machine has no such address',
  hint: 'Set HOLDFAST_HTTP_HOST to an address of this machine: 127.0.0.1, or 0.0.0.0 for all.',
};

const MEANINGS: Readonly<Record<string, Meaning>> = {
  EADDRINUSE: {
    code: 'http/port-in-use',
    says: 'the port is in use',
    hint: 'Stop the other program, or set HOLDFAST_HTTP_PORT to another port (0 takes a free one).',
  },
  EACCES: {
    code: 'http/permission-denied',
    says: 'this user may not open that port',
    hint: 'Set HOLDFAST_HTTP_PORT to 1024 or above, or give the process the right to open lower ports.',
  },
  EADDRNOTAVAIL: BAD_HOST,
  ENOTFOUND: BAD_HOST,
  EAI_AGAIN: BAD_HOST,
  EINVAL: BAD_HOST,
  ERR_SOCKET_BAD_PORT: {
    code: 'http/bad-port',
    says: 'there is no such port',
    hint: 'Set HOLDFAST_HTTP_PORT to 0 (a free one) or to a number from 1 to 65535.',
  },
};

/** Turns what the system said into what the operator can do about it. */
export function listenError(host: string, port: number, cause: unknown): HttpError {
  const systemCode = codeOf(cause);
  const meaning = (systemCode === null ? undefined : MEANINGS[systemCode]) ?? {
    code: 'http/listen-failed',
    says: messageOf(cause),
    hint: 'Check HOLDFAST_HTTP_HOST and HOLDFAST_HTTP_PORT.',
  };
  return new HttpError(meaning.code, `Cannot listen on ${host} port ${port}: ${meaning.says}.`, {
    details: { host, port, systemCode },
    retryable: false,
    hint: meaning.hint,
    cause,
  });
}

/** Without it the archive works, and other commands on the machine cannot reach it but over its port. */
export function localSocketError(path: string, cause: unknown): HttpError {
  return new HttpError('http/no-local-socket', `No local socket can be made at ${path}: ${clauseOf(cause)}.`, {
    details: { path, systemCode: codeOf(cause) },
    retryable: false,
    hint: 'Let the daemon write its data folder or TMPDIR; until then use /admin with HOLDFAST_HTTP_ADMIN_TOKENS_FILE.',
    cause,
  });
}
