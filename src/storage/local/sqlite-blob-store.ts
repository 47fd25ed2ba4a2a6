import Database from 'better-sqlite3';
import { z } from 'zod';
import { type ContentName, parseVersionHash } from '../../core/blob/ids.ts';
import { openDurableDatabase } from '../../core/sqlite/durable-database.ts';
import { GroupCommit } from '../../core/sqlite/group-commit.ts';
import { hashTypeCode, hashTypeFrom } from '../../core/sqlite/hash-type-code.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { VerifiedBlob } from '../../verify/verified-blob.ts';
import type { ListedBlob } from '../object-store.ts';

const SCHEMA = `
CREATE TABLE IF NOT EXISTS blob (
  id INTEGER PRIMARY KEY,
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  bytes BLOB NOT NULL,
  UNIQUE (version_hash, hash_type)
) STRICT;
-- What lay under the name of a blob and was not it, kept for a closer look when it was replaced.
CREATE TABLE IF NOT EXISTS damaged (
  version_hash BLOB NOT NULL,
  hash_type INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  replaced_ms INTEGER NOT NULL
) STRICT;
`;
/** A disk that goes bad as a whole must not fill itself with what it spoilt. */
const MAX_DAMAGED = 4_096;

/** Pages that are given back in one go: as much log as SQLite lets grow anyway. */
const RECLAIMED_PAGES = 1_000;

/** The most blobs that share one synced commit. */
const GROUP_LIMIT = 512;

const checkpointRow = z.object({ busy: z.number() });
const rawRow = z.object({
  id: z.number(),
  versionHash: z.instanceof(Buffer).refine(({ length }) => length === 32),
  hashType: z.union([z.literal(1), z.literal(2)]),
  bytes: z.instanceof(Buffer),
});
/** A row as it lies in the file. */
export type RawRow = z.infer<typeof rawRow>;

const bytesRow = z.instanceof(Buffer);
const entryRow = z.object({ version_hash: z.instanceof(Buffer), hash_type: z.number(), size_bytes: z.number() });

/**
 * Small blobs, as rows of an SQLite file apart from the catalog. Blobs that arrive in the same turn of the event loop
 * share one synced commit, which saves a sync per blob.
 */
export class SqliteBlobStore {
  readonly #database: Database.Database;
  readonly #insert: Database.Statement;
  readonly #replace: Database.Statement;
  readonly #select: Database.Statement;
  readonly #measure: Database.Statement;
  readonly #page: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #keepDamaged: Database.Statement;
  readonly #takeOver: Database.Statement;
  readonly #removeDamaged: Database.Statement;
  readonly #group: GroupCommit<VerifiedBlob>;

