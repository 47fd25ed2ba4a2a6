import type { FetchFailure, QueuedBlob } from '../catalog/seen-table.ts';
import { ArchiveError } from '../core/archive-errors.ts';
import { codeOf, messageOf } from '../core/blob/errors.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';

/** A blob that did not come, and why. */
export type FailedFetch = readonly [wanted: QueuedBlob, error: Error];

/** A failed fetch as the catalog records it. */
export function failureRecord([wanted, error]: FailedFetch, nextAttemptMs: number | null): FetchFailure {
  const code = codeOf(error) ?? 'archive/unexpected';
  return { versionHash: wanted.versionHash, code, message: messageOf(error), nextAttemptMs };
}

export function absentAtNode({ versionHash, hashType }: QueuedBlob): ArchiveError {
  const isOnChain = hashType !== null;
  return new ArchiveError(
    'archive/absent-at-node',
    `${isOnChain ? `A block names ${versionHash}` : `The node listed ${versionHash}`}, but the node answers that it has not got it.`,
    {
      retryable: true,
      hint: isOnChain
        ? 'A node that was down takes blocks in without their bytes: name another one before the window closes, or a source for `holdfast backfill`.'
        : 'An unconfirmed blob can be dropped or replaced; it is asked for again as long as it is listed.',
    },
  );
}

export function isAbsentAtNode(error: Error): boolean {
  return error instanceof ArchiveError && error.code === 'archive/absent-at-node';
}

export function wrongBytes(wanted: QueuedBlob, blob: UnverifiedBlob): ArchiveError {
  const hashes = wanted.hashType === null ? 'neither by keccak256 nor by blake2s256' : `not by ${wanted.hashType}`;
  const said = wanted.hashType === null ? '' : ', which is what the chain commits to';
  return new ArchiveError(
    'archive/wrong-bytes',
    `The node gave ${blob.bytes.length} bytes for ${wanted.versionHash} that hash to it ${hashes}${said}.`,
    { retryable: true, hint: 'Look at the node: its cache or the way to it damages bytes. It is asked again.' },
  );
}
