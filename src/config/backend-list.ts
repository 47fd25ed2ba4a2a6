import { z } from 'zod';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { addressWithCredentials, bytes, httpAddress, oneOf, text, wholeNumber } from './setting.ts';

/**
 * Legal values of the S3 settings. They equal the types of the storage room, or `open-backends.ts` does not compile.
 */
export const S3_LAYOUTS = ['holdfast', 'sentinel'] as const;
export const S3_ADDRESSING = ['path', 'host'] as const;
export const S3_ENCRYPTION = ['AES256', 'aws:kms'] as const;
export const S3_LOCK_MODES = ['GOVERNANCE', 'COMPLIANCE'] as const;

/** Path prefix of every object in a bucket, without a slash at either end. */
export const bucketPrefix = z
  .string('must be text')
  .regex(/^([^/\\]([^\\]*[^/\\])?)?$/, 'must be a path like archive/main, without slashes around it');

const id = z
  .string('must be text')
  .regex(/^[a-z0-9][a-z0-9:._-]{0,63}$/, 'must be a short name in small letters, digits, : . _ -')
  .refine((name) => name !== 'local', 'must not be local, which is the data folder');

const secretText = text.nullable().default(null);

/** The rule of which blobs a backend takes: all of them, unless one of these is given. */
const ruleFields = {
  maxBlobBytes: bytes(1, MAX_BLOB_BYTES).nullable().default(null),
  allowFile: text.nullable().default(null),
};

const s3Backend = z.strictObject({
  kind: z.literal('s3'),
  id,
  ...ruleFields,
  endpoint: httpAddress.nullable().default(null),
  region: text.default('us-east-1'),
  bucket: text,
  prefix: bucketPrefix.default(''),
  layout: oneOf(S3_LAYOUTS).default('holdfast'),
  addressing: oneOf(S3_ADDRESSING).nullable().default(null),
  accessKeyId: text.nullable().default(null),
  secretAccessKey: secretText,
  /** Path of a file that holds the secret access key, so that the configuration file holds no secret. */
  secretAccessKeyFile: text.nullable().default(null),
  encryption: oneOf(S3_ENCRYPTION).nullable().default(null),
  encryptionKeyId: text.nullable().default(null),
  storageClass: text.nullable().default(null),
  objectLockDays: wholeNumber(1, 36_500).nullable().default(null),
  objectLockMode: oneOf(S3_LOCK_MODES).default('GOVERNANCE'),
});

const ipfsBackend = z
  .strictObject({
    kind: z.literal('ipfs'),
    id,
    ...ruleFields,
    apiUrl: addressWithCredentials.nullable().default(null),
    /** Path of a file that holds the address, for an address with a password. */
    apiUrlFile: text.nullable().default(null),
  })
  .refine(({ apiUrl, apiUrlFile }) => (apiUrl === null) !== (apiUrlFile === null), 'must have apiUrl or apiUrlFile');

/** Backends beyond the one of each kind that the plain settings name. */
export const backendList = z
  .array(z.discriminatedUnion('kind', [s3Backend, ipfsBackend], 'must have a kind: s3 or ipfs'), 'must be a list')
  .max(16, 'names more than 16 backends');

export type BackendSettings = z.output<typeof backendList>[number];
