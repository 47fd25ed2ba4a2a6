import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AtEnd, atEndOfTest } from './cleanup.ts';
import { nameOfMine } from './left-folders.ts';
import { temporaryParent } from './temporary-parent.ts';

/**
 * A new folder, which goes away at the end. It is in memory where there is plenty: a test kills processes and never takes
 * the power away, so that a disk would only make every sync wait.
 */
export function temporaryFolder(atEnd: AtEnd = atEndOfTest): string {
  return madeIn(temporaryParent(), atEnd);
}

/** The same on a disk, for a test that bounds or measures memory. */
export function folderOnDisk(atEnd: AtEnd = atEndOfTest): string {
  return madeIn(tmpdir(), atEnd);
}

function madeIn(parent: string, atEnd: AtEnd): string {
  const folder = mkdtempSync(join(parent, nameOfMine('test')));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
