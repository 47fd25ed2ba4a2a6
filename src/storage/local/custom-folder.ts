import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';
import { parseVersionHash, type VersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { storageFault } from '../errors.ts';
import { type CustomBytes, type CustomName, customPath, type ListedCustom, type PutMode } from '../object-store.ts';
import { DamagedFiles } from './damaged-files.ts';
import { makeDurableFolder, removeDurably, syncFolder, writeDurably } from './durable-file.ts';
import { readRegularFile } from './regular-file.ts';

const HASH = /^[0-9a-f]{64}$/;

/** `custom/…` in the data folder: a file each, durable when acknowledged. */
export class CustomFolder {
  readonly #root: string;
  readonly #damaged: DamagedFiles;

  constructor(dataDir: string) {
    this.#root = dataDir;
    this.#damaged = new DamagedFiles(join(dataDir, 'custom', 'damaged'));
  }

  /** Other bytes that lie there are kept aside before these replace them. */
  async put(custom: CustomBytes, mode: PutMode, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const file = this.#fileOf(custom);
    await this.#doing('put custom', file, signal, async () => {
      // An unreadable file counts as different, and is replaced.
      const there = await nullWhenAbsent(readRegularFile(file, MAX_BLOB_BYTES + 1)).catch(() => 'unreadable' as const);
      if (there !== null && mode === 'create') return;
      if (there instanceof Uint8Array && Buffer.compare(there, custom.bytes) === 0) return;
      if (there !== null) await this.#damaged.keep(file, join(custom.versionHash, custom.keccak)).catch(() => null);
      await makeDurableFolder(dirname(file));
      await writeDurably(file, custom.bytes, dirname(file));
    });
  }

  async get(name: CustomName, signal: AbortSignal): Promise<Uint8Array | null> {
    signal.throwIfAborted();
    const file = this.#fileOf(name);
    return await this.#doing('get custom', file, signal, () =>
      nullWhenAbsent(readRegularFile(file, MAX_BLOB_BYTES + 1)),
    );
  }

  async *list(versionHash: VersionHash | null, signal: AbortSignal): AsyncIterable<ListedCustom> {
    const folder = join(this.#root, 'custom');
    const hashes = versionHash === null ? await this.#hashesIn(folder, signal) : [versionHash];
    for (const hash of hashes) {
      for (const keccak of await this.#hashesIn(join(folder, hash), signal)) {
        const name = { versionHash: hash, keccak };
        const found = await this.stat(name, signal);
        if (found !== null) yield { ...name, ...found };
      }
    }
  }

  async stat(name: CustomName, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    const file = this.#fileOf(name);
    const found = await this.#doing('list custom', file, signal, () => nullWhenAbsent(stat(file)));
    return found?.isFile() === true ? { sizeBytes: found.size } : null;
  }

  async delete(name: CustomName, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const file = this.#fileOf(name);
    await this.#doing('delete custom', file, signal, () => removeDurably(file));
  }

  async purge(versionHash: VersionHash, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const folder = join(this.#root, 'custom', versionHash);
    return await this.#doing('purge custom', folder, signal, async () => {
      const isThere = (await nullWhenAbsent(stat(folder))) !== null;
      await rm(folder, { recursive: true, force: true });
      if (isThere) await syncFolder(dirname(folder));
      return (await this.#damaged.remove(versionHash)) || isThere;
    });
  }

  #fileOf(name: CustomName): string {
    return join(this.#root, customPath(name));
  }

  /** Other files in this folder are not Holdfast's. */
  async #hashesIn(folder: string, signal: AbortSignal): Promise<VersionHash[]> {
    const read = () => nullWhenAbsent(readdir(folder));
    const names = (await this.#doing('list custom', folder, signal, read)) ?? [];
    signal.throwIfAborted();
    return names
      .filter((name) => HASH.test(name))
      .sort()
      .map((name) => parseVersionHash(name));
  }

  async #doing<T>(operation: string, where: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      signal.throwIfAborted();
      throw storageFault('local', operation, cause, where);
    }
  }
}

async function nullWhenAbsent<T>(work: Promise<T>): Promise<T | null> {
  return await work.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
    throw error;
  });
}
