import { type Clock, SYSTEM_CLOCK } from '../../core/time/clock.ts';
import type { Layout } from '../object-store.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * Retention of written objects, during which no user can delete them. The bucket must have been made with object lock.
 */
export interface ObjectLock {
  readonly mode: 'GOVERNANCE' | 'COMPLIANCE';
  readonly days: number;
}

export interface S3Options {
  /** Stable name of this backend, for records and messages: `s3`, `s3:offsite`. */
  readonly id: string;
  readonly bucket: string;
  readonly region: string;
  /** null: AWS itself. */
  readonly endpoint: string | null;
  /** Below which everything lies, without slashes around; empty: the bucket's root. */
  readonly prefix: string;
  readonly layout: Layout;
  /** `{hashType}` and `{versionHash}` are replaced; for the holdfast layout only. */
  readonly keyTemplate: string;
  /** `path`: `<endpoint>/<bucket>/<key>`, as most servers that are not AWS want it. */
  readonly addressing: 'path' | 'host';
  /** A function is asked for each question. null: the SDK's own chain (environment, shared files, container, instance). */
  readonly credentials: S3Credentials | (() => S3Credentials) | null;
  readonly encryption: { readonly algorithm: 'AES256' | 'aws:kms'; readonly keyId: string | null } | null;
  readonly storageClass: string | null;
  readonly objectLock: ObjectLock | null;
  /** Sockets at most. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** For one question with its whole body. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

export const DEFAULT_KEY_TEMPLATE = 'blobs/{hashType}/{versionHash}';

/** Fills in the options that most backends leave at their default. */
export function s3Options(given: Pick<S3Options, 'bucket'> & Partial<S3Options>): S3Options {
  return {
    id: 's3',
    region: 'us-east-1',
    endpoint: null,
    prefix: '',
    layout: 'holdfast',
    keyTemplate: DEFAULT_KEY_TEMPLATE,
    addressing: (given.endpoint ?? null) === null ? 'host' : 'path',
    credentials: null,
    encryption: null,
    storageClass: null,
    objectLock: null,
    clock: SYSTEM_CLOCK,
    connections: 32,
    connectTimeoutMs: 5_000,
    timeoutMs: 60_000,
    ...given,
  };
}

/**
 * Identifies the place of all objects: the server, the bucket and the path in it. AWS bucket names are unique over all
 * regions.
 */
export function s3Place({ endpoint, bucket, prefix }: S3Options): string {
  const server = endpoint === null ? 'aws' : new URL(endpoint).href.replace(/\/+$/, '');
  return [server, bucket, ...(prefix === '' ? [] : [prefix])].join('/');
}

/** For messages: never has credentials. */
export function placeOf({ endpoint, region, bucket }: S3Options): string {
  if (endpoint === null) return `s3://${bucket} (AWS ${region})`;
  const url = new URL(endpoint);
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, '')}/${bucket}`;
}
