import { sha256 } from '@noble/hashes/sha2.js';
import { encodeHex } from '../blob/hex.ts';

/** SHA-256 of any bytes; 32 bytes come out. Injected where the platform has a faster one than JavaScript. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

/** Pure JavaScript, runs in a browser. */
export const nobleSha256: Sha256 = (bytes) => sha256(bytes);

/** The chain's hash: of transactions, headers and the nodes of the Merkle tree. */
export function doubleSha256(bytes: Uint8Array, hash: Sha256): Uint8Array {
  return hash(hash(bytes));
}

/** 32 bytes as RPC shows hashes: byte-reversed lower-case hex. */
export function toDisplayHex(hash: Uint8Array): string {
  return encodeHex(Uint8Array.from(hash).reverse());
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}
