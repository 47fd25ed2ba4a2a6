import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';
import { storageFault } from '../errors.ts';
import type { ListedDocument, PutMode } from '../object-store.ts';
import { MAX_RECORD_BYTES, type RecordPath, recordPathOrNull } from '../record-path.ts';
import { makeDurableFolder, removeDurably, writeDurably } from './durable-file.ts';
import { readRegularFile } from './regular-file.ts';

/** Records as files below the data folder: `occurrences/…` and `audit/…`, a file each, durable when acknowledged. */
export class RecordFolder {
  readonly #root: string;
  readonly #temporary: string;

  private constructor(root: string, temporary: string) {
    this.#root = root;
    this.#temporary = temporary;
  }

  static async open(dataDir: string): Promise<RecordFolder> {
    const temporary = join(dataDir, '.record-tmp');
    try {
      await makeDurableFolder(temporary);
      // A file that a crash left half-written was never acknowledged.
      for (const name of await readdir(temporary)) await rm(join(temporary, name), { force: true });
    } catch (cause) {
      throw storageFault('local', 'open', cause, dataDir);
    }
    return new RecordFolder(dataDir, temporary);
  }

  async put(path: RecordPath, text: string, mode: PutMode, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#doing('put', path, async () => {
      const document = Buffer.from(text);
      const there = await this.#read(path);
      if (there !== null && (mode === 'create' || there.equals(document))) return;
      const file = join(this.#root, path);
      await makeDurableFolder(dirname(file));
      await writeDurably(file, document, this.#temporary);
    });
  }

  async get(path: RecordPath, signal: AbortSignal): Promise<Uint8Array | null> {
    signal.throwIfAborted();
    return await this.#doing('get', path, () => this.#read(path));
  }

  async stat(path: RecordPath, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    const bytes = await this.get(path, signal);
    return bytes === null ? null : { sizeBytes: bytes.length };
  }

  async *list(below: string, signal: AbortSignal): AsyncIterable<ListedDocument> {
    yield* this.#below(below.replace(/\/+$/, ''), signal);
  }

  async delete(path: RecordPath, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#doing('delete', path, () => removeDurably(join(this.#root, path)));
  }

  async *#below(folder: string, signal: AbortSignal): AsyncIterable<ListedDocument> {
    signal.throwIfAborted();
    const entries = await this.#doing('list', folder, () => entriesOf(join(this.#root, folder)));
    for (const entry of entries) {
      signal.throwIfAborted();
      const inner = `${folder}/${entry.name}`;
      if (entry.isDirectory()) yield* this.#below(inner, signal);
      const path = entry.isFile() ? recordPathOrNull(inner) : null;
      if (path === null) continue;
      const { size } = await this.#doing('list', path, () => stat(join(this.#root, path)));
      yield { path, sizeBytes: size };
    }
  }

  async #read(path: RecordPath): Promise<Buffer | null> {
    try {
      return await readRegularFile(join(this.#root, path), MAX_RECORD_BYTES);
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return null;
      throw cause;
    }
  }

  async #doing<T>(operation: string, where: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw storageFault('local', operation, cause, where);
    }
  }
}

/** In the order that a bucket lists in: a folder sorts by its name with the slash behind it. */
async function entriesOf(folder: string) {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const key = (entry: (typeof entries)[number]) => (entry.isDirectory() ? `${entry.name}/` : entry.name);
    return entries.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT' || codeOf(cause) === 'ENOTDIR') return [];
    throw cause;
  }
}
