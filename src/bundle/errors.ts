import { HoldfastError } from '../core/blob/errors.ts';

export type BundleErrorCode =
  /** A file, folder or address that was named cannot be read. */
  | 'bundle/unreadable'
  /** An address answers with something else than the bytes. */
  | 'bundle/bad-answer'
  /** The range is not walked, or not final. */
  | 'bundle/not-final'
  | 'bundle/too-many'
  /** The chain or the archive changed at these heights after the export began. */
  | 'bundle/changed'
  /** A record or a blob that the archive is to have cannot be had now. */
  | 'bundle/not-given'
  | 'bundle/exists'
  | 'bundle/unwritable';

export class BundleError extends HoldfastError<BundleErrorCode> {}
