import { encodeHex } from '../core/blob/hex.ts';

/** 32 bytes as RPC shows hashes: byte-reversed lower-case hex. */
export function toDisplayHex(hash: Uint8Array): string {
  return encodeHex(new Uint8Array(hash).reverse());
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}
