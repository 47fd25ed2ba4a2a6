import { codeOf, HoldfastError, messageOf } from '../core/blob/errors.ts';

export type StorageErrorCode =
  | 'storage/full'
  | 'storage/read-only'
  | 'storage/not-a-folder'
  | 'storage/unusable-folder'
  | 'storage/denied'
  | 'storage/in-use'
  | 'storage/other-chain'
  | 'storage/unknown-format'
  | 'storage/too-old-sqlite'
  | 'storage/closed'
  | 'storage/fault'
  /** SQLite says that the file of small blobs is damaged. */
  | 'storage/damaged-database'
  // Backends behind a network:
  | 'storage/unreachable'
  | 'storage/timeout'
  | 'storage/tls'
  | 'storage/truncated'
  | 'storage/unreadable'
  | 'storage/busy'
  | 'storage/no-bucket'
  | 'storage/wrong-region'
  | 'storage/bad-credentials'
  | 'storage/clock-skew'
  | 'storage/locked'
  | 'storage/archived'
  | 'storage/conflict'
  | 'storage/other-layout'
  | 'storage/same-place'
  | 'storage/not-s3'
  | 'storage/not-kubo'
  | 'storage/too-old-server'
  | 'storage/refused';

/** Details carry `backend`, `operation` and the system's own code. */
export class StorageError extends HoldfastError<StorageErrorCode> {}

/**
 * Reports whether one file or row may be the cause on the local disk. A disk that fails as a whole gives this error for
 * all of them.
 */
export function mayBeOneFile(error: unknown): error is StorageError {
  return mayBeOneObject(error) || (error instanceof StorageError && OF_ONE_FILE.has(error.code));
}

/** A foreign owner's file cannot be opened; a damaged file of rows gives some and keeps others. */
const OF_ONE_FILE: ReadonlySet<StorageErrorCode> = new Set(['storage/denied', 'storage/damaged-database']);

/** Faults that a server has when its disks have lost part of one object. A server that is unwell has them of all. */
const OF_ONE_OBJECT: ReadonlySet<StorageErrorCode> = new Set([
  'storage/unreadable',
  'storage/truncated',
  'storage/fault',
]);

export function mayBeOneObject(error: unknown): error is StorageError {
  return error instanceof StorageError && OF_ONE_OBJECT.has(error.code);
}

/** The system's codes of a connection that ended in the middle. */
export const CUT_CODES: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Faults of the server, of the way to it, or of the settings: they are the same for every object. */
const OF_THE_STORE: ReadonlySet<StorageErrorCode> = new Set([
  'storage/unreachable',
  'storage/tls',
  'storage/no-bucket',
  'storage/wrong-region',
  'storage/bad-credentials',
  'storage/clock-skew',
  'storage/not-kubo',
  'storage/other-chain',
  'storage/other-layout',
  'storage/same-place',
  'storage/unknown-format',
  'storage/too-old-server',
  'storage/closed',
]);

/** Reports whether the failure affects every put and read of the store. A cut connection may come from one object. */
export function isOfTheStore(error: StorageError): boolean {
  return OF_THE_STORE.has(error.code) && !CUT_CODES.has(error.details['systemCode']);
}

interface Meaning {
  readonly code: StorageErrorCode;
  readonly says: string;
  readonly retryable: boolean;
  readonly hint: string;
}

const FULL: Meaning = {
  code: 'storage/full',
  says: 'has no space left',
  retryable: true,
  hint: 'Free disk space or give the data folder a larger volume; the archiver goes on by itself once there is room.',
};
const READ_ONLY: Meaning = {
  code: 'storage/read-only',
  says: 'is read-only',
  retryable: false,
  hint: 'Mount the data folder writable, or set HOLDFAST_DATA_DIR to a folder that is.',
};
const DENIED: Meaning = {
  code: 'storage/denied',
  says: 'may not be accessed by this user',
  retryable: false,
  hint: 'Give the user that runs holdfast read and write permission on the data folder.',
};

const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  SQLITE_FULL: FULL,
  EROFS: READ_ONLY,
  SQLITE_READONLY: READ_ONLY,
  SQLITE_READONLY_DIRECTORY: READ_ONLY,
  EACCES: DENIED,
  EPERM: DENIED,
  SQLITE_PERM: DENIED,
};

const FAULT: Meaning = {
  code: 'storage/fault',
  says: 'failed',
  retryable: true,
  hint: 'Look at the disk and the system log; the archiver tries again.',
};

/** Turns whatever the system threw into an error that says which backend, what it was doing, and what to do. */
export function storageFault(backend: string, operation: string, cause: unknown, where?: string): StorageError {
  if (cause instanceof StorageError) return cause;
  const systemCode = codeOf(cause);
  const meaning = (systemCode === null ? undefined : MEANINGS[systemCode]) ?? FAULT;
  const place = where === undefined ? '' : ` at ${where}`;
  return new StorageError(
    meaning.code,
    `The ${backend} store${place} ${meaning.says} (${operation}: ${messageOf(cause)}).`,
    {
      details: { backend, operation, systemCode },
      retryable: meaning.retryable,
      hint: meaning.hint,
      cause,
    },
  );
}
