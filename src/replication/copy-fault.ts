import type { ContentEntry } from '../catalog/content-table.ts';
import { ArchiveError } from '../core/archive-errors.ts';

/** `faults`: how many places could not say whether they have it. */
export function noSource(entry: ContentEntry, backend: string, faults: number): ArchiveError {
  const why = faults > 0 ? `${faults} other places cannot answer now` : 'no other place has a good copy now';
  return new ArchiveError('archive/no-good-copy', `${entry.versionHash} cannot go to ${backend}: ${why}.`, {
    details: { backend, versionHash: entry.versionHash },
    retryable: true,
    hint: 'It is tried again; the node is asked for it while it has it. `holdfast check` lists what is missing.',
  });
}

/** It was acknowledged, and is not there as it should be. */
export function notKept(entry: ContentEntry, backend: string, found: 'good' | 'missing' | 'damaged'): ArchiveError {
  const what = { good: 'does not pin', missing: 'says it has not got', damaged: 'gives other bytes than' }[found];
  return new ArchiveError(
    'archive/not-kept',
    `The ${backend} store acknowledged ${entry.versionHash}, and ${what} it when it is asked again.`,
    {
      details: { backend, versionHash: entry.versionHash, found },
      retryable: true,
      hint: 'It does not count as stored there and is put again. Look at that server, its disks and any cache before it.',
    },
  );
}

export function isOtherBytes(error: unknown): boolean {
  return error instanceof ArchiveError && error.code === 'archive/not-kept' && error.details['found'] === 'damaged';
}
