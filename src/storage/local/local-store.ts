import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentName } from '../../core/blob/ids.ts';
import type { Notifier } from '../../core/notifier.ts';
import { type Clock, SYSTEM_CLOCK } from '../../core/time/clock.ts';
import type { FileIdentity, UnverifiedBlob, VerifiedBlob } from '../../verify/verified-blob.ts';
import { type StorageError, storageFault } from '../errors.ts';
import {
  type DocumentPath,
  isCustom,
  type ListedObject,
  type NewObject,
  type ObjectKey,
  type ObjectKind,
  type ObjectRange,
  type ObjectStore,
  type PurgeTarget,
  type PutMode,
  type StoreProperties,
} from '../object-store.ts';
import { faultOf, good, type ProbeFinding, takesAndGives } from '../probe.ts';
import { type RecordPath, recordPathOrNull } from '../record-path.ts';
import { CustomFolder } from './custom-folder.ts';
import { FileBlobStore } from './file-blob-store.ts';
import type { OpenBlobFile } from './open-blob-file.ts';
import { RecordFolder } from './record-folder.ts';
import { type SalvagedRows, SmallRows } from './small-rows.ts';

/** Up to this size a blob is a row; above, a file. A file costs two syncs, a row a share of one. */
export const ROW_LIMIT_BYTES = 65_536;

/** Milliseconds for which an answer of the disk is reused. */
const PROBE_MS = 1_000;
const UNSTOPPED = new AbortController().signal;

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

const HOLDS: ReadonlySet<ObjectKind> = new Set(['blob', 'custom', 'record', 'evidence']);

/** The first durable home of every object: the data folder. Which chain that belongs to, `DataFolder` says. */
export class LocalStore implements ObjectStore {
  readonly id = 'local';
  readonly properties: StoreProperties;
  /** Files have the clock of this machine. */
  readonly clockOffsetMs = null;
  readonly #files: FileBlobStore;
  readonly #rows: SmallRows;
  readonly #custom: CustomFolder;
  readonly #records: RecordFolder;
  readonly #clock: Clock;
  #probe: { readonly atMs: number; readonly findings: Promise<readonly ProbeFinding[]> } | null = null;

  private constructor(dataDir: string, files: FileBlobStore, rows: SmallRows, records: RecordFolder, clock: Clock) {
    this.properties = { holds: HOLDS, pins: false, layout: 'holdfast', where: dataDir };
    this.#files = files;
    this.#rows = rows;
    this.#custom = new CustomFolder(dataDir);
    this.#records = records;
    this.#clock = clock;
  }

  static async open(dataDir: string, clock: Clock = SYSTEM_CLOCK): Promise<LocalStore> {
    try {
      const root = join(dataDir, 'blobs');
      const files = await FileBlobStore.open(root);
      const records = await RecordFolder.open(dataDir);
      return new LocalStore(dataDir, files, new SmallRows(join(root, 'small.sqlite'), clock), records, clock);
    } catch (cause) {
      throw storageFault('local', 'open', cause, dataDir);
    }
  }

  /** A blob that lies here already is compared in either mode: that costs no question. */
  async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    if ('path' in object) return await this.#records.put(pathOf(object.path), object.text, mode, signal);
    if (isCustom(object)) return await this.#custom.put(object, mode, signal);
    await this.keep(object, signal);
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

  async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    if (typeof key === 'string') return await this.#records.get(pathOf(key), signal);
    if (isCustom(key)) return await this.#custom.get(key, signal);
    return (await this.copy(key, signal))?.blob.bytes ?? null;
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

  /** The file of a large blob, to be read in parts; null: it has none. The caller closes it. */
  async openFile(name: ContentName, signal: AbortSignal): Promise<OpenBlobFile | null> {
    return await this.#doing('get', signal, () => this.#files.openFile(name));
  }

