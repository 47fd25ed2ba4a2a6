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

/** The store acknowledged the blob, and does not hold it as it should. */
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

/** The same for an object beside the blobs. For a deletion: the object is still there. */
export function objectNotKept(path: string, backend: string, found: 'missing' | 'damaged'): ArchiveError {
  const what = found === 'missing' ? 'says it has not got it' : 'gives something else';
  return new ArchiveError(
    'archive/not-kept',
    `The ${backend} store acknowledged ${path}, and ${what} when it is asked.`,
    {
      details: { backend, path, found },
      retryable: true,
      hint: 'It does not count as done there and is repeated. Look at that server, its disks and any cache before it.',
    },
  );
}

export function isNotKept(error: unknown): error is ArchiveError {
  return error instanceof ArchiveError && error.code === 'archive/not-kept';
}

export function isOtherBytes(error: unknown): boolean {
  return isNotKept(error) && error.details['found'] === 'damaged';
}
