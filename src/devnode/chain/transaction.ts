import { parseTxId, type TxId } from '../../core/blob/ids.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Content } from './content.ts';
import { doubleSha256, toRpcHex } from './double-sha256.ts';

/** Transaction version that carries blobs. */
export const BLOB_TRANSACTION_VERSION = 137;
/** Divisor of a blob's bytes in the sizes that the node reports (recorded). */
const BLOB_WEIGHT_DIVISOR = 100;
const COINBASE_PREVIOUS = '0'.repeat(64);

export interface TransactionInput {
  /** The spent output; null for a coinbase. */
  readonly previous: { readonly txid: TxId; readonly vout: number } | null;
  readonly script: Uint8Array;
  readonly sequence: number;
  readonly witness: readonly Uint8Array[];
}

export interface TransactionOutput {
  readonly valueSats: bigint;
  readonly script: Uint8Array;
}

export interface TransactionParts {
  readonly version: number;
  readonly inputs: readonly TransactionInput[];
  readonly outputs: readonly TransactionOutput[];
  readonly lockTime: number;
  readonly feeSats: bigint;
  /** The blob that the transaction carries, if any. */
  readonly content: Content | null;
}

export interface Transaction extends TransactionParts {
  readonly txid: TxId;
  readonly witnessTxid: string;
  /** Wire format with witnesses, without the blob. */
  readonly raw: Buffer;
  readonly sizeBytes: number;
  readonly strippedBytes: number;
  readonly weight: number;
  readonly virtualBytes: number;
}

export function createTransaction(parts: TransactionParts): Transaction {
  const stripped = serialise(parts, false);
  const raw = serialise(parts, true);
  const blobShare = Math.floor((parts.content?.sizeBytes ?? 0) / BLOB_WEIGHT_DIVISOR);
  const sizeBytes = raw.length + blobShare;
  const strippedBytes = stripped.length + blobShare;
  const weight = 3 * strippedBytes + sizeBytes;
  return {
    ...parts,
    txid: parseTxId(toRpcHex(doubleSha256(stripped))),
    witnessTxid: toRpcHex(doubleSha256(raw)),
    raw,
    sizeBytes,
    strippedBytes,
    weight,
    virtualBytes: Math.ceil(weight / 4),
  };
}

function serialise(parts: TransactionParts, withWitness: boolean): Buffer {
  const writer = new ByteWriter().u32(parts.version);
  if (withWitness) writer.u8(0).u8(1);
  writer.compactSize(parts.inputs.length);
  for (const input of parts.inputs) {
    writer.rpcHash(input.previous?.txid ?? COINBASE_PREVIOUS).u32(input.previous?.vout ?? 0xffffffff);
    writer.prefixed(input.script).u32(input.sequence);
  }
  writer.compactSize(parts.outputs.length);
  for (const output of parts.outputs) writer.u64(output.valueSats).prefixed(output.script);
  if (withWitness) {
    for (const input of parts.inputs) {
      writer.compactSize(input.witness.length);
      for (const item of input.witness) writer.prefixed(item);
    }
  }
  return writer.u32(parts.lockTime).finish();
}
