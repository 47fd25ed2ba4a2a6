import { existsSync, globSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../blob/errors.ts';
import type { ContentName, VersionHash } from '../../blob/ids.ts';
import { isDamagedDatabase } from '../../sqlite/damage.ts';
import type { UnverifiedBlob, VerifiedBlob } from '../../verify/verified-blob.ts';
import type { StoredEntry } from '../blob-store.ts';
import { StorageError } from '../errors.ts';
import { syncFolder } from './durable-file.ts';
import { type RawRow, RowShelf, readableRows } from './row-shelf.ts';

/** What came of making a damaged file of rows anew. */
export interface SalvagedRows {
  /** Rows that could be read, and lie in the new file. */
  readonly taken: number;
  /** Where the damaged file lies now. */
  readonly aside: string;
}

/** Rows that are taken over in one go; everything else waits meanwhile. */
const GROUP_ROWS = 64;
const COMPANIONS = ['-wal', '-shm'] as const;

/**
 * The rows of small blobs, in a file that can rot. Once SQLite calls it damaged nothing more is written to it: the caller
 * keeps small blobs as files, and `salvage` takes over into a new file what can still be read.
 */
export class SmallRows {
  readonly path: string;
  #shelf: RowShelf | null = null;
  #damage: StorageError | null = null;
  /** Deleted while rows are taken over: they must not come back with the new file. null: none are taken over now. */
  #deleted: ContentName[] | null = null;

  constructor(path: string) {
    this.path = path;
    // A crash while rows were taken over: the damaged file is still there, and is begun anew.
    removeDatabase(this.#newPath);
    try {
      this.#shelf = new RowShelf(path);
    } catch (error) {
      if (!isDamagedDatabase(error)) throw error;
      this.#damage = damaged(path, error);
    }
  }

  /** null: SQLite has not called the file damaged. */
  get damage(): StorageError | null {
    return this.#damage;
  }

  /** Damaged files of before, which nobody has deleted yet. */
  get aside(): string[] {
    return globSync(`${this.path}.damaged-*`).filter((name) => !/-(wal|shm)$/.test(name));
  }

  async put(blob: VerifiedBlob): Promise<void> {
    if (this.#damage !== null) throw this.#damage;
    try {
      await this.#open().put(blob);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  get(name: ContentName): Uint8Array | null {
    return this.#doing((shelf) => shelf.get(name));
  }

  getEither(versionHash: VersionHash): (UnverifiedBlob & ContentName) | null {
    return this.#doing((shelf) => shelf.getEither(versionHash));
  }

  stat(name: ContentName): StoredEntry | null {
    return this.#doing((shelf) => shelf.stat(name));
  }

  *list(): Iterable<StoredEntry> {
    try {
      yield* this.#open().list();
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /** A row of a damaged file goes with the file. */
  delete(name: ContentName): void {
    this.#deleted?.push(name);
    try {
      this.#doing((shelf) => shelf.delete(name));
    } catch (error) {
      if (this.#damage === null) throw error;
    }
  }

  /** @throws where the bytes may still lie in a damaged file. false: there was nothing. */
  purge(name: ContentName): boolean {
    this.#deleted?.push(name);
    const hadRow = this.#doing((shelf) => shelf.purge(name));
    const [aside] = this.aside;
    if (aside !== undefined) throw mayStillLieIn(aside);
    return hadRow;
  }

  /** Gives all free pages back to the disk, and empties the log. */
  async reclaim(signal: AbortSignal): Promise<void> {
    while (this.#damage === null && this.#doing((shelf) => shelf.reclaim())) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }

  /** Takes what can be read over into a new file, and sets the damaged one aside. Repeating it after a crash is harmless. */
  async salvage(signal: AbortSignal): Promise<SalvagedRows> {
    removeDatabase(this.#newPath);
    const fresh = new RowShelf(this.#newPath);
    this.#deleted = [];
    let taken = 0;
    try {
      let group: RawRow[] = [];
      const commit = () => {
        taken += fresh.takeOver(group);
        group = [];
      };
      for (const row of readableRows(this.path)) {
        group.push(row);
        if (group.length < GROUP_ROWS) continue;
        commit();
        await nextTurn();
        signal.throwIfAborted();
      }
      commit();
      for (const name of this.#deleted) fresh.delete(name);
      fresh.close();
    } catch (error) {
      this.#deleted = null;
      fresh.close();
      throw error;
    }
    this.#deleted = null;
    const aside = `${this.path}.damaged-${Date.now()}`;
    this.#shelf?.close();
    this.#shelf = null;
    for (const end of ['', ...COMPANIONS]) {
      if (existsSync(this.path + end)) renameSync(this.path + end, aside + end);
    }
    renameSync(this.#newPath, this.path);
    await syncFolder(dirname(this.path));
    this.#shelf = new RowShelf(this.path);
    this.#damage = null;
    return { taken, aside };
  }

  close(): void {
    this.#shelf?.close();
  }

  get #newPath(): string {
    return `${this.path}.new`;
  }

  #open(): RowShelf {
    if (this.#shelf !== null) return this.#shelf;
    throw this.#damage ?? damaged(this.path, new Error('it is being made anew'));
  }

  #doing<T>(work: (shelf: RowShelf) => T): T {
    try {
      return work(this.#open());
    } catch (error) {
      throw this.#noted(error);
    }
  }

  #noted(error: unknown): unknown {
    if (error instanceof StorageError || !isDamagedDatabase(error)) return error;
    this.#damage ??= damaged(this.path, error);
    return this.#damage;
  }
}

function removeDatabase(path: string): void {
  for (const end of ['', ...COMPANIONS]) rmSync(path + end, { force: true });
}

function damaged(path: string, cause: unknown): StorageError {
  return new StorageError('storage/damaged-database', `${path} is damaged: ${messageOf(cause)}.`, {
    details: { backend: 'local', path },
    retryable: true,
    hint: 'Holdfast takes over what can be read, and brings the rest from a backend or the node. See to the disk; where this stays, stop holdfast and run `holdfast rebuild`.',
    cause,
  });
}

function mayStillLieIn(path: string): StorageError {
  return new StorageError('storage/damaged-database', `${path} is a damaged file that may still hold these bytes.`, {
    details: { backend: 'local', path },
    retryable: false,
    hint: `Delete ${path}, and purge again.`,
  });
}
