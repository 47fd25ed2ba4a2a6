import { messageOf } from '../../core/blob/errors.ts';
import { connectionFault } from '../connection-fault.ts';
import type { FaultMeaning } from '../remote-call.ts';

/** The server's answer to a failed request: its own code (`NoSuchKey`) and the status. */
export interface S3Answer {
  readonly name: string;
  readonly status: number | null;
}

export function answerOf(cause: unknown): S3Answer {
  const name = cause instanceof Error ? cause.name : '';
  if (typeof cause !== 'object' || cause === null || !('$metadata' in cause)) return { name, status: null };
  const metadata = cause.$metadata;
  const has = typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata;
  return { name, status: has && typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : null };
}

/** The body of an object ended before its announced length. */
export class TruncatedBody extends Error {}
/** An object that was found, and is not there any more. */
export class GoneMeanwhile extends Error {}
/** An answer that no S3 server gives. */
export class NotS3Answer extends Error {}

/** The server's words in ours. Only the positive "no such key" is not here: callers turn that into null. */
export function explainS3(cause: unknown): FaultMeaning {
  if (cause instanceof TruncatedBody) return TRUNCATED;
  if (cause instanceof GoneMeanwhile) return GONE;
  if (cause instanceof NotS3Answer) return NOT_S3;
  const { name, status } = answerOf(cause);
  const said = MEANINGS[name] ?? (LOCK_CODES.has(name) ? saidOfLock(messageOf(cause)) : null) ?? saidOfKeys(name);
  if (said !== null) return said;
  if (status === null) return connectionFault(cause) ?? (isParseFault(cause) ? NOT_S3 : FAILED);
  return byStatus(status, cause);
}

/** AWS says the first, MinIO the second; the words say what of. */
const LOCK_CODES: ReadonlySet<string> = new Set(['AccessDenied', 'InvalidRequest']);
const LOCK_WORDS = /object.?lock|retention|worm|legal hold/i;
/** Answer to a put with a retention into a bucket that was made without object lock. */
const NO_LOCK_WORDS = /missing object ?lock ?configuration/i;

function saidOfLock(words: string): FaultMeaning | null {
  if (NO_LOCK_WORDS.test(words)) return NO_LOCK;
  return LOCK_WORDS.test(words) ? LOCKED : null;
}

/** `KMS.NotFoundException` as AWS says it, `kms:KeyNotFound` as MinIO does, with 400 and 404. */
function saidOfKeys(name: string): FaultMeaning | null {
  return /^kms[.:]/i.test(name) ? NO_KEY : null;
}

function isParseFault(cause: unknown): boolean {
  return cause instanceof Error && /deserializ|parse|xml|unexpected token|char '/i.test(cause.message);
}

function byStatus(status: number, cause: unknown): FaultMeaning {
  if (status === 429 || status === 503) return BUSY;
  if (status === 507) return FULL;
  // MinIO without a key service, of encryption.
  if (status === 501) return REFUSED;
  if (status >= 500) return FAILED;
  // The SDK could not read the error's body as XML: some other web server answered.
  if (isParseFault(cause)) return NOT_S3;
  if (status === 401 || status === 403) return DENIED;
  if (status === 301 || status === 307 || status === 308) return REGION;
  if (status === 404 || status === 405) return NOT_S3;
  if (status === 409) return CONFLICT;
  return status === 200 ? NOT_S3 : REFUSED;
}

