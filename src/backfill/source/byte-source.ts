import type { ContentName } from '../../core/blob/ids.ts';

/** What somebody who may have bytes answered. A fault is no answer: it throws. */
export type SourceAnswer =
  /** What the body can mean, the likeliest first (raw bytes, or hex text of them): the hash decides. */
  | { readonly kind: 'bytes'; readonly candidates: readonly Uint8Array[] }
  /** Its positive answer that it has not got it. */
  | { readonly kind: 'absent' }
  /** It has been told not to give it out. */
  | { readonly kind: 'withheld' };

/**
 * A number of bytes; null: it has not got it. `unknown`: it has it, and does not tell how large it is. `untold`: it does
 * not tell whether it has it without being asked for the bytes. `withheld`: it has been told not to give it out.
 */
export type ToldSize = number | 'unknown' | 'untold' | 'withheld' | null;

/** Somebody who may have bytes, and is not trusted: only hashes are. */
export interface ByteSource {
  /** As it is shown, without credentials: `peer https://archive.example`. */
  readonly name: string;
  /** @throws SourceError or StorageError when it could not be asked, or did not answer as such a source does. */
  find(name: ContentName, signal: AbortSignal): Promise<SourceAnswer>;
  /** What it says of the size, without giving the bytes. Nothing is proven by it. */
  size(name: ContentName, signal: AbortSignal): Promise<ToldSize>;
  /**
   * What another Holdfast answers to a GET of its API, decoded; null: it has nothing there. Absent, and null as well, where
   * the source is none. @throws as `find` does
   */
  question?(path: string, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}
