import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';
import { storageFault } from '../errors.ts';
import {
  MAX_RECORD_BYTES,
  type RecordEntry,
  type RecordPath,
  type RecordStore,
  recordPathOrNull,
} from '../record-store.ts';
import { makeDurableFolder, removeDurably, writeDurably } from './durable-file.ts';
import { readRegularFile } from './regular-file.ts';

const PROBE = Buffer.from('{}\n');

/** Records as files below the data folder: `occurrences/…` and `audit/…`, a file each, durable when acknowledged. */
export class RecordFolder implements RecordStore {
  readonly id = 'local';
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
      // What a crash left half-written was never acknowledged.
      for (const name of await readdir(temporary)) await rm(join(temporary, name), { force: true });
    } catch (cause) {
      throw storageFault('local', 'open', cause, dataDir);
    }
    return new RecordFolder(dataDir, temporary);
  }

  async putRecord(path: RecordPath, document: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#doing('put', path, async () => {
      if ((await this.#read(path)) === document) return;
      const file = join(this.#root, path);
      await makeDurableFolder(dirname(file));
      await writeDurably(file, Buffer.from(document), this.#temporary);
    });
  }

  async getRecord(path: RecordPath, signal: AbortSignal): Promise<string | null> {
    signal.throwIfAborted();
    return await this.#doing('get', path, () => this.#read(path));
  }

  async *listRecords(prefix: string, signal: AbortSignal): AsyncIterable<RecordEntry> {
    yield* this.#below(prefix.replace(/\/+$/, ''), signal);
  }

  async deleteRecord(path: RecordPath, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#doing('delete', path, () => removeDurably(join(this.#root, path)));
  }

  async takesOthers(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    // A name of its own: two may ask at a time, and each deletes its file.
    const file = join(this.#temporary, `probe-${randomUUID()}`);
    try {
      await writeDurably(file, PROBE, this.#temporary);
      const read = await readRegularFile(file, PROBE.length);
      await rm(file, { force: true });
      return PROBE.equals(read);
    } catch {
      return false;
    }
  }

  async *#below(folder: string, signal: AbortSignal): AsyncIterable<RecordEntry> {
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

  async #read(path: RecordPath): Promise<string | null> {
    try {
      return (await readRegularFile(join(this.#root, path), MAX_RECORD_BYTES)).toString('utf8');
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return null;
      throw cause;
    }
  }

  async #doing<T>(operation: string, where: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw storageFault(this.id, operation, cause, where);
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
