import { createHash } from 'node:crypto';
import type { PutObjectCommandInput, ServerSideEncryption, StorageClass } from '@aws-sdk/client-s3';
import { z } from 'zod';
import type { S3Options } from './s3-options.ts';

/** Other servers have classes of their own names; the SDK sends what it is given. */
const anyClass = z.custom<StorageClass>((value) => typeof value === 'string');
const DAY_MS = 86_400_000;

/**
 * The operator's options for every written object, as PutObject parameters.
 * @param lockFromMs beginning of the retention; null: the object is not retained
 */
export function putOptions(
  options: S3Options,
  body: Uint8Array,
  lockFromMs: number | null,
): Partial<PutObjectCommandInput> {
  const { encryption, storageClass, objectLock } = options;
  return {
    ...(encryption === null ? {} : encryptionOf(encryption)),
    ...(storageClass === null ? {} : { StorageClass: anyClass.parse(storageClass) }),
    ...(objectLock === null || lockFromMs === null
      ? {}
      : {
          ObjectLockMode: objectLock.mode,
          ObjectLockRetainUntilDate: new Date(lockFromMs + objectLock.days * DAY_MS),
          // S3 refuses a locked object without a checksum; MD5 is the one that every server knows.
          ContentMD5: createHash('md5').update(body).digest('base64'),
        }),
  };
}

function encryptionOf(encryption: NonNullable<S3Options['encryption']>): Partial<PutObjectCommandInput> {
  const ServerSideEncryption: ServerSideEncryption = encryption.algorithm;
  if (encryption.keyId === null) return { ServerSideEncryption };
  return { ServerSideEncryption, SSEKMSKeyId: encryption.keyId };
}
