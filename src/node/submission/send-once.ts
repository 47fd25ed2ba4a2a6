import { encodeHex } from '../../core/blob/hex.ts';
import { parseVersionHash, type VersionHash } from '../../core/blob/ids.ts';
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
/** Answers of the node that it lacks the blob, before the blob is sent again. */
const LOOKS = 3;
/** Most polls, answered or not. */
const QUESTIONS = 30;

/**
 * Submits a blob once, even over a failing connection: after a lost or garbled answer it polls whether the blob arrived. Calls
 * `onLost` then.
 * @throws NodeError `node/submission-unknown` when the outcome stays unknown
 */
export async function sendOnce(
  client: NodeClient,
  bytes: Uint8Array,
  options: SendOptions,
  onLost: (error: NodeError) => void,
): Promise<Submitted> {
  const hash = hashWith(options.hasher ?? nobleHasher, options.hashType ?? 'keccak256', bytes);
  const versionHash = parseVersionHash(encodeHex(hash));
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
    // With `overwriteExisting: false` the node makes no second transaction for a blob in its cache.
    if (before !== null && options.overwriteExisting !== false) throw unknownSubmission(versionHash, error);
    const found = await lookForArrival(client, versionHash, options, error);
    if (found !== null) return { versionHash, txid: found.txid };
  }
  try {
    return await create(client, bytes, versionHash, { ...options, overwriteExisting: false });
  } catch (error) {
    throw mayHaveArrived(error) ? unknownSubmission(versionHash, error) : error;
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
  lost: NodeError,
): Promise<BlobInfo | null> {
  let denied = 0;
  for (let asked = 0; asked < QUESTIONS && denied < LOOKS; asked += 1) {
    await pause(options.pollMs ?? DEFAULT_POLL_MS, options.signal ?? NEVER_ABORTED);
    try {
      const found = await findBlob(client, versionHash, options);
      if (found !== null) return found;
      denied += 1;
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      if (!error.retryable) throw unknownSubmission(versionHash, error);
    }
  }
  if (denied < LOOKS) throw unknownSubmission(versionHash, lost);
  return null;
}

function mayHaveArrived(error: unknown): error is NodeError {
  if (!(error instanceof NodeError)) return false;
  switch (error.code) {
    case 'node/connection-lost':
    case 'node/timeout':
    case 'node/malformed-answer':
    case 'node/body-too-large':
      return true;
    case 'node/not-a-node': {
      // The look before found a node there, so the page is of a proxy. A redirect or a refusal reached no node.
      const status = Number(error.details['status']);
      return !(status >= 300 && status < 500);
    }
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
      hint: 'Search the node’s list for the version hash later. Submit the blob again only if the list lacks it.',
      cause,
    },
  );
}