  async stat(key: ObjectKey, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    signal.throwIfAborted();
    if (typeof key === 'string') return await this.#records.stat(pathOf(key), signal);
    if (isCustom(key)) return await this.#custom.stat(key, signal);
    const name = key;
    return await this.#doing('stat', signal, async () => {
      const row = attempt(() => this.#rows.stat(name));
      if ('value' in row && row.value !== null) return row.value;
      return (await this.#files.stat(name)) ?? resultOf(row);
    });
  }

  /** Writes something new, syncs and reads it. Many that ask in the same second share one answer. */
  async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    signal.throwIfAborted();
    const nowMs = this.#clock.steadyMs();
    if (this.#probe === null || nowMs - this.#probe.atMs > PROBE_MS) {
      const findings = this.#files.probe().then(
        () => [good('readable', 'The data folder takes a file and gives it back.')],
        (cause: unknown) => [faultOf('readable', storageFault(this.id, 'probe', cause))],
      );
      this.#probe = { atMs: nowMs, findings };
    }
    return await this.#probe.findings;
  }

  async freeBytes(signal: AbortSignal): Promise<number> {
    return await this.#doing('probe', signal, async () => {
      const { bavail, bsize } = await statfs(this.properties.where);
      return bavail * bsize;
    });
  }

  /**
   * Reports whether the disk works. Then an unreadable file or row is damaged, and the disk as a whole is not at fault.
   */
  async isServing(): Promise<boolean> {
    return takesAndGives(await this.probe(UNSTOPPED));
  }

  /** The reason why small blobs are kept as files now; null while SQLite has reported no damage to their rows. */
  get damagedRows(): StorageError | null {
    return this.#rows.damage;
  }

  /** Notifies when `damagedRows` is no longer null. */
  get rowsDamaged(): Notifier {
    return this.#rows.damaged;
  }

  /** Damaged row files that were set aside and still exist. */
  get rowsSetAside(): readonly string[] {
    return this.#rows.aside;
  }

  /** Rebuilds the row file from its readable rows. */
  async salvageRows(signal: AbortSignal): Promise<SalvagedRows> {
    return await this.#doing('salvage rows', signal, () => this.#rows.salvage(signal));
  }

  /** Gives back to the disk what deleted rows took. */
  async reclaim(signal: AbortSignal): Promise<void> {
    await this.#doing('give free pages back', signal, () => this.#rows.reclaim(signal));
  }

  async isKept(): Promise<boolean> {
    return true;
  }

  async *list(range: ObjectRange, signal: AbortSignal): AsyncIterable<ListedObject> {
    if (range === 'blobs') yield* this.#blobs(signal);
    else if ('below' in range) yield* this.#records.list(range.below, signal);
    else yield* this.#custom.list(range.customOf, signal);
  }

  async *#blobs(signal: AbortSignal): AsyncIterable<ListedObject> {
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

  async delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (typeof key === 'string') return await this.#records.delete(pathOf(key), signal);
    if (isCustom(key)) return await this.#custom.delete(key, signal);
    await this.#doing('delete', signal, async () => {
      this.#rows.delete(key);
      await this.#files.delete(key);
    });
  }

  /** A damaged copy that was set aside is most of what may not be kept. */
  async purge(target: PurgeTarget, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if ('customOf' in target) return await this.#custom.purge(target.customOf, signal);
    return await this.#doing('delete', signal, async () => {
      const row = attempt(() => this.#rows.purge(target));
      const file = await this.#files.purge(target).then(
        (hadFile): Attempt<boolean> => ({ value: hadFile }),
        (error: unknown): Attempt<boolean> => ({ error }),
      );
      // Also where there was no row, for an earlier purge may have been cut short, and where the file could not be deleted.
      await this.#rows.reclaim(signal);
      return [resultOf(row), resultOf(file)].includes(true);
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

/** @throws for a path that is not a record's: other files in the data folder do not belong to this store. */
function pathOf(path: DocumentPath): RecordPath {
  const known = recordPathOrNull(path);
  if (known === null) throw new TypeError(`the local store holds no ${path}`);
  return known;
}
