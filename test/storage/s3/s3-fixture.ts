import { randomBytes } from 'node:crypto';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { type S3Options, s3Options } from '../../../src/storage/s3/s3-options.ts';
import type { S3Server } from '../../servers/s3-server.ts';

export function bareClient(server: S3Server): S3Client {
  const { accessKeyId, secretAccessKey } = server;
  return new S3Client({
    endpoint: server.endpoint,
    region: server.region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** A new bucket, and what a store needs to reach it. */
export async function newBucket(server: S3Server, given: Partial<S3Options> = {}): Promise<S3Options> {
  const bucket = `test-${randomBytes(6).toString('hex')}`;
  const client = bareClient(server);
  await client.send(
    new CreateBucketCommand({
      Bucket: bucket,
      ...(given.objectLock === undefined || given.objectLock === null ? {} : { ObjectLockEnabledForBucket: true }),
    }),
  );
  client.destroy();
  const { accessKeyId, secretAccessKey, endpoint, region } = server;
  return s3Options({ bucket, endpoint, region, credentials: { accessKeyId, secretAccessKey }, ...given });
}

/** Writes over an object without asking the store: on the server's disk where it is ours, else by a plain put. */
export async function damage(server: S3Server, bucket: string, key: string, bytes: Uint8Array): Promise<void> {
  if (server.folder !== null) {
    // In place: the server keeps what it knows of the object, so that only the bytes are wrong, as after bit rot.
    const file = await open(join(server.folder, bucket, key), 'r+');
    await file.truncate(0);
    await file.write(bytes, 0, bytes.length, 0);
    await file.close();
    return;
  }
  const client = bareClient(server);
  await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes }));
  client.destroy();
}

/** Puts many small objects into a bucket: on the server's disk where it is ours, which takes hardly any time. */
export async function fill(server: S3Server, bucket: string, keys: readonly string[]): Promise<void> {
  const client = bareClient(server);
  for (const key of keys) {
    if (server.folder === null) {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: 'x' }));
    } else {
      const file = join(server.folder, bucket, key);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, 'x');
    }
  }
  client.destroy();
}
