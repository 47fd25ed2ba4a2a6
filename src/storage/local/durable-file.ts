import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { LRUCache } from 'lru-cache';
import { codeOf } from '../../core/blob/errors.ts';
import type { FileIdentity } from '../../verify/verified-blob.ts';
import { fileIdentity } from './file-identity.ts';

/** Makes the names in a folder durable: a rename is lost with power until its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Deletes a file so that no power failure brings it back. The folder is synced also where the file is gone already: a
 * crash may have come between the two.
 */
export async function removeDurably(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
    await syncFolder(dirname(path));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error;
  }
}

/** Folders whose names this process has made durable, or is about to. */
const durable = new LRUCache<string, Promise<void>>({ max: 4_096 });

/**
 * Creates the folder, and makes every name on the way down durable. One that is there already may be the work of a
 * moment ago, or of a process that was killed before it synced: the first time in a process, it is synced as well.
 */
export async function makeDurableFolder(folder: string): Promise<void> {
  const path = resolve(folder);
  const first = await mkdir(path, { recursive: true });
  if (first !== undefined) {
    for (let made = path; made.length >= first.length; made = dirname(made)) durable.delete(made);
  }
  await nameDurably(path);
}

function nameDurably(folder: string): Promise<void> {
  const known = durable.get(folder);
  if (known !== undefined) return known;
  const naming = syncNames(folder);
  durable.set(folder, naming);
  naming.catch(() => durable.delete(folder));
  return naming;
}

async function syncNames(folder: string): Promise<void> {
  const parent = dirname(folder);
  if (parent === folder) return;
  await nameDurably(parent);
  try {
    await syncFolder(parent);
  } catch (error) {
    // Far up there are folders that are not ours to open; what we make lies in folders that are.
    if (!NOT_OURS.has(codeOf(error) ?? '')) throw error;
  }
}

const NOT_OURS: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP']);

/**
 * Writes the whole file or nothing: temporary file, sync, rename, sync of the folder. When it resolves, neither
 * `kill -9` nor power loss takes the bytes back. The temporary file lies in `temporaryFolder`, on the same volume. Gives
 * what tells later that it is still this file.
 */
export async function writeDurably(path: string, bytes: Uint8Array, temporaryFolder: string): Promise<FileIdentity> {
  const temporary = join(temporaryFolder, randomBytes(12).toString('hex'));
  const handle = await open(temporary, 'wx', 0o600);
  let identity: FileIdentity;
  try {
    try {
      await handle.writeFile(bytes);
      await handle.sync();
      const written = await handle.stat({ bigint: true });
      await rename(temporary, path);
      identity = fileIdentity(written, await handle.stat({ bigint: true }), bytes.length);
    } finally {
      await handle.close();
    }
  } catch (error) {
    // The caller needs the error of the write, not the error of the clean-up.
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
  return identity;
}
