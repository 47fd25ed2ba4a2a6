import { codeOf, HoldfastError, messageOf } from '../blob/errors.ts';

export type CatalogErrorCode = 'catalog/full' | 'catalog/read-only' | 'catalog/fault';

export class CatalogError extends HoldfastError<CatalogErrorCode> {}

/** Turns what SQLite threw into an error that says what to do. */
export function catalogFault(operation: string, cause: unknown): CatalogError {
  if (cause instanceof CatalogError) return cause;
  const systemCode = codeOf(cause);
  const details = { operation, systemCode };
  const says = `The catalog could not ${operation}: ${messageOf(cause)}.`;
  if (systemCode === 'SQLITE_FULL' || systemCode === 'ENOSPC') {
    const hint = 'Free disk space; the archiver goes on by itself once there is room.';
    return new CatalogError('catalog/full', says, { details, retryable: true, hint, cause });
  }
  if (systemCode?.startsWith('SQLITE_READONLY') === true) {
    const hint = 'Mount the data folder writable, or set HOLDFAST_DATA_DIR to a folder that is.';
    return new CatalogError('catalog/read-only', says, { details, retryable: false, hint, cause });
  }
  const hint = 'Look at the disk; if the catalog is damaged, move catalog.sqlite away: it is made anew.';
  return new CatalogError('catalog/fault', says, { details, retryable: true, hint, cause });
}
