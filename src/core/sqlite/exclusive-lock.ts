import Database from 'better-sqlite3';
import { assertNoOtherKind } from './damage.ts';

/** Milliseconds of patience with a process that tests the lock for a moment. */
const LOOK_MS = 250;

/**
 * Takes a lock that the operating system releases with the process (SQLite's, on a file of its own), so `kill -9`
 * leaves nothing to clean up. Throws `SQLITE_BUSY` when another process holds it.
 */
export function lockExclusively(file: string): { close(): void } {
  assertNoOtherKind(file);
  const lock = new Database(file, { timeout: LOOK_MS });
  try {
    lock.pragma('locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS held (by_holdfast INTEGER); COMMIT');
    return lock;
  } catch (cause) {
    lock.close();
    throw cause;
  }
}

/** Reports whether a process holds the lock. The file must exist. */
export function isLocked(file: string): boolean {
  assertNoOtherKind(file);
  const lock = new Database(file, { timeout: 0, fileMustExist: true });
  try {
    lock.prepare('SELECT COUNT(*) FROM sqlite_schema').get();
    return false;
  } catch (cause) {
    if (cause instanceof Database.SqliteError && cause.code === 'SQLITE_BUSY') return true;
    throw cause;
  } finally {
    lock.close();
  }
}
