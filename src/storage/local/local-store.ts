import { join } from 'node:path';
import type { ContentName, VersionHash } from '../../core/blob/ids.ts';
import type { FileIdentity, UnverifiedBlob, VerifiedBlob } from '../../verify/verified-blob.ts';
import type { BlobStore, StoredEntry } from '../blob-store.ts';
import { type StorageError, storageFault } from '../errors.ts';
import { FileShelf } from './file-shelf.ts';
import type { OpenBlobFile } from './open-blob-file.ts';
import { type SalvagedRows, SmallRows } from './small-rows.ts';

/** Up to this size a blob is a row; above, a file. A file costs two syncs, a row a share of one. */
export const ROW_LIMIT_BYTES = 65_536;

/** How long an answer of the disk is good for. */
const PROBE_MS = 1_000;

/** A blob as it lies here, with what tells later that its file has not changed. */
export interface LocalCopy {
  readonly blob: UnverifiedBlob;
  /** null: not a file of its own; hash it whenever it leaves. */
  readonly identity: FileIdentity | null;
}

type Attempt<T> = { readonly value: T } | { readonly error: unknown };

/** Rows and files are two places: a fault of one is no reason not to look in the other. */
function attempt<T>(work: () => T): Attempt<T> {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}

function resultOf<T>(made: Attempt<T>): T {
  if ('error' in made) throw made.error;
  return made.value;
}

/** The first durable home of every blob: `<data folder>/blobs`. */
export class LocalStore implements BlobStore {
  readonly id = 'local';
  readonly #files: FileShelf;
  readonly #rows: SmallRows;
  #probe: { readonly atMs: number; readonly result: Promise<boolean> } | null = null;

  private constructor(files: FileShelf, rows: SmallRows) {
    this.#files = files;
    this.#rows = rows;
  }

  static async open(dataDir: string): Promise<LocalStore> {
    try {
      const root = join(dataDir, 'blobs');
      const files = await FileShelf.open(root);
      return new LocalStore(files, new SmallRows(join(root, 'small.sqlite')));
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
      try {
        await this.#rows.put(blob);
        return null;
      } catch (error) {
        // The rows may be damaged, or one page of them; the disk may take a file all the same. A full one does not.
        if (storageFault(this.id, 'put', error).code === 'storage/full') throw error;
        return await this.#files.put(blob);
      }
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
      const row = attempt(() => this.#rows.get(name));
      if ('value' in row && row.value !== null) {
        return { blob: { hashType, versionHash, bytes: row.value }, identity: null };
      }
      const file = await this.#files.get(name, signal);
      if (file === null) {
        resultOf(row);
        return null;
      }
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
    return await this.#doing('stat', signal, async () => {
      const row = attempt(() => this.#rows.stat(name));
      if ('value' in row && row.value !== null) return row.value;
      return (await this.#files.stat(name)) ?? resultOf(row);
    });
  }

  /**
   * Does the disk take, sync and give something new? Then what it does not give is a damaged file or row, and no fault of
   * the whole. Many that ask in the same second share one answer.
   */
  async isServing(): Promise<boolean> {
    const nowMs = performance.now();
    if (this.#probe === null || nowMs - this.#probe.atMs > PROBE_MS) {
      const result = this.#files.probe().then(
        () => true,
        () => false,
      );
      this.#probe = { atMs: nowMs, result };
    }
    return await this.#probe.result;
  }

  /** Why small blobs are kept as files now; null: their rows are well, as far as SQLite has said. */
  get damagedRows(): StorageError | null {
    return this.#rows.damage;
  }

  /** Damaged files of rows that were set aside and that nobody has deleted yet. */
  get rowsSetAside(): readonly string[] {
    return this.#rows.aside;
  }

  /** Makes the file of rows anew out of what can be read of it. */
  async salvageRows(signal: AbortSignal): Promise<SalvagedRows> {
    return await this.#doing('salvage rows', signal, () => this.#rows.salvage(signal));
  }

  /** Gives back to the disk what deleted rows took. */
  async reclaim(signal: AbortSignal): Promise<void> {
    await this.#doing('give free pages back', signal, () => this.#rows.reclaim(signal));
  }

  async *list(signal: AbortSignal): AsyncIterable<StoredEntry> {
    let failure: { readonly error: unknown } | null = null;
    try {
      try {
        for (const entry of this.#rows.list()) {
          signal.throwIfAborted();
          yield entry;
        }
      } catch (error) {
        signal.throwIfAborted();
        failure = { error };
      }
      yield* this.#files.list(signal);
      if (failure !== null) throw failure.error;
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
      const row = attempt(() => this.#rows.purge(name));
      const hadFile = await this.#files.purge(name);
      // Also where there was no row: an earlier purge may have been cut short.
      await this.#rows.reclaim(signal);
      return resultOf(row) || hadFile;
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
