import type { ContentName } from '../core/blob/ids.ts';
import type { UnverifiedBlob } from '../verify/verified-blob.ts';

/** Bytes that this process holds in memory for its readers: the last place to look before anything is called lost. */
export interface HeldBytes {
  /** A copy of the bytes, which the caller may give away; null: they are not in memory. */
  copyOf(name: ContentName): UnverifiedBlob | null;
}

/** Name of memory among places. */
export const MEMORY = 'memory';
