import { accessSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Linux keeps files in memory here. */
const MEMORY = '/dev/shm';
/** Bytes that memory must have to spare, as a volume and by itself: what tests keep at a time is a fraction of it. */
const SPARE_BYTES = 8 * 2 ** 30;

let isMemoryUsable: boolean | null = null;

/** The folder for temporary ones: in memory where there is plenty, else the one of the system. */
export function temporaryParent(): string {
  if (!hasPlenty()) return tmpdir();
  isMemoryUsable ??= takesPrograms(MEMORY);
  return isMemoryUsable ? MEMORY : tmpdir();
}

/** Reports whether this user may make files there and run them. Containers mount memory without programs (`noexec`), or read-only. */
export function takesPrograms(parent: string): boolean {
  let folder: string | null = null;
  try {
    folder = mkdtempSync(join(parent, 'holdfast-probe-'));
    const program = join(folder, 'program');
    writeFileSync(program, '', { mode: 0o700 });
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
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
