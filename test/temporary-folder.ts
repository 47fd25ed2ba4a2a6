import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AtEnd, atEndOfTest } from './cleanup.ts';

/** A new folder, which goes away at the end. */
export function temporaryFolder(atEnd: AtEnd = atEndOfTest): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
