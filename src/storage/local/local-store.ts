import { join } from 'node:path';
import type { ContentName, VersionHash } from '../../blob/ids.ts';
import type { FileIdentity, UnverifiedBlob, VerifiedBlob } from '../../verify/verified-blob.ts';
import type { BlobStore, StoredEntry } from '../blob-store.ts';
import { storageFault } from '../errors.ts';
import { FileShelf } from './file-shelf.ts';
import type { OpenBlobFile } from './open-blob-file.ts';
import { RowShelf } from './row-shelf.ts';

/** Up to this size a blob is a row; above, a file. A file costs two syncs, a row a share of one. */
export const ROW_LIMIT_BYTES = 65_536;

/** A blob as it lies here, with what tells later that its file has not changed. */
export interface LocalCopy {
  readonly blob: UnverifiedBlob;
  /** null: not a file of its own; hash it whenever it leaves. */
  readonly identity: FileIdentity | null;
}

/** The first durable home of every blob: `<data folder>/blobs`. */
export class LocalStore implements BlobStore {
  readonly id = 'local';
  readonly #files: FileShelf;
  readonly #rows: RowShelf;

  private constructor(files: FileShelf, rows: RowShelf) {
    this.#files = files;
    this.#rows = rows;
  }

  static async open(dataDir: string): Promise<LocalStore> {
    try {
      const root = join(dataDir, 'blobs');
      const files = await FileShelf.open(root);
      return new LocalStore(files, new RowShelf(join(root, 'small.sqlite')));
    } catch (cause) {
      throw storageFault('local', 'open', cause, dataDir);
    }
  }

  async put(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    await this.keep(blob, signal);
  }

  /** `put`, with what the re-hash rule needs to know of the file; null: no file of its own. */
  async keep(blob: VerifiedBlob, signal: AbortSignal): Promise<FileIdentity | null> {
    signal.throwIfAborted();
    return await this.#doing('put', signal, async () => {
      if (blob.bytes.length > ROW_LIMIT_BYTES) return await this.#files.put(blob);
      await this.#rows.put(blob);
      return null;
    });
  }

  async get(name: ContentName, signal: AbortSignal): Promise<UnverifiedBlob | null> {
    return (await this.copy(name, signal))?.blob ?? null;
  }

  /** `get`, with what the re-hash rule needs to know of the file. */
  async copy(name: ContentName, signal: AbortSignal): Promise<LocalCopy | null> {
    signal.throwIfAborted();
    return await this.#doing('get', signal, async () => {
      const { hashType, versionHash } = name;
      const row = this.#rows.get(name);
      if (row !== null) return { blob: { hashType, versionHash, bytes: row }, identity: null };
      const file = await this.#files.get(name, signal);
      if (file === null) return null;
      return { blob: { hashType, versionHash, bytes: file.bytes }, identity: file.identity };
    });
  }

  /** A small blob under these 32 bytes, at once; null: none is small. Not proven: hash it before it leaves. */
  small(versionHash: VersionHash): (UnverifiedBlob & ContentName) | null {
    try {
      return this.#rows.getEither(versionHash);
    } catch (cause) {
      throw storageFault(this.id, 'get', cause);
    }
  }

  /** The file of a large blob, to be read in parts; null: it has none. The caller closes it. */
  async openFile(name: ContentName, signal: AbortSignal): Promise<OpenBlobFile | null> {
    return await this.#doing('get', signal, () => this.#files.openFile(name));
  }

  async stat(name: ContentName, signal: AbortSignal): Promise<StoredEntry | null> {
    signal.throwIfAborted();
    return await this.#doing('stat', signal, async () => this.#rows.stat(name) ?? (await this.#files.stat(name)));
  }

  async *list(signal: AbortSignal): AsyncIterable<StoredEntry> {
    try {
      for (const entry of this.#rows.list()) {
        signal.throwIfAborted();
        yield entry;
      }
      yield* this.#files.list(signal);
    } catch (cause) {
      signal.throwIfAborted();
      throw storageFault(this.id, 'list', cause);
    }
  }

  async delete(name: ContentName, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#doing('delete', signal, async () => {
      this.#rows.delete(name);
      await this.#files.delete(name);
    });
  }

  /** What was set aside of it as well: a damaged copy is most of what may not be kept. false: there was nothing. */
  async purge(name: ContentName, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    return await this.#doing('delete', signal, async () => {
      const hadRow = this.#rows.purge(name);
      return (await this.#files.purge(name)) || hadRow;
    });
  }

  async close(): Promise<void> {
    this.#rows.close();
  }

  async #doing<T>(operation: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      // An abort is an outcome of its own, not a fault of the disk.
      if (signal.aborted && cause === signal.reason) throw cause;
      throw storageFault(this.id, operation, cause);
    }
  }
}
