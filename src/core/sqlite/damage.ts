import { existsSync, renameSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { codeOf } from '../blob/errors.ts';
import { SqliteError } from './errors.ts';

/** Reports whether SQLite found the file damaged. An I/O error of the disk is another fault. */
export function isDamagedDatabase(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'SQLITE_NOTADB' || code === 'sqlite/not-a-database' || code?.startsWith('SQLITE_CORRUPT') === true;
}

/**
 * Reads the whole file. Renames a damaged one and returns its new name. Returns null when the file is intact or
 * missing.
 */
export function setAsideWhenDamaged(path: string, wallMs: number): string | null {
  if (!existsSync(path) || isWhole(path)) return null;
  const aside = `${path}.damaged-${wallMs}`;
  for (const end of ['', '-wal', '-shm']) if (existsSync(path + end)) renameSync(path + end, aside + end);
  return aside;
}

function isWhole(path: string): boolean {
  assertNoOtherKind(path);
  const database = new Database(path, { fileMustExist: true });
  try {
    return database.pragma('quick_check(1)', { simple: true }) === 'ok';
  } catch (error) {
    if (isDamagedDatabase(error)) return false;
    throw error;
  } finally {
    database.close();
  }
}

/** SQLite would wait for ever on a FIFO, as the file or beside it, and block the whole process. */
export function assertNoOtherKind(path: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) assertFileOrNothing(path + end);
}

function assertFileOrNothing(path: string): void {
  let isFile: boolean;
  try {
    isFile = statSync(path).isFile();
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return;
    throw error;
  }
  if (isFile) return;
  throw new SqliteError('sqlite/cannot-open', `${path} cannot be opened: it is a folder, FIFO, socket or device.`, {
    details: { path },
    retryable: false,
    hint: 'Something else than Holdfast put it there. Move it away and start again.',
  });
}
