import { StorageError } from '../errors.ts';
import type { S3Bucket } from './s3-bucket.ts';

export interface SafePut {
  readonly name: string;
  readonly body: Uint8Array;
  readonly contentType: string;
  /** Is what lies there the same content? It may be written in another way (hex in capitals). */
  readonly isSame: (body: Uint8Array) => boolean;
  /** More than this is never read of what lies there. */
  readonly limitBytes: number;
}

/** Other writers and their replacements may come between; they end, for all write the same. */
const ROUNDS = 3;

/**
 * Writes where nothing is; where something is, it is fetched and compared, and replaced when it is not the same. So a
 * good object is never written again, a wrong one never taken for success, and the key is never absent meanwhile.
 */
export async function putSafely(bucket: S3Bucket, put: SafePut, signal: AbortSignal): Promise<void> {
  const about = { contentType: put.contentType, lock: true };
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = await bucket.put(put.name, put.body, { ...about, condition: 'absent' }, signal);
    if (first === 'written') return;
    const there = await bucket.get(put.name, put.limitBytes, signal);
    if (there !== null && put.isSame(there.body)) return;
    // A server that knows no conditions: our bytes are proven, so that replacing can only mend.
    const condition = first === 'condition refused' || there === null ? null : { etag: there.etag };
    if (first === 'condition failed' && there === null) continue;
    const second = await bucket.put(put.name, put.body, { ...about, condition }, signal);
    if (second === 'written') return;
    if (second === 'condition refused') {
      await bucket.put(put.name, put.body, { ...about, condition: null }, signal);
      return;
    }
  }
  throw new StorageError(
    'storage/conflict',
    `The ${bucket.id} store at ${bucket.where} neither takes nor shows ${put.name}: it says that something is there.`,
    {
      details: { backend: bucket.id, operation: 'put', where: bucket.where, key: put.name },
      retryable: true,
      hint: 'Other writers or a listing that lags can do that for a moment; if it stays, that server is not consistent.',
    },
  );
}
