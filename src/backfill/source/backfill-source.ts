import type { ContentName } from '../../core/blob/ids.ts';

/** Answer of a source. A fault is not an answer: it throws. */
export type SourceAnswer =
  /** Possible meanings of the body, the likeliest first (raw bytes, or hex text of them): the hash decides. */
  | { readonly kind: 'bytes'; readonly candidates: readonly Uint8Array[] }
  /** The source's definite answer that it lacks the bytes. `byRule`: a rule of its operator leaves them out. */
  | { readonly kind: 'absent'; readonly byRule?: true }
  /** The source must not give the bytes out. */
  | { readonly kind: 'withheld' };

/**
 * A number of bytes; null: it has not got it. `unknown`: it has it, and does not tell how large it is. `untold`: it does
 * not tell whether it has it without being asked for the bytes. `withheld`: it has been told not to give it out.
 */
export type ToldSize = number | 'unknown' | 'untold' | 'withheld' | null;

/** An untrusted source of bytes, which count by their hash alone. */
export interface BackfillSource {
  /** Name for messages, without credentials: `peer https://archive.example`. */
  readonly name: string;
  /** @throws SourceError or StorageError when it could not be asked, or did not answer as such a source does. */
  find(name: ContentName, signal: AbortSignal): Promise<SourceAnswer>;
  /** The size that the source claims, without the bytes. It proves nothing. */
  size(name: ContentName, signal: AbortSignal): Promise<ToldSize>;
  /**
   * GETs a path of another Holdfast's API and decodes the answer; null when nothing is there. Undefined where the
   * source is no Holdfast.
   * @throws as `find` does
   */
  question?(path: string, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}
