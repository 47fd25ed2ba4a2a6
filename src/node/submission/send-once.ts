import { encodeHex } from '../../core/blob/hex.ts';
import { parseVersionHash, type VersionHash } from '../../core/blob/ids.ts';
import type { Clock } from '../../core/time/clock.ts';
import { pause } from '../../core/time/run-loop.ts';
import { type BlobHasher, hashWith, nobleHasher } from '../../verify/hasher.ts';
import { wrongBlob } from '../blob-answer.ts';
import type { NodeClient } from '../client.ts';
import { NodeError } from '../errors.ts';
import type { CallOptions } from '../node-call.ts';
import { type CreateBlobOptions, createBlob } from '../operations/create-blob.ts';
import type { BlobInfo } from '../operations/get-blob.ts';
import { NEVER_ABORTED } from '../post.ts';
import { findBlob, type Submitted } from './sighting.ts';

export interface SendOptions extends CreateBlobOptions, CallOptions {
  /** Milliseconds between two polls. Default 2,000. */
  readonly pollMs?: number;
  /** Hash functions. Default: noble, which takes 60 ms for 2 MiB. */
  readonly hasher?: BlobHasher;
}

export const DEFAULT_POLL_MS = 2_000;
/** Milliseconds of polls for a blob whose answer was lost, and the fewest polls. */
const ARRIVAL = { ms: 60_000, minLooks: 3 } as const;
/** Milliseconds after which such a poll is given up, so that a node that hangs does not take the whole time. */
const MAX_LOOK_MS = 20_000;

/**
 * Sends a blob once. After a lost or garbled answer it polls whether the blob arrived, and calls `onLost`. It never sends the
 * blob again: the node goes on with a call whose client is gone, and such a call can wait behind others for minutes. A node
 * without the blob therefore does not show that the call failed, and a second call would make a second transaction.
 * @throws NodeError `node/submission-unknown` when the outcome stays unknown
 */
export async function sendOnce(
  client: NodeClient,
  bytes: Uint8Array,
  options: SendOptions,
  clock: Pick<Clock, 'steadyMs'>,
  onLost: (error: NodeError) => void,
): Promise<Submitted> {
  const hash = hashWith(options.hasher ?? nobleHasher, options.hashType ?? 'keccak256', bytes);
  const versionHash = parseVersionHash(encodeHex(hash));
  // The dialect is known from here on, so a later error is one of the submission itself.
  await client.release(options);
  const before = await findBlob(client, versionHash, options).catch((error: unknown) => {
    // A release without blobs: the submission itself will be refused.
    if (error instanceof NodeError && error.code === 'node/unsupported-operation') return null;
    throw error;
  });
  try {
    return await create(client, bytes, versionHash, options);
  } catch (error) {
    if (!mayHaveArrived(error)) throw error;
    onLost(error);
    // The cache had the blob already, so it does not show whether this submission made a transaction.
    if (before !== null && options.overwriteExisting !== false) throw unknownSubmission(versionHash, error);
    return { versionHash, txid: (await lookForArrival(client, versionHash, options, clock, error)).txid };
  }
}

async function create(
  client: NodeClient,
  bytes: Uint8Array,
  versionHash: VersionHash,
  options: SendOptions,
): Promise<Submitted> {
  const created = await createBlob(client, bytes, options);
  if (created.versionHash === versionHash) return { versionHash, txid: created.txid };
  throw wrongBlob('The node computed another version hash for the blob than Holdfast.', {
    versionHash,
    nodesVersionHash: created.versionHash,
  });
}

async function lookForArrival(
  client: NodeClient,
  versionHash: VersionHash,
  options: SendOptions,
  clock: Pick<Clock, 'steadyMs'>,
  lost: NodeError,
): Promise<BlobInfo> {
  const signal = options.signal ?? NEVER_ABORTED;
  const endMs = clock.steadyMs() + ARRIVAL.ms;
  for (let looks = 0; looks < ARRIVAL.minLooks || clock.steadyMs() < endMs; looks += 1) {
    await pause(options.pollMs ?? DEFAULT_POLL_MS, signal);
    const limit = AbortSignal.timeout(MAX_LOOK_MS);
    try {
      const found = await findBlob(client, versionHash, { ...options, signal: AbortSignal.any([signal, limit]) });
      if (found !== null) return found;
    } catch (error) {
      if (error === limit.reason) continue;
      if (!(error instanceof NodeError)) throw error;
      if (!error.retryable) throw unknownSubmission(versionHash, error);
    }
  }
  throw unknownSubmission(versionHash, lost);
}

function mayHaveArrived(error: unknown): error is NodeError {
  if (!(error instanceof NodeError)) return false;
  switch (error.code) {
    case 'node/connection-lost':
    case 'node/timeout':
    case 'node/malformed-answer':
    case 'node/wrong-blob':
    case 'node/closed':
      return true;
    default:
      return false;
  }
}

function unknownSubmission(versionHash: VersionHash, cause: NodeError): NodeError {
  return new NodeError(
    'node/submission-unknown',
    `It is unknown whether blob ${versionHash} was submitted: ${cause.message}`,
    {
      details: { versionHash },
      retryable: false,
      hint: 'The node may still be at work on the call. Search its list for the version hash in some minutes. If the list lacks it then, submit the blob again with --keep-existing (`overwriteExisting: false`).',
      cause,
    },
  );
}