  constructor(path: string, clock: Pick<Clock, 'steadyMs'>) {
    this.#database = openDurableDatabase(path);
    try {
      this.#database.exec(SCHEMA);
      // The remains of a deleted row inside a page are overwritten at once, whole pages when they are purged or given
      // back.
      this.#database.pragma('secure_delete = FAST');
    } catch (error) {
      this.#database.close();
      throw error;
    }
    this.#insert = this.#database.prepare(
      'INSERT INTO blob (version_hash, hash_type, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#replace = this.#database.prepare('UPDATE blob SET bytes = ? WHERE version_hash = ? AND hash_type = ?');
    this.#select = this.#database.prepare('SELECT bytes FROM blob WHERE version_hash = ? AND hash_type = ?').pluck();

    this.#measure = this.#database
      .prepare('SELECT length(bytes) FROM blob WHERE version_hash = ? AND hash_type = ?')
      .pluck();
    this.#page = this.#database.prepare(
      'SELECT version_hash, hash_type, length(bytes) AS size_bytes FROM blob WHERE (version_hash, hash_type) > (?, ?) ORDER BY version_hash, hash_type LIMIT 1000',
    );
    this.#keepDamaged = this.#database.prepare(
      `INSERT INTO damaged (version_hash, hash_type, bytes, replaced_ms)
       SELECT version_hash, hash_type, bytes, unixepoch() * 1000 FROM blob
       WHERE version_hash = ? AND hash_type = ? AND bytes <> ? AND (SELECT COUNT(*) FROM damaged) < ${MAX_DAMAGED}`,
    );
    this.#takeOver = this.#database.prepare(
      'INSERT INTO blob (version_hash, hash_type, bytes) VALUES (@versionHash, @hashType, @bytes) ON CONFLICT DO NOTHING',
    );
    const putAll = this.#database.transaction((blobs: readonly VerifiedBlob[]) => {
      for (const blob of blobs) {
        const name = [key(blob), hashTypeCode(blob.hashType)] as const;
        // Most blobs are new. Only an existing row may be damaged.
        if (this.#insert.run(...name, blob.bytes).changes === 1) continue;
        this.#keepDamaged.run(...name, blob.bytes);
        this.#replace.run(blob.bytes, ...name);
      }
    });
    this.#group = new GroupCommit((blobs) => putAll.immediate(blobs), GROUP_LIMIT, clock);
    this.#removeDamaged = this.#database.prepare('DELETE FROM damaged WHERE version_hash = ? AND hash_type = ?');
    this.#remove = this.#database.prepare('DELETE FROM blob WHERE version_hash = ? AND hash_type = ?');
  }

  /** Resolves when the commit that holds the blob is synced. */
  put(blob: VerifiedBlob): Promise<void> {
    return this.#group.add(blob);
  }

  get(name: ContentName): Uint8Array | null {
    const found = this.#select.get(key(name), hashTypeCode(name.hashType));
    return found === undefined ? null : bytesRow.parse(found);
  }

  stat(name: ContentName): { readonly sizeBytes: number } | null {
    const found = this.#measure.get(key(name), hashTypeCode(name.hashType));
    if (found === undefined) return null;
    return { sizeBytes: z.number().parse(found) };
  }

  *list(): Iterable<ListedBlob> {
    let after: readonly [Buffer, number] = [Buffer.alloc(0), 0];
    for (;;) {
      const rows = z.array(entryRow).parse(this.#page.all(...after));
      for (const row of rows) {
        yield {
          versionHash: parseVersionHash(row.version_hash.toString('hex')),
          hashType: hashTypeFrom(row.hash_type),
          sizeBytes: row.size_bytes,
        };
      }
      const last = rows.at(-1);
      if (last === undefined) return;
      after = [last.version_hash, last.hash_type];
    }
  }

  delete(name: ContentName): void {
    this.#remove.run(key(name), hashTypeCode(name.hashType));
  }

  /**
   * Deletes the blob and its copies kept aside, and overwrites the pages. Bytes of an earlier write may stay in the log
   * or in free pages until `reclaim` has nothing left to do. Returns false when there was nothing.
   */
  purge(name: ContentName): boolean {
    const row = [key(name), hashTypeCode(name.hashType)] as const;
    this.#database.pragma('secure_delete = ON');
    try {
      const removed = [this.#remove, this.#removeDamaged].map((statement) => statement.run(...row).changes);
      // A file of another program (a restored dump) keeps its free pages, so it is rewritten once.
      if (!this.#givesPagesBack) this.#database.exec('VACUUM');
      return removed.some((rows) => rows > 0);
    } finally {
      this.#database.pragma('secure_delete = FAST');
    }
  }

  get #givesPagesBack(): boolean {
    return this.#database.pragma('auto_vacuum', { simple: true }) !== 0;
  }

  /**
   * Gives some free pages back to the disk, else the file stays as large as it ever was, and empties the log. Some at a
   * time, so that a full disk has room for the log of it. true: there are more.
   */
  reclaim(): boolean {
    this.#emptyLog();
    this.#database.pragma(`incremental_vacuum(${RECLAIMED_PAGES})`);
    this.#emptyLog();
    if (!this.#givesPagesBack) return false;
    return z.number().parse(this.#database.pragma('freelist_count', { simple: true })) > 0;
  }

  #emptyLog(): void {
    const [state] = z.array(checkpointRow).parse(this.#database.pragma('wal_checkpoint(TRUNCATE)'));
    if (state === undefined || state.busy === 0) return;
    throw Object.assign(new Error('another process reads the file, so that its log cannot be emptied'), {
      code: 'SQLITE_BUSY',
    });
  }

  /** Rows of a damaged file, as they were there. */
  takeOver(rows: readonly RawRow[]): void {
    const insert = () => {
      for (const row of rows) this.#takeOver.run(row);
    };
    this.#database.transaction(insert).immediate();
  }

  count(): number {
    return z.number().parse(this.#database.prepare('SELECT COUNT(*) FROM blob').pluck().get());
  }

  close(): void {
    this.#group.flush();
    this.#database.close();
  }
}

function key(name: ContentName): Buffer {
  return Buffer.from(name.versionHash, 'hex');
}

const RAW_COLUMNS = 'id, version_hash AS versionHash, hash_type AS hashType, bytes';

/**
 * All rows of a damaged file that can be read: by its table and by its index, each from both ends as far as it goes. The
 * same row comes several times.
 */
export function* readableRows(path: string): Iterable<RawRow> {
  let database: Database.Database;
  try {
    database = new Database(path, { readonly: true, fileMustExist: true });
  } catch {
    return;
  }
  try {
    for (const order of ['ASC', 'DESC']) {
      yield* untilUnreadable(database, `SELECT ${RAW_COLUMNS} FROM blob NOT INDEXED ORDER BY id ${order}`);
    }
    const order = ['version_hash, hash_type', 'version_hash DESC, hash_type DESC'];
    const names = order.map((by) => `SELECT id FROM blob WHERE version_hash >= x'' ORDER BY ${by}`);
    for (const sql of names) {
      for (const id of untilUnreadableIds(database, sql)) {
        yield* untilUnreadable(database, `SELECT ${RAW_COLUMNS} FROM blob NOT INDEXED WHERE id = ${id}`);
      }
    }
  } finally {
    database.close();
  }
}

function* untilUnreadable(database: Database.Database, sql: string): Iterable<RawRow> {
  try {
    for (const row of database.prepare(sql).iterate()) {
      const read = rawRow.safeParse(row);
      if (read.success) yield read.data;
    }
  } catch {
    // The rest of it is behind a page that is damaged.
  }
}

function* untilUnreadableIds(database: Database.Database, sql: string): Iterable<number> {
  const found: number[] = [];
  try {
    for (const id of database.prepare(sql).pluck().iterate()) if (typeof id === 'number') found.push(id);
  } catch {
    // The same check as above.
  }
  yield* found;
}
