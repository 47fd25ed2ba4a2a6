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

const NOT_KEPT = {
  missing: 'says it has not got it',
  damaged: 'gives something else',
  unpinned: 'does not pin it',
} as const;

/** The store acknowledged the object, and does not hold it as it should. Of a deletion: the object is still there. */
export function notKept(name: string, backend: string, found: keyof typeof NOT_KEPT): ArchiveError {
  return new ArchiveError(
    'archive/not-kept',
    `The ${backend} store acknowledged ${name}, and ${NOT_KEPT[found]} when it is asked again.`,
    {
      details: { backend, name, found },
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