const TRUNCATED: FaultMeaning = {
  code: 'storage/truncated',
  says: 'ended an object before its announced length',
  retryable: true,
  hint: 'A proxy or the network cuts long answers; the archiver reads it again.',
};
const NOT_S3: FaultMeaning = {
  code: 'storage/not-s3',
  says: 'does not answer as an S3 server does',
  retryable: false,
  hint: 'Check http:// or https://, address and port (a console or web page may be there), and whether path or host addressing fits.',
};
const UNREADABLE: FaultMeaning = {
  code: 'storage/unreadable',
  says: 'has it and cannot read it from its own disks',
  retryable: true,
  hint: 'Disks of that server are missing or have lost part of it: read its log. Holdfast rewrites an object that stays unreadable.',
};
const FAILED: FaultMeaning = {
  code: 'storage/fault',
  says: 'failed',
  retryable: true,
  hint: 'Look at the log of that server; the archiver tries again with growing pauses.',
};
const REFUSED: FaultMeaning = {
  code: 'storage/refused',
  says: 'refuses the request',
  retryable: false,
  hint: 'Check which options of this backend (encryption, storage class, object lock, addressing) that server knows.',
};
const DENIED: FaultMeaning = {
  code: 'storage/denied',
  says: 'does not permit it',
  retryable: false,
  hint: 'Allow these credentials s3:GetObject, s3:PutObject and s3:DeleteObject on the objects, s3:ListBucket on the bucket; for a purge, s3:ListBucketVersions and s3:DeleteObjectVersion; for an export, s3:ListBucketMultipartUploads and s3:ListMultipartUploadParts.',
};
const LOCKED: FaultMeaning = {
  code: 'storage/locked',
  says: 'holds it under object lock',
  retryable: false,
  hint: 'The object stays until its retention has passed; no one can delete it before.',
};
export const NO_LOCK: FaultMeaning = {
  code: 'storage/refused',
  says: 'keeps this bucket without object lock',
  retryable: false,
  hint: 'Make the bucket with object lock switched on, or leave the retention of this backend out.',
};
const NO_KEY: FaultMeaning = {
  code: 'storage/refused',
  says: 'cannot use the key that its objects are encrypted with',
  retryable: false,
  hint: 'Check encryption and key id of this backend, that the key is enabled, and that these credentials may use it.',
};
const CREDENTIALS: FaultMeaning = {
  code: 'storage/bad-credentials',
  says: 'does not accept the credentials',
  retryable: false,
  hint: 'Check access key and secret key of this backend (or what the SDK finds in environment, files and instance).',
};
const BUCKET: FaultMeaning = {
  code: 'storage/no-bucket',
  says: 'has no such bucket',
  retryable: false,
  hint: 'Create the bucket or correct its name; holdfast never creates one, for region and lock cannot be changed later.',
};
const REGION: FaultMeaning = {
  code: 'storage/wrong-region',
  says: 'keeps this bucket in another region',
  retryable: false,
  hint: 'Set the region of this backend to the one that the bucket was made in.',
};
const SKEW: FaultMeaning = {
  code: 'storage/clock-skew',
  says: 'finds the clock of this machine wrong',
  retryable: true,
  hint: 'Set the clock (NTP): S3 refuses requests that are more than 15 minutes off.',
};
export const CLOCKS_APART: FaultMeaning = {
  code: 'storage/clock-skew',
  says: 'tells a time that is more than a day ahead of this machine, so that the length of a retention is unknown',
  retryable: true,
  hint: 'Set both clocks (NTP). Nothing is written there meanwhile: a retention can never be shortened.',
};
const BUSY: FaultMeaning = {
  code: 'storage/busy',
  says: 'asks for fewer requests',
  retryable: true,
  hint: 'Lower the concurrency of this backend if it lasts; the archiver tries again with growing pauses.',
};
const FULL: FaultMeaning = {
  code: 'storage/full',
  says: 'has no space left',
  retryable: true,
  hint: 'Give that server or its quota more space; the archiver goes on by itself once there is room.',
};
const CONFLICT: FaultMeaning = {
  code: 'storage/conflict',
  says: 'saw another writer of the same object at the same moment',
  retryable: true,
  hint: 'Nothing to do: two archivers may share a bucket, and the next try settles it.',
};
const GONE: FaultMeaning = {
  code: 'storage/conflict',
  says: 'has not got the object any more',
  retryable: true,
  hint: 'It was deleted while it was read. Type the command again, and let nothing change that place meanwhile.',
};
const UPLOAD_GONE: FaultMeaning = {
  code: 'storage/conflict',
  says: 'has not got the unfinished upload any more, or not all of its parts',
  retryable: true,
  hint: 'Another run, or a rule of the bucket, ended it. Type the command again: it begins a new one.',
};
const ARCHIVED: FaultMeaning = {
  code: 'storage/archived',
  says: 'keeps it in an archive class that cannot be read directly',
  retryable: false,
  hint: 'Restore the object, and choose a storage class that can be read at once (not GLACIER, not DEEP_ARCHIVE).',
};

const MEANINGS: Readonly<Record<string, FaultMeaning>> = {
  NoSuchBucket: BUCKET,
  InvalidBucketName: BUCKET,
  PermanentRedirect: REGION,
  TemporaryRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  IllegalLocationConstraintException: REGION,
  InvalidAccessKeyId: CREDENTIALS,
  // versitygw's word for a key that it does not know (404).
  XAdminUserNotFound: CREDENTIALS,
  SignatureDoesNotMatch: CREDENTIALS,
  InvalidToken: CREDENTIALS,
  InvalidTokenId: CREDENTIALS,
  ExpiredToken: CREDENTIALS,
  CredentialsProviderError: CREDENTIALS,
  AccountProblem: CREDENTIALS,
  RequestTimeTooSkewed: SKEW,
  RequestExpired: SKEW,
  SlowDown: BUSY,
  // MinIO, of what has lost more of its parts than it can do without.
  SlowDownRead: UNREADABLE,
  SlowDownWrite: BUSY,
  ServiceUnavailable: BUSY,
  TooManyRequests: BUSY,
  ThrottlingException: BUSY,
  RequestLimitExceeded: BUSY,
  XMinioStorageFull: FULL,
  XMinioAdminBucketQuotaExceeded: FULL,
  QuotaExceeded: FULL,
  InsufficientCapacity: FULL,
  InsufficientStorage: FULL,
  ObjectLocked: LOCKED,
  InvalidObjectState: ARCHIVED,
  ConditionalRequestConflict: CONFLICT,
  OperationAborted: CONFLICT,
  PreconditionFailed: CONFLICT,
  NoSuchUpload: UPLOAD_GONE,
  InvalidPart: UPLOAD_GONE,
};
