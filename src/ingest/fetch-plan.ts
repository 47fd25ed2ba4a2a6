import type { QueuedBlob } from '../catalog/seen-table.ts';
import { MAX_BLOB_BYTES, MIN_BLOB_BYTES } from '../core/blob/limits.ts';
import { BACKOFF, backoffMs } from '../core/time/backoff.ts';

/** Bounds of one request to the node. */
export interface BatchLimits {
  /** Blobs in one JSON-RPC batch: each costs the node about 60 ms under its main lock. */
  readonly blobs: number;
  /** Bytes of all blobs in one batch, by the sizes that the list gave; a larger blob is asked for alone. */
  readonly bytes: number;
}

export const BATCH_LIMITS: BatchLimits = { blobs: 32, bytes: 262_144 };

/**
 * Takes the next request's blobs off the front: one, or as many small neighbours as one batch may carry. A blob that
 * failed before goes alone: it may be what broke the request that the others were in; as does one with a size that no
 * blob has, for the answer may have any length.
 */
export function takeBatch(queue: QueuedBlob[], limits: BatchLimits): QueuedBlob[] {
  const batch: QueuedBlob[] = [];
  let bytes = 0;
  for (let next = queue[0]; next !== undefined; next = queue[0]) {
    const goesAlone = next.attempts > 0 || !isSizeAllowed(next.sizeBytes);
    const fits = batch.length < limits.blobs && bytes + next.sizeBytes <= limits.bytes && !goesAlone;
    if (batch.length > 0 && !fits) break;
    batch.push(next);
    bytes += next.sizeBytes;
    queue.shift();
    if (goesAlone) break;
  }
  return batch;
}

function isSizeAllowed(sizeBytes: number): boolean {
  return sizeBytes >= MIN_BLOB_BYTES && sizeBytes <= MAX_BLOB_BYTES;
}

/** Share of the remaining time that may pass before the next attempt. */
const SHARE_OF_WINDOW = 0.1;

/**
 * When a blob that failed `attempts` times before is tried again; jittered, so that failures do not march in step.
 * `leftMs`: until its deadline; there is time for several more tries, however near that is. 0: it is over, or not known.
 */
export function nextAttemptMs(attempts: number, nowMs: number, leftMs: number, random: () => number): number {
  const { firstMs, maxMs } = BACKOFF.blob;
  const share = leftMs > 0 ? Math.max(firstMs, leftMs * SHARE_OF_WINDOW) : maxMs;
  return nowMs + backoffMs({ firstMs, maxMs: Math.min(maxMs, share) }, attempts + 1, random);
}
