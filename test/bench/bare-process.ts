/**
 * The bare client of one kind of store in a process of its own, as cold as the archive's: puts and fetches back so many
 * blobs of a size, so many at a time. Told by one line of JSON as its argument; prints one when it is done.
 */
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { create } from 'kubo-rpc-client';
import { z } from 'zod';
import { blobCid } from '../../src/blob/cid.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { blobMaker, timed } from './by-turns.ts';

const told = z.object({
  endpoint: z.string(),
  bucket: z.string().nullable(),
  region: z.string(),
  accessKeyId: z.string(),
  secretAccessKey: z.string(),
  sizeBytes: z.int(),
  count: z.int(),
  atOnce: z.int(),
});

interface Bare {
  put(blob: VerifiedBlob): Promise<unknown>;
  get(blob: VerifiedBlob): Promise<unknown>;
}

function bareS3({ endpoint, region, accessKeyId, secretAccessKey }: z.infer<typeof told>, Bucket: string): Bare {
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const key = (blob: VerifiedBlob) => ({ Bucket, Key: `bare/${blob.versionHash}` });
  return {
    put: (blob) => client.send(new PutObjectCommand({ ...key(blob), Body: blob.bytes })),
    get: async (blob) => (await client.send(new GetObjectCommand(key(blob)))).Body?.transformToByteArray(),
  };
}

function bareKubo({ endpoint }: z.infer<typeof told>): Bare {
  const client = create({ url: endpoint });
  return {
    put: (blob) => client.block.put(blob.bytes, { mhtype: 'keccak-256', pin: true }),
    get: (blob) => client.block.get(blobCid(blob)),
  };
}

const work = told.parse(JSON.parse(process.argv[2] ?? '{}'));
const bare = work.bucket === null ? bareKubo(work) : bareS3(work, work.bucket);
const newBlobs = await blobMaker(work.count, work.sizeBytes);
const both = await timed(newBlobs(), work.atOnce, async (blob) => {
  await bare.put(blob);
  await bare.get(blob);
});
const put = await timed(newBlobs(), work.atOnce, bare.put);
process.stdout.write(`${JSON.stringify({ bothMs: both, putMs: put })}\n`);
process.disconnect?.();
