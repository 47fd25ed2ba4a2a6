import { clauseOf, codeOf, HoldfastError } from '../core/blob/errors.ts';
import { isDamagedDatabase } from '../core/sqlite/damage.ts';

export type CatalogErrorCode = 'catalog/full' | 'catalog/read-only' | 'catalog/damaged' | 'catalog/fault';

export class CatalogError extends HoldfastError<CatalogErrorCode> {}

/** The file is damaged. Nothing is lost with it but time: blobs, records and evidence lie elsewhere. */
export function damagedCatalog(path: string, cause: unknown): CatalogError {
  return new CatalogError('catalog/damaged', `The catalog ${path} is damaged: ${clauseOf(cause)}.`, {
    details: { path, systemCode: codeOf(cause) },
    retryable: false,
    hint: 'Stop holdfast and run `holdfast rebuild`: it sets the file aside and makes the catalog again from the data folder and the backends. Then start again, and see to the disk.',
    cause,
  });
}

/** Turns what SQLite threw into an error that says what to do. `path`: of the catalog. */
export function catalogFault(operation: string, cause: unknown, path: string): CatalogError {
  if (cause instanceof CatalogError) return cause;
  if (isDamagedDatabase(cause)) return damagedCatalog(path, cause);
  const systemCode = codeOf(cause);
  const details = { operation, systemCode };
  const says = `The catalog could not ${operation}: ${clauseOf(cause)}.`;
  if (systemCode === 'SQLITE_FULL' || systemCode === 'ENOSPC') {
    const hint = 'Free disk space; the archiver goes on by itself once there is room.';
    return new CatalogError('catalog/full', says, { details, retryable: true, hint, cause });
  }
  if (systemCode?.startsWith('SQLITE_READONLY') === true) {
    const hint = 'Mount the data folder writable, or set HOLDFAST_DATA_DIR to a folder that is.';
    return new CatalogError('catalog/read-only', says, { details, retryable: false, hint, cause });
  }
  const hint = `Look at the disk that ${path} lies on. Where it stays, stop holdfast, run \`holdfast rebuild\` and start again.`;
  return new CatalogError('catalog/fault', says, { details, retryable: true, hint, cause });
}
