import { writeLossless } from './lossless-json.ts';

/** Encodes one call as JSON-RPC 1.0 with parameters by position. */
export function encodeCall(id: string, method: string, params: readonly unknown[]): string {
  return writeLossless({ jsonrpc: '1.0', id, method, params });
}

export interface BatchedCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Encodes several calls; the id of each is its index. */
export function encodeBatch(calls: readonly BatchedCall[]): string {
  return `[${calls.map(({ method, params }, index) => encodeCall(String(index), method, params)).join(',')}]`;
}
