import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';
import { parseVersionHash, type VersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { type CustomName, type CustomStore, customPath, type ListedCustom } from '../custom-store.ts';
import { storageFault } from '../errors.ts';
import { DamagedFiles } from './damaged-files.ts';
import { makeDurableFolder, syncFolder, writeDurably } from './durable-file.ts';
import { readRegularFile } from './regular-file.ts';

const HASH = /^[0-9a-f]{64}$/;

/** `custom/…` in the data folder: a file each, durable when acknowledged. */
export class CustomFolder implements CustomStore {
  readonly #root: string;
  readonly #damaged: DamagedFiles;

  constructor(dataDir: string) {
    this.#root = dataDir;
    this.#damaged = new DamagedFiles(join(dataDir, 'custom', 'damaged'));
  }

  async putCustom(name: CustomName, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const file = this.#fileOf(name);
    await this.#doing('put custom', file, signal, async () => {
      await makeDurableFolder(dirname(file));
      await writeDurably(file, bytes, dirname(file));
    });
  }

  async getCustom(name: CustomName, signal: AbortSignal): Promise<Uint8Array | null> {
    signal.throwIfAborted();
    const file = this.#fileOf(name);
    return await this.#doing('get custom', file, signal, () =>
      nullWhenAbsent(readRegularFile(file, MAX_BLOB_BYTES + 1)),
    );
  }

  async *listCustom(versionHash: VersionHash | null, signal: AbortSignal): AsyncIterable<ListedCustom> {
    const folder = join(this.#root, 'custom');
    const hashes = versionHash === null ? await this.#hashesIn(folder, signal) : [versionHash];
    for (const hash of hashes) {
      for (const keccak of await this.#hashesIn(join(folder, hash), signal)) {
        const file = this.#fileOf({ versionHash: hash, keccak });
        const found = await this.#doing('list custom', file, signal, () => nullWhenAbsent(stat(file)));
        if (found?.isFile() === true) yield { versionHash: hash, keccak, sizeBytes: found.size };
      }
    }
  }

  async setCustomAside(name: CustomName, signal: AbortSignal): Promise<string | null> {
    signal.throwIfAborted();
    const file = this.#fileOf(name);
    const below = join(name.versionHash, name.keccak);
    return await this.#doing('set custom aside', file, signal, () => this.#damaged.keep(file, below));
  }

  async purgeCustom(versionHash: VersionHash, signal: AbortSignal): Promise<boolean> {
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

  /** What else lies there is not ours. */
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
