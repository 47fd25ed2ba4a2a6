import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';

/** Between two looks whether the process that builds is done; SQLite's locks have no event across processes. */
const LOCK_POLL_MS = 250;

/** A lock that the operating system drops with its process: a killed build leaves nothing to clean up. */
export async function buildingLock(file: string): Promise<() => void> {
  for (;;) {
    const release = lockIfFree(file);
    if (release !== null) return release;
    await pause(LOCK_POLL_MS);
  }
}

/** The same where another process may have it: null then. */
export function lockIfFree(file: string): (() => void) | null {
  const database = new Database(file, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
    return () => database.close();
  } catch {
    database.close();
    return null;
  }
}
