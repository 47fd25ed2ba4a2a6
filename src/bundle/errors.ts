import { HoldfastError } from '../core/blob/errors.ts';

export type BundleErrorCode =
  /** A file, folder or address that was named cannot be read. */
  | 'bundle/unreadable'
  /** An address answers with something else than the bytes. */
  | 'bundle/bad-answer';

export class BundleError extends HoldfastError<BundleErrorCode> {}
