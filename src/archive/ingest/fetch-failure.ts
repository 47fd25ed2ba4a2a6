import { codeOf, messageOf } from '../../blob/errors.ts';
import type { FetchFailure, WantedBlob } from '../../catalog/wanted-table.ts';
import type { UnverifiedBlob } from '../../verify/verified-blob.ts';
import { ArchiveError } from '../errors.ts';

/** A blob that did not come, and why. */
export type FailedFetch = readonly [wanted: WantedBlob, error: Error];

/** As the catalog keeps it. */
export function failureRecord([wanted, error]: FailedFetch, nextAttemptMs: number): FetchFailure {
  const code = codeOf(error) ?? 'archive/unexpected';
  return { versionHash: wanted.versionHash, code, message: messageOf(error), nextAttemptMs };
}

export function absentAtNode(wanted: WantedBlob): ArchiveError {
  return new ArchiveError(
    'archive/absent-at-node',
    `The node listed ${wanted.versionHash}, but answers it has not got it.`,
    {
      retryable: true,
      hint: 'An unconfirmed blob can be dropped or replaced; otherwise ask another node before the window closes.',
    },
  );
}

export function isAbsentAtNode(error: Error): boolean {
  return error instanceof ArchiveError && error.code === 'archive/absent-at-node';
}

export function wrongBytes(wanted: WantedBlob, blob: UnverifiedBlob): ArchiveError {
  const hashes = wanted.hashType === null ? 'neither by keccak256 nor by blake2s256' : `not by ${wanted.hashType}`;
  const said = wanted.hashType === null ? '' : ', which is what the chain commits to';
  return new ArchiveError(
    'archive/wrong-bytes',
    `The node gave ${blob.bytes.length} bytes for ${wanted.versionHash} that hash to it ${hashes}${said}.`,
    { retryable: true, hint: 'Look at the node: its cache or the way to it damages bytes. It is asked again.' },
  );
}
