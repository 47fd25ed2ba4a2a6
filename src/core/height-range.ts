import { ArchiveError } from './archive-errors.ts';

/** Both ends belong to it. */
export interface HeightRange {
  readonly from: number;
  readonly to: number;
}

/** @throws ArchiveError `archive/bad-range` when both ends are named, and the first is above the last. */
export function assertUpright(from: number | null, to: number | null): void {
  if (from === null || to === null || from <= to) return;
  throw new ArchiveError('archive/bad-range', `A range does not go from height ${from} to ${to}.`, {
    details: { from, to },
    retryable: false,
    hint: 'Give the lower height first.',
  });
}
