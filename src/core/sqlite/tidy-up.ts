import type Database from 'better-sqlite3';

/** Pages per call, some milliseconds of work. */
const PAGES = 2_000;

/**
 * Returns free pages at the end of the file to the disk (in a database with incremental vacuum). Truncates the write-ahead
 * log, unless a snapshot reads from it. No ANALYZE: the queries rely on the plans that SQLite chooses without statistics.
 */
export function tidyUp(database: Database.Database): void {
  database.pragma(`incremental_vacuum(${PAGES})`);
  const waitMs = Number(database.pragma('busy_timeout', { simple: true }));
  // A snapshot belongs to this same thread, and cannot end while SQLite waits for it.
  database.pragma('busy_timeout = 0');
  try {
    database.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    database.pragma(`busy_timeout = ${waitMs}`);
  }
}
