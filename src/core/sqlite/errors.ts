import { HoldfastError } from '../blob/errors.ts';

export type SqliteErrorCode =
  | 'sqlite/library-too-old'
  | 'sqlite/not-durable'
  | 'sqlite/newer-than-program'
  | 'sqlite/older-than-program'
  | 'sqlite/migration-changed'
  | 'sqlite/not-a-database'
  | 'sqlite/cannot-open'
  | 'sqlite/cannot-copy';

export class SqliteError extends HoldfastError<SqliteErrorCode> {}
