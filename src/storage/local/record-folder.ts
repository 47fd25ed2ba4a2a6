import { randomUUID } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';
import { storageFault } from '../errors.ts';
import {
  DOCUMENT_KINDS,
  type DocumentRange,
  type ListedDocument,
  type NewObject,
  type ObjectKey,
  type ObjectStore,
  type PutMode,
} from '../object-store.ts';
import { faultOf, good, type ProbeFinding } from '../probe.ts';
import { MAX_RECORD_BYTES, type RecordPath, recordPathOrNull } from '../record-path.ts';
import { makeDurableFolder, removeDurably, writeDurably } from './durable-file.ts';
import { readRegularFile } from './regular-file.ts';

const PROBE = Buffer.from('{}\n');

/** Records as files below the data folder: `occurrences/…` and `audit/…`, a file each, durable when acknowledged. */
export class RecordFolder implements ObjectStore {
  readonly id = 'local';
  readonly properties = { holds: DOCUMENT_KINDS };
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

  async put({ path, text }: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
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

  async get(path: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    signal.throwIfAborted();
    return await this.#doing('get', path, () => this.#read(path));
  }

  async *list({ below }: DocumentRange, signal: AbortSignal): AsyncIterable<ListedDocument> {
    yield* this.#below(below.replace(/\/+$/, ''), signal);
  }

  async delete(path: ObjectKey, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#doing('delete', path, () => removeDurably(join(this.#root, path)));
  }

  async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    signal.throwIfAborted();
    // A name of its own: two may ask at a time, and each deletes its file.
    const file = join(this.#temporary, `probe-${randomUUID()}`);
    try {
      await writeDurably(file, PROBE, this.#temporary);
      const read = await readRegularFile(file, PROBE.length);
      await rm(file, { force: true });
      if (!PROBE.equals(read)) throw new Error('it gives other bytes than were written');
      return [good('readable', 'The data folder takes a file and gives it back.')];
    } catch (cause) {
      signal.throwIfAborted();
      return [faultOf('readable', storageFault(this.id, 'probe', cause, this.#root))];
    }
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
