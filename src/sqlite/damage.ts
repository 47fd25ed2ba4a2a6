import { lstatSync } from 'node:fs';
import { codeOf } from '../blob/errors.ts';
import { SqliteError } from './errors.ts';

/** Does SQLite say that the file itself is damaged? A disk that does not give a page is another fault. */
export function isDamagedDatabase(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'SQLITE_NOTADB' || code === 'sqlite/not-a-database' || code?.startsWith('SQLITE_CORRUPT') === true;
}

/** SQLite waits for ever on a FIFO, and nothing of this process runs meanwhile. */
export function assertNoOtherKind(path: string): void {
  let isFile: boolean;
  try {
    const found = lstatSync(path);
    isFile = found.isFile() || found.isSymbolicLink();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (isFile) return;
  throw new SqliteError('sqlite/cannot-open', `${path} cannot be opened: it is a folder, FIFO, socket or device.`, {
    details: { path },
    retryable: false,
    hint: 'Something else than Holdfast put it there. Move it away and start again.',
  });
}
