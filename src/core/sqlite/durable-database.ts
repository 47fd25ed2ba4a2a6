import Database from 'better-sqlite3';
import { clauseOf, codeOf } from '../blob/errors.ts';
import { assertNoOtherKind, isDamagedDatabase } from './damage.ts';
import { SqliteError } from './errors.ts';
import { planningOnce } from './planned-once.ts';

/** Lowest safe version: an older SQLite can corrupt a database when a WAL is reset (fixed in 3.51.3). */
const MINIMUM_VERSION = [3, 51, 3] as const;

/** SQLite's default limit in bytes. */
const LOG_BYTES = 4_194_304;

export interface OpenOptions {
  readonly pageSizeBytes?: number;
  readonly cacheBytes?: number;
  /** Bytes of the write-ahead log before a checkpoint. Default: SQLite's own, 4 MB. */
  readonly logBytes?: number;
}

/**
 * Opens a database with durable commits: WAL and `synchronous=FULL`, both asserted. better-sqlite3 opens a WAL database
 * with NORMAL, where a power loss reverts the last commits.
 */
export function openDurableDatabase(path: string, options: OpenOptions = {}): Database.Database {
  let database: Database.Database;
  try {
    assertNoOtherKind(path);
    database = planningOnce(new Database(path));
  } catch (cause) {
    throw cannotOpen(path, cause);
  }
  try {
    assertVersion(String(database.prepare('SELECT sqlite_version()').pluck().get()));
    if (options.pageSizeBytes !== undefined) database.pragma(`page_size = ${options.pageSizeBytes}`);
    // The setting applies to a new database only.
    database.pragma('auto_vacuum = INCREMENTAL');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    database.pragma('busy_timeout = 5000');
    if (options.cacheBytes !== undefined) database.pragma(`cache_size = -${Math.ceil(options.cacheBytes / 1024)}`);
    if (options.logBytes !== undefined) {
      const pageBytes = Number(database.pragma('page_size', { simple: true }));
      database.pragma(`wal_autocheckpoint = ${Math.ceil(options.logBytes / pageBytes)}`);
    }
    // Without a limit, the log file keeps the largest size it ever had.
    database.pragma(`journal_size_limit = ${options.logBytes ?? LOG_BYTES}`);
    assertDurable(database, path);
    return database;
  } catch (cause) {
    database.close();
    throw cannotOpen(path, cause);
  }
}

function assertDurable(database: Database.Database, path: string): void {
  const journal = database.pragma('journal_mode', { simple: true });
  const synchronous = database.pragma('synchronous', { simple: true });
  if (journal === 'wal' && synchronous === 2) return;
  throw new SqliteError('sqlite/not-durable', `SQLite refused durable commits for ${path}.`, {
    details: { path, journal, synchronous },
    retryable: false,
    hint: 'Put the data folder on a local file system that supports WAL (not a network share).',
  });
}

/** Checks the version of SQLite; exported for its test. */
export function assertVersion(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [index, minimum] of MINIMUM_VERSION.entries()) {
    const part = parts[index] ?? 0;
    if (part > minimum) return;
    if (part < minimum) {
      throw new SqliteError(
        'sqlite/library-too-old',
        `SQLite ${version} is older than ${MINIMUM_VERSION.join('.')}, which fixed a bug that corrupts WAL databases.`,
        { details: { version }, retryable: false, hint: 'Install the better-sqlite3 that the lockfile names.' },
      );
    }
  }
}

function cannotOpen(path: string, cause: unknown): SqliteError {
  if (cause instanceof SqliteError) return cause;
  if (isDamagedDatabase(cause)) {
    return new SqliteError('sqlite/not-a-database', `${path} is not an SQLite database, or it is damaged.`, {
      details: { path },
      retryable: false,
      hint: 'Move the file away and start again: Holdfast rebuilds the catalog, which contains no blobs.',
      cause,
    });
  }
  return new SqliteError('sqlite/cannot-open', `${path} cannot be opened: ${clauseOf(cause)}.`, {
    details: { path, systemCode: codeOf(cause) },
    retryable: false,
    hint: 'See that the data folder exists, is writable, and has space left.',
    cause,
  });
}
