import { CUT_CODES, mayBeOneObject, StorageError } from '../errors.ts';
import type { PutOutcome, ReadObject, S3Bucket } from './s3-bucket.ts';

export interface SafePut {
  readonly name: string;
  readonly body: Uint8Array;
  readonly contentType: string;
  /** Reports whether an existing object has the same content. The encoding may differ (hex in capitals). */
  readonly isSame: (body: Uint8Array) => boolean;
  /** Limit of the bytes that are read of an existing object. */
  readonly limitBytes: number;
  /** Retained for as long as the operator gave, if at all. */
  readonly lock: boolean;
  /** Below `damaged/`, where other bytes are copied before these replace them. null: what is replaced is not kept. */
  readonly aside: string | null;
}

/** Other writers and their replacements may come between; they end, for all write the same. */
const ROUNDS = 3;

/**
 * Writes where nothing is; where something is, it is fetched and compared, and replaced when it is not the same. So a
 * good object is never written again, a wrong one never taken for success, and the key is never absent meanwhile. What
 * the server has and does not give, twice, is replaced as a wrong one is.
 */
export async function putSafely(bucket: S3Bucket, put: SafePut, signal: AbortSignal): Promise<void> {
  const about = { contentType: put.contentType, lock: put.lock };
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = await putIfAbsent(bucket, put, signal);
    if (first === 'written') return;
    const there = await lookAt(bucket, put, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      // The original failure was the cut put, even when the existing object cannot be read.
      throw first instanceof StorageError ? first : error;
    });
    const found = there === 'unreadable' ? null : there;
    if (found !== null && put.isSame(found.body)) return;
    if (first instanceof StorageError && there === null) throw first;
    if (first === 'condition failed' && there === null) continue;
    if (put.aside !== null) await setAside(bucket, put.name, `damaged/${put.aside}`, found, signal);
    // The object is unnamed, or the server supports no conditions: Holdfast's bytes are proven, so replacing can only
    // repair.
    const condition = first === 'condition refused' || found === null ? null : { etag: found.etag };
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

/** MinIO keeps to its word that the key is there (412), and cannot give what its disk has lost part of (measured). */
async function lookAt(bucket: S3Bucket, put: SafePut, signal: AbortSignal): Promise<ReadObject | 'unreadable' | null> {
  for (let reads = 0; reads < 2; reads += 1) {
    try {
      return await bucket.get(put.name, put.limitBytes, signal);
    } catch (error) {
      if (!mayBeOneObject(error)) throw error;
    }
  }
  return 'unreadable';
}

/** Copies an existing object aside before it is replaced. The same damage again makes the same copy. */
async function setAside(
  bucket: S3Bucket,
  name: string,
  folder: string,
  seen: ReadObject | null,
  signal: AbortSignal,
): Promise<void> {
  try {
    // A server that returns a part of an object may still be able to copy it.
    const found = seen ?? (await bucket.get(name, 1, signal));
    if (found !== null) await bucket.copy(name, `${folder}/${found.etag.replace(/[^0-9A-Za-z-]/g, '')}`, signal);
  } catch (error) {
    // A server that has an object and cannot return it cannot copy it either.
    if (!mayBeOneObject(error)) throw error;
  }
}

/** Writes where no object exists; an existing object, right or wrong, stays unchanged. */
export async function putWhereNothingIs(bucket: S3Bucket, put: SafePut, signal: AbortSignal): Promise<void> {
  const outcome = await putIfAbsent(bucket, put, signal);
  if (outcome === 'written' || outcome === 'condition failed') return;
  const isCut = outcome instanceof StorageError;
  const there = await bucket.size(put.name, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw isCut ? outcome : error;
  });
  if (there !== null) return;
  if (isCut) throw outcome;
  // A server that knows no conditions.
  await bucket.put(put.name, put.body, { contentType: put.contentType, lock: put.lock, condition: null }, signal);
}

/**
 * A cut connection comes back as an outcome: it tells nothing. A server may refuse a large body (412) before it has read
 * it, and close; the writer sees the reset and not the answer (versitygw 1.8, measured). Or it wrote, and the answer was
 * lost. So the caller looks.
 */
async function putIfAbsent(bucket: S3Bucket, put: SafePut, signal: AbortSignal): Promise<PutOutcome | StorageError> {
  const about = { contentType: put.contentType, lock: put.lock, condition: 'absent' } as const;
  try {
    return await bucket.put(put.name, put.body, about, signal);
  } catch (error) {
    if (error instanceof StorageError && CUT_CODES.has(error.details['systemCode'])) return error;
    throw error;
  }
}
