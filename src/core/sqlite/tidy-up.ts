import type Database from 'better-sqlite3';

/** Pages per call, some milliseconds of work. */
const PAGES = 2_000;

/**
 * Returns free pages at the end of the file to the disk (in a database with incremental vacuum) and truncates the
 * write-ahead log. No ANALYZE: the queries rely on the plans that SQLite chooses without statistics.
 */
export function tidyUp(database: Database.Database): void {
  database.pragma(`incremental_vacuum(${PAGES})`);
  database.pragma('wal_checkpoint(TRUNCATE)');
}
