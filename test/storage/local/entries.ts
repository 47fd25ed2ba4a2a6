import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { onTestFinished } from 'vitest';

const TEBIBYTE = 2 ** 40;

/** Everything but a good file that can lie under a name, each made there. */
export const ENTRIES: Readonly<Record<string, (path: string) => void | Promise<void>>> = {
  'a FIFO': (path) => {
    const { status } = spawnSync('mkfifo', [path]);
    if (status !== 0) throw new Error(`mkfifo ${path} ended with ${status}`);
  },
  'a socket': async (path) => {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: relativeTo(path) }, resolve);
    });
    onTestFinished(() => void server.close());
  },
  'a device': (path) => symlinkSync('/dev/zero', path),
  'a symlink loop': (path) => symlinkSync(path, path),
  'a sparse file of 1 TiB': (path) => {
    const file = openSync(path, 'w');
    ftruncateSync(file, TEBIBYTE);
    closeSync(file);
  },
  'a folder': (path) => {
    mkdirSync(path);
  },
  'a foreign owner’s file': (path) => {
    writeFileSync(path, 'not for us');
    chmodSync(path, 0);
    // Root reads it all the same, and finds other bytes.
    if (process.getuid?.() === 0) chownSync(path, 65_534, 65_534);
  },
};

/** A path of a socket has 103 bytes at most, and names of blobs are long. */
function relativeTo(path: string): string {
  if (path.length < 100) return path;
  process.chdir(dirname(path));
  return path.slice(dirname(path).length + 1);
}
