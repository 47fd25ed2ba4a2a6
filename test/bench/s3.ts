import { GetObjectCommand, PutObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { listBlobs } from '../../src/storage/object-store.ts';
import { S3Store } from '../../src/storage/s3/s3-store.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { startS3Server } from '../servers/s3-server.ts';
import { bareClient, newBucket } from '../storage/s3/s3-fixture.ts';
import { blobMaker, memoryOf, shareOf, timed } from './by-turns.ts';
import type { Figure } from './figure.ts';

const SIZES = [
  { name: '2 MiB', sizeBytes: 2_097_152, count: 24, atOnce: 4 },
  { name: '1 KiB', sizeBytes: 1_024, count: 400, atOnce: 16 },
];
const LISTED = 5_000;
const LEAST = 0.8;

/** The store against the bare SDK on the same real server, with the same concurrency. */
export async function benchS3(): Promise<Figure[]> {
  const server = await startS3Server();
  const bare = bareClient(server);
  const { signal } = new AbortController();
  const figures: Figure[] = [];
  const share = (name: string, value: number) => figures.push({ name, value, unit: 'of the bare SDK', least: LEAST });
  try {
    const alone = await S3Store.open(await newBucket(server));
    figures.push(await memoryOf('s3', alone));
    await alone.close();
    for (const { name, sizeBytes, count, atOnce } of SIZES) {
      const newBlobs = await blobMaker(count, sizeBytes);
      const options = await newBucket(server);
      const store = await S3Store.open(options);
      const key = (blob: VerifiedBlob) => ({ Bucket: options.bucket, Key: `bare/${blob.versionHash}` });
      const putBare = async (blob: VerifiedBlob) => bare.send(new PutObjectCommand({ ...key(blob), Body: blob.bytes }));
      const getBare = async (blob: VerifiedBlob) =>
        (await bare.send(new GetObjectCommand(key(blob)))).Body?.transformToByteArray();
      const ours = () => timed(newBlobs(), atOnce, (blob) => store.put(blob, 'replace', signal));
      const limit = () => timed(newBlobs(), atOnce, putBare);
      share(`s3: put of ${name}`, await shareOf(ours, limit));

      const blobs = newBlobs();
      await timed(blobs, atOnce, async (blob) => Promise.all([store.put(blob, 'replace', signal), putBare(blob)]));
      const read = await shareOf(
        () => timed(blobs, atOnce, (blob) => store.get(blob, signal)),
        () => timed(blobs, atOnce, getBare),
      );
      share(`s3: get of ${name}`, read);
      await store.close();
    }

    const options = await newBucket(server);
    const store = await S3Store.open(options);
    await timed((await blobMaker(LISTED, 64))(), 16, (blob) => store.put(blob, 'replace', signal));
    const listOurs = async () => {
      const start = performance.now();
      let seen = 0;
      for await (const _ of listBlobs(store, signal)) seen += 1;
      if (seen !== LISTED) throw new Error(`${seen} listed`);
      return performance.now() - start;
    };
    const listBare = async () => {
      const start = performance.now();
      let seen = 0;
      for await (const page of paginateListObjectsV2({ client: bare }, { Bucket: options.bucket, Prefix: 'blobs/' })) {
        seen += page.Contents?.length ?? 0;
      }
      if (seen !== LISTED) throw new Error(`${seen} listed`);
      return performance.now() - start;
    };
    share(`s3: listing of ${LISTED} objects`, await shareOf(listOurs, listBare));
    await store.close();
    return figures;
  } finally {
    bare.destroy();
    await server.stop();
  }
}
