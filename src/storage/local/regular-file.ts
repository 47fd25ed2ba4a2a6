import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * Flags to open a name that anything may lie under. Without `O_NONBLOCK`, opening a FIFO waits for a writer for ever, and
 * four of them take every thread that this process has for files.
 */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** @throws for a folder, a FIFO, a socket or a device: only regular files are read. */
export function assertRegular(found: Pick<Stats, 'isFile'> & { readonly mode: number | bigint }, path: string): void {
  if (found.isFile()) return;
  throw Object.assign(new Error(`${path} is ${kindOf(Number(found.mode))}, not a file`), { code: 'ENOTREG' });
}

const KINDS: Readonly<Record<number, string>> = {
  [constants.S_IFDIR]: 'a folder',
  [constants.S_IFIFO]: 'a FIFO',
  [constants.S_IFSOCK]: 'a socket',
  [constants.S_IFCHR]: 'a device',
  [constants.S_IFBLK]: 'a device',
};

function kindOf(mode: number): string {
  return KINDS[mode & constants.S_IFMT] ?? 'something else';
}

/** Opens a file for reading; the caller closes it. Rejects with `ENOTREG` for anything else, and never waits for it. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const handle = await open(path, READ_FLAGS);
  try {
    assertRegular(await handle.stat(), path);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The first bytes of a file, no more than this many, however long it is. */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer> {
  const handle = await openRegularFile(path);
  try {
    const { size } = await handle.stat();
    const bytes = Buffer.alloc(Math.min(size, maxBytes));
    let read = 0;
    while (read < bytes.length) {
      const { bytesRead } = await handle.read(bytes, read, bytes.length - read, read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  } finally {
    await handle.close();
  }
}
