import { existsSync, readlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { onTestFinished, vi } from 'vitest';

/** One call of `sync`, as the file system stood at that moment. */
export interface WatchedSync {
  readonly path: string;
  /** Whether the watched file had its final name already. */
  readonly isNamed: boolean;
}

/** Notes every sync of an open file or folder, in order, and whether `finalPath` was there at that moment. */
export async function watchSyncs(finalPath: string): Promise<WatchedSync[]> {
  const syncs: WatchedSync[] = [];
  const handle = await open('/proc/self', 'r');
  const prototype: Pick<FileHandle, 'sync'> = Object.getPrototypeOf(handle);
  await handle.close();
  const sync = prototype.sync;
  const spy = vi.spyOn(prototype, 'sync').mockImplementation(function (this: unknown) {
    const fd = typeof this === 'object' && this !== null && 'fd' in this ? Number(this.fd) : -1;
    syncs.push({ path: readlinkSync(`/proc/self/fd/${fd}`), isNamed: existsSync(finalPath) });
    return Reflect.apply(sync, this, []);
  });
  onTestFinished(() => spy.mockRestore());
  return syncs;
}
