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
  | 'bundle/unwritable'
  /** A bucket gave other bytes than it was given. */
  | 'bundle/wrong-bytes';

export class BundleError extends HoldfastError<BundleErrorCode> {}

export function exists(path: string): BundleError {
  return new BundleError('bundle/exists', `${path} is there already, and is not written over.`, {
    details: { path },
    retryable: false,
    hint: 'Name another place, or move that one away. `holdfast verify --bundle` says what it is.',
  });
}
