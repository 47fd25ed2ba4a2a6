import type { ContentName } from '../core/blob/ids.ts';
import type { Manifest } from './manifest.ts';

/** One thing that a source holds. A path is shown to people and never opened: who made the source chose it. */
export type Part =
  /** A whole file, no longer than a blob can be as hex text. */
  | { readonly kind: 'bytes'; readonly path: string; readonly bytes: Uint8Array }
  /** A block of a bundle whose CID says which blob it is; its bytes are still to be hashed. */
  | { readonly kind: 'named'; readonly path: string; readonly name: ContentName; readonly bytes: Uint8Array }
  | { readonly kind: 'record'; readonly path: string; readonly text: string }
  | { readonly kind: 'manifest'; readonly path: string; readonly manifest: Manifest }
  /** Positively nothing that an archive could take. */
  | { readonly kind: 'unusable'; readonly path: string; readonly why: string }
  /** An unreadable file: its content is unknown. */
  | { readonly kind: 'fault'; readonly path: string; readonly why: string };

export function tooLarge(path: string): Part {
  return { kind: 'unusable', path, why: 'It is longer than any blob, also as hex text.' };
}

const MAX_PATH_CHARS = 200;

/** A path as a terminal may show it: without control characters, which could move a cursor or hide a line. */
export function shownPath(path: string): string {
  const plain = path.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '�');
  return plain.length > MAX_PATH_CHARS ? `…${plain.slice(-MAX_PATH_CHARS)}` : plain;
}
