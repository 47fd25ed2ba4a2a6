import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AtEnd, atEndOfTest } from './cleanup.ts';

/** Linux keeps files in memory here. */
const MEMORY = '/dev/shm';
/** Bytes that memory must have to spare, as a volume and by itself: what tests keep at a time is a fraction of it. */
const SPARE_BYTES = 8 * 2 ** 30;
const NAME = 'holdfast-test-';

/**
 * A new folder, which goes away at the end. It is in memory where there is plenty: a test kills processes and never takes
 * the power away, so that a disk would only make every sync wait.
 */
export function temporaryFolder(atEnd: AtEnd = atEndOfTest): string {
  return madeIn(hasPlenty() ? MEMORY : tmpdir(), atEnd);
}

/** The same on a disk, for a test that bounds or measures memory. */
export function folderOnDisk(atEnd: AtEnd = atEndOfTest): string {
  return madeIn(tmpdir(), atEnd);
}

function madeIn(parent: string, atEnd: AtEnd): string {
  const folder = mkdtempSync(join(parent, NAME));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function hasPlenty(): boolean {
  if (process.availableMemory() < SPARE_BYTES) return false;
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= SPARE_BYTES;
  } catch {
    return false;
  }
}
