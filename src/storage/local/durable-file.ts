import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Makes the names in a folder durable: a rename is lost with power until its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates the folder, and makes every new name on the way down durable. */
export async function makeDurableFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  const top = dirname(first);
  for (let path = dirname(folder); path.length >= top.length; path = dirname(path)) {
    await syncFolder(path);
    if (path === dirname(path)) return;
  }
}

/**
 * Writes the whole file or nothing: temporary file, sync, rename, sync of the folder. When it resolves, neither
 * `kill -9` nor power loss takes the bytes back. The temporary file lies in `temporaryFolder`, on the same volume.
 */
export async function writeDurably(path: string, bytes: Uint8Array, temporaryFolder: string): Promise<void> {
  const temporary = join(temporaryFolder, randomBytes(12).toString('hex'));
  const handle = await open(temporary, 'wx', 0o644);
  try {
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}
