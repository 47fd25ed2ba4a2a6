import type Database from 'better-sqlite3';

/** Some milliseconds' worth. */
const PAGES = 2_000;

/**
 * Gives free pages at the end of the file back to the disk (where the database was made with incremental vacuum), and
 * empties the write-ahead log, which otherwise keeps the size that it once had. No ANALYZE: the queries were written for
 * the plans that SQLite chooses without statistics.
 */
export function tidyUp(database: Database.Database): void {
  database.pragma(`incremental_vacuum(${PAGES})`);
  database.pragma('wal_checkpoint(TRUNCATE)');
}
