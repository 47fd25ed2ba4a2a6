import type { ContentName, CustomName } from '../core/blob/ids.ts';

/** Strong, and the same on every archive and reader: the name of content is made of its bytes. */
export function entityTagOf(name: ContentName | CustomName): string {
  return 'keccak' in name ? `"${name.keccak}"` : `"${name.hashType}:${name.versionHash}"`;
}

/**
 * Does the client already have it (`If-None-Match`, RFC 9110 13.1.2)? Compared weakly, so what stands before the quotes
 * does not matter. Linear in the header, whatever it holds.
 */
export function isAlreadyThere(ifNoneMatch: string | undefined, entityTag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.match(/"[^"]*"/g)?.includes(entityTag) ?? false;
}

/**
 * May a part be joined to what the client has (`If-Range`, RFC 9110 13.1.5)? Compared strongly. A date never holds: blobs
 * have none.
 */
export function rangeStillHolds(ifRange: string | undefined, entityTag: string): boolean {
  return ifRange === undefined || ifRange.trim() === entityTag;
}
