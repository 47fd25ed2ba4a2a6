import type { S3Bucket } from '../storage/s3/s3-bucket.ts';

const CHUNK_BYTES = 4_194_304;

/**
 * The bytes of one object, piece by piece, the next one under way while one is taken.
 * @throws StorageError, also where the object is replaced meanwhile
 */
export async function* bucketChunks(
  bucket: Pick<S3Bucket, 'range'>,
  name: string,
  sizeBytes: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (sizeBytes === 0) return;
  const read = (begin: number, etag: string | null) =>
    bucket.range(name, { begin, length: Math.min(CHUNK_BYTES, sizeBytes - begin), etag }, signal);
  const first = await read(0, null);
  let chunk = first.body;
  for (let end = chunk.length; ; end += chunk.length) {
    const next = end < sizeBytes ? read(end, first.etag) : null;
    // The consumer may leave, or take its time: until then a failure has no waiting caller.
    next?.catch(() => undefined);
    yield chunk;
    if (next === null) return;
    chunk = (await next).body;
  }
}
