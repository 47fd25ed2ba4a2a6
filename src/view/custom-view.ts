import type { VersionHash } from '../core/blob/ids.ts';

export type CustomLookup =
  /** They hash to the keccak256 that they were asked by; to the version hash they do not, by either hash. */
  | { readonly kind: 'found'; readonly bytes: Uint8Array }
  /** None were kept under this name. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'withheld'; readonly publicReason: string | null }
  | { readonly kind: 'unavailable'; readonly message: string };

/** What the HTTP room may ask of bytes that match neither hash. */
export interface CustomView {
  read(versionHash: VersionHash, keccak: VersionHash, signal: AbortSignal): Promise<CustomLookup>;
}
