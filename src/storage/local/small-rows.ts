import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { clauseOf } from '../../core/blob/errors.ts';
import type { ContentName } from '../../core/blob/ids.ts';
import { Notifier } from '../../core/notifier.ts';
import { isDamagedDatabase } from '../../core/sqlite/damage.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { VerifiedBlob } from '../../verify/verified-blob.ts';
import { StorageError } from '../errors.ts';
import type { ListedBlob } from '../object-store.ts';
import { syncFolder } from './durable-file.ts';
import { type RawRow, readableRows, SqliteBlobStore } from './sqlite-blob-store.ts';

/** Result of rebuilding a damaged row file. */
export interface SalvagedRows {
  /** Rows that could be read, and lie in the new file. */
  readonly taken: number;
  /** Path of the damaged file now. */
  readonly aside: string;
}

/** Rows that are taken over in one go; everything else waits meanwhile. */
const GROUP_ROWS = 64;
const COMPANIONS = ['-wal', '-shm'] as const;
/** The name of the new file once it has all that can be read, before it takes the place of the damaged one. */
const SALVAGED = '.salvaged-';
const DAMAGED = '.damaged-';

/**
 * The rows of small blobs, in a file that can rot. Once SQLite calls it damaged nothing more is written to it: the caller
 * keeps small blobs as files, and `salvage` takes over into a new file what can still be read.
 */
export class SmallRows {
  readonly path: string;
  readonly #clock: Clock;
  /** Notifies when SQLite reports damage of the file. */
  readonly damaged = new Notifier();
  #rows: SqliteBlobStore | null = null;
  #damage: StorageError | null = null;
  /** Deleted while rows are taken over: they must not come back with the new file. null: none are taken over now. */
  #deleted: ContentName[] | null = null;

  constructor(path: string, clock: Clock) {
    this.path = path;
    this.#clock = clock;
    // A crash interrupted the salvage: the damaged file is still there, and the salvage starts over.
    removeDatabase(this.#newPath);
    try {
      finishSalvage(path);
      this.#rows = new SqliteBlobStore(path, clock);
    } catch (error) {
      if (!isDamagedDatabase(error)) throw error;
      this.#damage = damaged(path, error);
    }
  }

  /** null: SQLite has not called the file damaged. */
  get damage(): StorageError | null {
    return this.#damage;
  }

  /** Damaged files of earlier salvages that still exist. */
  get aside(): string[] {
    return filesBeside(this.path, DAMAGED);
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
    return this.#doing((rows) => rows.get(name));
  }

  stat(name: ContentName): { readonly sizeBytes: number } | null {
    return this.#doing((rows) => rows.stat(name));
  }

  *list(): Iterable<ListedBlob> {
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
      this.#doing((rows) => rows.delete(name));
    } catch (error) {
      if (this.#damage === null) throw error;
    }
  }

  /**
   * Deletes a blob. Returns false when there was nothing.
   * @throws when a damaged file may still hold the bytes
   */
  purge(name: ContentName): boolean {
    this.#deleted?.push(name);
    const hadRow = this.#doing((rows) => rows.purge(name));
    // Free pages and the log of a damaged file are never given back, and the file is about to be set aside as it is.
    if (this.#damage !== null) throw this.#damage;
    const [aside] = this.aside;
    if (aside !== undefined) throw mayStillLieIn(aside);
    return hadRow;
  }

  /** Gives all free pages back to the disk, and empties the log. */
  async reclaim(signal: AbortSignal): Promise<void> {
    while (this.#damage === null && this.#doing((rows) => rows.reclaim())) {
      await nextTurn();
      signal.throwIfAborted();
    }
  }

  /** Takes what can be read over into a new file, and sets the damaged one aside. Repeating it after a crash is harmless. */
  async salvage(signal: AbortSignal): Promise<SalvagedRows> {
    this.#deleted = [];
    try {
      if (salvagedFileOf(this.path) === null) await this.#takeOver(signal);
      this.#rows?.close();
      this.#rows = null;
      const aside = finishSalvage(this.path) ?? this.path;
      const rows = new SqliteBlobStore(this.path, this.#clock);
      this.#rows = rows;
      for (const name of this.#deleted) rows.delete(name);
      // Readers find the rows from now on; nothing is written there before no power failure can take the file back.
      await syncFolder(dirname(this.path));
      this.#damage = null;
      return { taken: rows.count(), aside };
    } finally {
      this.#deleted = null;
    }
  }

  /** Leaves a file that has all that can be read. Until it has this name, the damaged file stays where it is. */
  async #takeOver(signal: AbortSignal): Promise<void> {
    removeDatabase(this.#newPath);
    const fresh = new SqliteBlobStore(this.#newPath, this.#clock);
    try {
      let group: RawRow[] = [];
      for (const row of readableRows(this.path)) {
        group.push(row);
        if (group.length < GROUP_ROWS) continue;
        fresh.takeOver(group);
        group = [];
        await nextTurn();
        signal.throwIfAborted();
      }
      fresh.takeOver(group);
    } finally {
      fresh.close();
    }
    renameSync(this.#newPath, `${this.path}${SALVAGED}${this.#clock.wallMs()}`);
    await syncFolder(dirname(this.path));
  }

  close(): void {
    this.#rows?.close();
  }

  get #newPath(): string {
    return `${this.path}.new`;
  }

  #open(): SqliteBlobStore {
    if (this.#rows !== null) return this.#rows;
    throw this.#damage ?? damaged(this.path, new Error('it is being rebuilt'));
  }

  #doing<T>(work: (rows: SqliteBlobStore) => T): T {
    try {
      return work(this.#open());
    } catch (error) {
      throw this.#noted(error);
    }
  }

  #noted(error: unknown): unknown {
    if (error instanceof StorageError || !isDamagedDatabase(error)) return error;
    if (this.#damage !== null) return this.#damage;
    this.#damage = damaged(this.path, error);
    this.damaged.notify();
    return this.#damage;
  }
}

/** Files with this ending of their name beside `path`, without the logs that belong to them. */
function filesBeside(path: string, ending: string): string[] {
  const folder = dirname(path);
  return readdirSync(folder)
    .filter((name) => name.startsWith(basename(path) + ending) && !/-(wal|shm)$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

function salvagedFileOf(path: string): string | null {
  return filesBeside(path, SALVAGED)[0] ?? null;
}

/**
 * Puts a complete new file in the place of the damaged one, which is set aside. The function can start over after a
 * crash at any point: the new file keeps its name until the damaged file and its log are out of the way. Returns the
 * name of the damaged file; null when there was no new one.
 */
function finishSalvage(path: string): string | null {
  const salvaged = salvagedFileOf(path);
  if (salvaged === null) return null;
  const aside = salvaged.replace(path + SALVAGED, path + DAMAGED);
  for (const end of [...COMPANIONS, '']) {
    if (existsSync(path + end)) renameSync(path + end, aside + end);
  }
  renameSync(salvaged, path);
  return aside;
}

function removeDatabase(path: string): void {
  for (const end of ['', ...COMPANIONS]) rmSync(path + end, { force: true });
}

function damaged(path: string, cause: unknown): StorageError {
  return new StorageError('storage/damaged-database', `${path} is damaged: ${clauseOf(cause)}.`, {
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
