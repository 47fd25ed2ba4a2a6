import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';

/** What the process makes from now on, SQLite's files included, is its user's alone. */
export const OWNER_UMASK = 0o077;
const OTHERS = 0o077;

/**
 * Takes from everybody else what the data folder gives them: a lock that another user holds on a file stops the archive,
 * and to lock it he only has to be able to open it. The folder, what lies in it, and the rows of small blobs; what lies
 * deeper is behind folders that nobody else can enter. Gives what is another user's, as a mounted volume's root is, and
 * stays as it is.
 */
export function closeToOthers(folder: string): string[] {
  const left: string[] = [];
  const close = (path: string) => {
    const mode = closeOne(path);
    if (mode !== null) left.push(`${path} (mode ${mode})`);
  };
  close(folder);
  for (const inside of [folder, join(folder, 'blobs')]) {
    for (const name of namesIn(inside)) close(join(inside, name));
  }
  return left;
}

/** Its mode where it is open to others and cannot be closed; null: it is closed. */
function closeOne(path: string): string | null {
  try {
    const found = lstatSync(path);
    const { mode } = found;
    // What a link points to is none of ours, and a link itself has no mode.
    if ((mode & OTHERS) === 0 || !(found.isFile() || found.isDirectory())) return null;
    try {
      chmodSync(path, mode & ~OTHERS & 0o777);
      return null;
    } catch {
      return (mode & 0o7777).toString(8);
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}
