import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { clauseOf, codeOf } from '../../core/blob/errors.ts';
import type { ContentName } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { assertNoOtherKind } from '../../core/sqlite/damage.ts';
import { hashTypeCode } from '../../core/sqlite/hash-type-code.ts';
import { readRegularFile } from '../../storage/local/regular-file.ts';
import type { BackfillSource, SourceAnswer, ToldSize } from './backfill-source.ts';
import { BODY_LIMIT_BYTES, candidatesOf } from './candidates.ts';
import { SourceError } from './errors.ts';

const bytesRow = z.instanceof(Buffer);

interface Rows {
  readonly database: Database.Database;
  readonly select: Database.Statement;
}

/**
 * A folder of blobs: a data folder of Holdfast (its files and its small rows), or files named by version hash. These
 * hold raw bytes or hex text, in the folder itself or in the layout of a bucket. Nothing is written, and no lock is
 * taken.
 */
export class FolderSource implements BackfillSource {
  readonly name: string;
  readonly #path: string;
  readonly #rows: Rows | null;

  private constructor(path: string, rows: Rows | null) {
    this.name = `dir ${path}`;
    this.#path = path;
    this.#rows = rows;
  }

  /** @throws SourceError `source/unreadable` when there is no such folder, or it cannot be read. */
  static async open(path: string): Promise<FolderSource> {
    await assertFolder(path);
    const small = join(path, 'blobs', 'small.sqlite');
    let database: Database.Database | null = null;
    try {
      assertNoOtherKind(small);
      if (!(await isThere(small))) return new FolderSource(path, null);
      database = new Database(small, { readonly: true, fileMustExist: true });
      return new FolderSource(path, { database, select: selectRow(database) });
    } catch (cause) {
      database?.close();
      throw unreadable(small, cause);
    }
  }

  /**
   * A fault in one place of the folder does not stop the search in the others; it is thrown when all lack the content.
   */
  async find(name: ContentName, signal: AbortSignal): Promise<SourceAnswer> {
    const candidates: Uint8Array[] = [];
    let failure: { readonly error: unknown } | null = null;
    const places = [
      async () => {
        const row = this.#row(name);
        return row === null ? [] : [row];
      },
      ...this.#files(name).map((file) => async () => {
        const body = await readUpTo(file, BODY_LIMIT_BYTES);
        return body === null ? [] : candidatesOf(body);
      }),
    ];
    for (const read of places) {
      signal.throwIfAborted();
      try {
        candidates.push(...(await read()));
      } catch (error) {
        failure ??= { error };
      }
    }
    if (candidates.length > 0) return { kind: 'bytes', candidates };
    if (failure !== null) throw failure.error;
    // A folder that was unmounted has nothing either, and has not said so.
    await assertFolder(this.#path);
    return { kind: 'absent' };
  }

  async size(name: ContentName, signal: AbortSignal): Promise<ToldSize> {
    const answer = await this.find(name, signal);
    return answer.kind === 'bytes' ? (answer.candidates[0]?.length ?? null) : null;
  }

  async close(): Promise<void> {
    this.#rows?.database.close();
  }

  #row({ hashType, versionHash }: ContentName): Uint8Array | null {
    if (this.#rows === null) return null;
    try {
      const found = this.#rows.select.get(Buffer.from(versionHash, 'hex'), hashTypeCode(hashType));
      return found === undefined || found === null ? null : bytesRow.parse(found);
    } catch (cause) {
      throw unreadable(this.#path, cause);
    }
  }

  #files({ hashType, versionHash }: ContentName): string[] {
    const prefix = versionHash.slice(0, 2);
    return [
      join(this.#path, 'blobs', hashType, prefix, versionHash),
      join(this.#path, 'blobs', hashType, versionHash),
      join(this.#path, hashType, prefix, versionHash),
      join(this.#path, hashType, versionHash),
      join(this.#path, versionHash),
    ];
  }
}

async function assertFolder(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
  } catch (cause) {
    throw unreadable(path, cause);
  }
  throw unreadable(path, new Error('it is no folder'));
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (cause) {
    if (isAbsence(cause)) return false;
    throw unreadable(path, cause);
  }
}

/** null: there is no such file. */
async function readUpTo(path: string, limitBytes: number): Promise<Uint8Array | null> {
  try {
    return await readRegularFile(path, limitBytes);
  } catch (cause) {
    if (isAbsence(cause)) return null;
    throw unreadable(path, cause);
  }
}

const schemaRow = z.object({ type: z.string(), rootpage: z.number() });
const columnRow = z.object({ name: z.string(), hidden: z.number() });
const planRow = z.object({ detail: z.string() });
const STORED_COLUMNS = ['version_hash', 'hash_type', 'bytes'];
const SELECT = `SELECT CASE WHEN length(bytes) <= ${MAX_BLOB_BYTES} THEN bytes END FROM blob WHERE version_hash = ? AND hash_type = ?`;

/**
 * The question for one row, of a file that anybody may have made: SQLite answers within one call, which nothing can stop.
 * So `blob` has to be a table that stores its columns, with an index: a view or a generated column can compute without
 * end, or a gigabyte; without an index each question reads the whole table.
 */
function selectRow(database: Database.Database): Database.Statement {
  database.pragma('trusted_schema = OFF');
  const found = schemaRow.safeParse(
    database.prepare("SELECT type, rootpage FROM sqlite_schema WHERE name = 'blob'").get(),
  );
  if (!found.success || found.data.type !== 'table' || found.data.rootpage === 0) {
    throw new Error('its blob is not a table');
  }
  const columns = z.array(columnRow).parse(database.pragma('table_xinfo(blob)'));
  const isStored = (name: string) => columns.some((column) => column.name === name && column.hidden === 0);
  if (!STORED_COLUMNS.every(isStored)) throw new Error('its table has other columns than a data folder’s');
  const plan = z.array(planRow).parse(database.prepare(`EXPLAIN QUERY PLAN ${SELECT}`).all(Buffer.alloc(32), 1));
  if (!plan.some(({ detail }) => detail.startsWith('SEARCH'))) throw new Error('its table has no index');
  return database.prepare(SELECT).pluck();
}

function isAbsence(cause: unknown): boolean {
  const code = codeOf(cause);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function unreadable(path: string, cause: unknown): SourceError {
  if (cause instanceof SourceError) return cause;
  return new SourceError('source/unreadable', `${path} cannot be read: ${clauseOf(cause)}.`, {
    details: { path, systemCode: codeOf(cause) },
    retryable: false,
    hint: 'See that the folder is there and may be read; what could not be read is not absent.',
    cause,
  });
}
