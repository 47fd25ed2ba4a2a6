import { hash } from 'node:crypto';

/** The chain's hash of headers, transactions and Merkle nodes. */
export function doubleSha256(bytes: Uint8Array): Buffer {
  return hash('sha256', hash('sha256', bytes, 'buffer'), 'buffer');
}

/** A hash the way RPC shows it: reversed, lower-case hex. */
export function toRpcHex(hashBytes: Uint8Array): string {
  return Buffer.from(hashBytes).reverse().toString('hex');
}

/** The bytes, in wire order, of a hash that RPC shows. */
export function fromRpcHex(hex: string): Buffer {
  return Buffer.from(hex, 'hex').reverse();
}
