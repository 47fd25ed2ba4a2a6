import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../blob/errors.ts';
import { type CustomName, type CustomStore, customPath } from '../custom-store.ts';
import { storageFault } from '../errors.ts';
import { makeDurableFolder, writeDurably } from './durable-file.ts';

/** `custom/…` in the data folder: a file each, durable when acknowledged. */
export class CustomFolder implements CustomStore {
  readonly #root: string;

  constructor(dataDir: string) {
    this.#root = dataDir;
  }

  async putCustom(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const file = join(this.#root, customPath(name));
    try {
      await makeDurableFolder(dirname(file));
      await writeDurably(file, bytes, dirname(file));
    } catch (cause) {
      throw storageFault('local', 'put custom', cause, file);
    }
  }

  async getCustom(name: CustomName, signal: AbortSignal): Promise<Uint8Array | null> {
    const file = join(this.#root, customPath(name));
    try {
      return await readFile(file, { signal });
    } catch (cause) {
      signal.throwIfAborted();
      if (codeOf(cause) === 'ENOENT' || codeOf(cause) === 'ENOTDIR') return null;
      throw storageFault('local', 'get custom', cause, file);
    }
  }
}
