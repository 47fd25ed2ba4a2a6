/**
 * The bare client of one kind of store in a process of its own, as cold as the archive's: a number of blobs of a size,
 * with a bounded number under way; put only, fetched back as well, or hashed besides, on one thread of its own; `lean`: all three of it with
 * nothing between the bytes and undici, so that what is left is the server's; `fill` puts below the archive's own names, and
 * `walk` lists them and gets each. Told by one line of JSON as its argument; prints one when it is done.
 */
import { GetObjectCommand, PutObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { create } from 'kubo-rpc-client';
import { Pool } from 'undici';
import { z } from 'zod';
import { blobCid } from '../../src/core/blob/cid.ts';
import { createNodeHasher, HashThread } from '../../src/hashing/index.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { blobMaker, oneBlobMaker, timed } from './by-turns.ts';
import { cpuSeconds } from './cpu-time.ts';

const told = z.object({
  endpoint: z.string(),
  bucket: z.string().nullable(),
  region: z.string(),
  accessKeyId: z.string(),
  secretAccessKey: z.string(),
  work: z.enum(['put', 'get', 'hash', 'lean', 'fill', 'walk']),
  sizeBytes: z.int(),
  count: z.int(),
  atOnce: z.int(),
});

interface Bare {
  put(blob: VerifiedBlob): Promise<unknown>;
  get(blob: VerifiedBlob): Promise<Uint8Array>;
}

function clientOf({ endpoint, region, accessKeyId, secretAccessKey }: z.infer<typeof told>): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** Lists everything and gets each object, page by page. Milliseconds. */
async function walk(one: z.infer<typeof told>, Bucket: string): Promise<number> {
  const client = clientOf(one);
  const begun = performance.now();
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket })) {
    await timed(Contents, one.atOnce, async ({ Key }) => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      await Body?.transformToByteArray();
    });
  }
  return performance.now() - begun;
}

/** Puts blobs where the archive would have put them. Milliseconds. */
async function fill(one: z.infer<typeof told>, Bucket: string): Promise<number> {
  const client = clientOf(one);
  const make = await oneBlobMaker();
  const numbers = Array.from({ length: one.count }, (_, index) => index);
  return await timed(numbers, one.atOnce, async () => {
    const { versionHash, bytes } = make(new Uint8Array(one.sizeBytes));
    await client.send(new PutObjectCommand({ Bucket, Key: `blobs/keccak256/${versionHash}`, Body: bytes }));
  });
}

function bareS3(one: z.infer<typeof told>, Bucket: string): Bare {
  const client = clientOf(one);
  const key = (blob: VerifiedBlob) => ({ Bucket, Key: `bare/${blob.versionHash}` });
  return {
    put: (blob) => client.send(new PutObjectCommand({ ...key(blob), Body: blob.bytes })),
    async get(blob) {
      const { Body } = await client.send(new GetObjectCommand(key(blob)));
      if (Body === undefined) throw new Error('an answer without a body');
      return await Body.transformToByteArray();
    },
  };
}

function bareKubo({ endpoint }: z.infer<typeof told>): Bare {
  const client = create({ url: endpoint });
  return {
    put: (blob) => client.block.put(blob.bytes, { mhtype: 'keccak-256', pin: true }),
    get: (blob) => client.block.get(blobCid(blob)),
  };
}

/** Boundary of the one file in a form that Kubo takes as a block. */
const BOUNDARY = 'bare-bench-of-holdfast';
const FORM_HEAD = Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="b"\r\n\r\n`);
const FORM_TAIL = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);

function leanKubo({ endpoint, atOnce }: z.infer<typeof told>): Bare {
  const pool = new Pool(endpoint, { connections: atOnce });
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  const ask = async (question: string, body: Buffer | null = null) => {
    const path = `/api/v0/${question}`;
    const answer = await pool.request({ path, method: 'POST', body, headers: body === null ? {} : headers });
    if (answer.statusCode !== 200) throw new Error(await answer.body.text());
    return await answer.body.bytes();
  };
  return {
    put: ({ bytes }) => {
      const body = Buffer.concat([FORM_HEAD, bytes, FORM_TAIL]);
      return ask('block/put?mhtype=keccak-256&cid-codec=raw&pin=true', body);
    },
    get: (blob) => ask(`block/get?arg=${blobCid(blob)}&offline=true`),
  };
}

/** Puts, gets or hashes new blobs of its own. Milliseconds, and the processor time from before them on. */
async function putAndGet(one: z.infer<typeof told>): Promise<readonly [number, number]> {
  const kubo = one.work === 'lean' ? leanKubo : bareKubo;
  const bare = one.bucket === null ? kubo(one) : bareS3(one, one.bucket);
  const blobs = (await blobMaker(one.count, one.sizeBytes))();
  const hashing = one.work === 'hash' || one.work === 'lean' ? new HashThread(await createNodeHasher()) : null;
  const cpuBefore = cpuSeconds();
  const milliseconds = await timed(blobs, one.atOnce, async (blob) => {
    await bare.put(blob);
    if (one.work === 'put') return;
    const bytes = await bare.get(blob);
    const { versionHash, hashType } = blob;
    if (hashing !== null && (await hashing.verify({ versionHash, hashType, bytes })) === null)
      throw new Error('other bytes');
  });
  const spent = cpuSeconds() - cpuBefore;
  await hashing?.stop();
  return [milliseconds, spent];
}

async function withBucket(one: z.infer<typeof told>): Promise<readonly [number, number]> {
  if (one.bucket === null) throw new Error('no bucket');
  const cpuBefore = cpuSeconds();
  const milliseconds = await (one.work === 'fill' ? fill : walk)(one, one.bucket);
  return [milliseconds, cpuSeconds() - cpuBefore];
}

const work = told.parse(JSON.parse(process.argv[2] ?? '{}'));
// The hashing thread keeps no process alive.
const alive = setInterval(() => {}, 60_000);
const isBucket = work.work === 'fill' || work.work === 'walk';
const [milliseconds, spent] = await (isBucket ? withBucket : putAndGet)(work);
process.stdout.write(`${JSON.stringify({ seconds: milliseconds / 1_000, cpuSeconds: spent })}\n`);
clearInterval(alive);
process.disconnect?.();
