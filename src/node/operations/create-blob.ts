import { z } from 'zod';
import { encodeHex } from '../../core/blob/hex.ts';
import type { HashType, TxId, VersionHash } from '../../core/blob/ids.ts';
import { checkBlobSize } from '../arguments.ts';
import type { NodeClient } from '../client.ts';
import { decode, txId, versionHash } from '../decode.ts';
import { type FeeOptions, feeValues } from '../fee.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';

export interface CreateBlobOptions extends FeeOptions {
  /**
   * false: a blob in the cache is not sent again. Default true: the node sends it again and keeps it six hours longer.
   */
  readonly overwriteExisting?: boolean;
  /** Hash type of the version hash. blake2s256 needs release 5.1. Default keccak256. */
  readonly hashType?: HashType;
}

export interface CreatedBlob {
  readonly versionHash: VersionHash;
  /** null: the cache had the blob and `overwriteExisting` was false, so the node made no transaction. */
  readonly txid: TxId | null;
  /** Origin of the wallet's fee, in the node's words. */
  readonly feeReason: string | null;
}

const created = z.object({ versionhash: versionHash, txid: txId.optional(), fee_reason: z.string().optional() });

export function createBlobCall(bytes: Uint8Array, options: CreateBlobOptions = {}): NodeCall<CreatedBlob> {
  checkBlobSize(bytes);
  return {
    operation: 'createBlob',
    named: {
      data: encodeHex(bytes),
      // The value is always sent: a node refuses null, and treats a missing value as false, whatever its help says.
      overwrite_existing: options.overwriteExisting ?? true,
      hash_type: wireHashType(options.hashType),
      ...feeValues(options),
    },
    limitBytes: SMALL_ANSWER_BYTES,
    decode: (result) => {
      const answer = decode(created, result, 'createBlob');
      return { versionHash: answer.versionhash, txid: answer.txid ?? null, feeReason: answer.fee_reason ?? null };
    },
  };
}

/**
 * Submits a blob. Success means that the node accepted it for now; `submitBlob` waits until it is mined.
 * @throws NodeError. After `node/connection-lost`, `node/timeout` or `node/malformed-answer` the blob may have arrived.
 *
 * @example
 * const { versionHash, txid } = await createBlob(client, new TextEncoder().encode('hello'));
 */
export async function createBlob(
  client: NodeClient,
  bytes: Uint8Array,
  options: CreateBlobOptions & CallOptions = {},
): Promise<CreatedBlob> {
  return client.run(createBlobCall(bytes, options), options);
}

/** Name of a hash type on the wire; keccak is the default of every release. */
export function wireHashType(hashType: HashType | undefined): string | undefined {
  return hashType === 'blake2s256' ? 'blake2s' : undefined;
}
