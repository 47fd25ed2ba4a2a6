import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, fstatSync, lstatSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';

/** Mask under which every new file of the process, SQLite's included, belongs to its user alone. */
export const OWNER_UMASK = 0o077;
const OTHERS = 0o077;

/**
 * Closes the data folder to other users: a user who can open a file can lock it, and so stop the archive. Changes the
 * folder, its entries, and the rows of small blobs; deeper paths are behind closed folders. Returns the paths that stay
 * open because another user owns them, such as the root of a mounted volume.
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

/** Closes one path to others. Returns its mode when that fails; null when it is closed. */
function closeOne(path: string): string | null {
  try {
    const found = lstatSync(path);
    const { mode } = found;
    // The target of a link is not Holdfast's, and a link itself has no mode.
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

export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * User who owns one of these files of the folder and could not open what this process, run by root, leaves there; null:
 * there is none. A mount may give each new file to one user, as a network share does: a file is made to see whose it is.
 */
export function ownerShutOut(folder: string, files: readonly string[]): FileOwner | null {
  if (process.geteuid?.() !== 0) return null;
  const found = files.map((name) => statSync(join(folder, name), { throwIfNoEntry: false }));
  const owner = found.find((file) => file !== undefined && file.uid !== 0);
  return owner === undefined || ownerOfNewFile(folder) !== 0 ? null : { uid: owner.uid, gid: owner.gid };
}

function ownerOfNewFile(folder: string): number {
  // The folder is another user's, who may have put a link at any name that can be guessed: root follows none.
  const file = join(folder, `owner-of-new-file.${randomUUID()}`);
  const descriptor = openSync(file, 'wx', 0o600);
  try {
    return fstatSync(descriptor).uid;
  } finally {
    closeSync(descriptor);
    rmSync(file, { force: true });
  }
}
