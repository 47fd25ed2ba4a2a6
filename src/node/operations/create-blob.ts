import { z } from 'zod';
import { encodeHex } from '../../core/blob/hex.ts';
import type { HashType, TxId, VersionHash } from '../../core/blob/ids.ts';
import { checkBlobSize } from '../arguments.ts';
import type { NodeClient } from '../client.ts';
import { decode, txId, versionHash } from '../decode.ts';
import { type FeeOptions, feeValues } from '../fee.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';

export interface CreateBlobOptions extends FeeOptions {
  /** false: a blob that the cache has is not sent again. Default true: it is, and stays six hours longer. */
  readonly overwriteExisting?: boolean;
  /** blake2s256 needs release 5.1. Default keccak256. */
  readonly hashType?: HashType;
}

export interface CreatedBlob {
  readonly versionHash: VersionHash;
  /** null: the cache had it, and `overwriteExisting` was false; no transaction was made. */
  readonly txid: TxId | null;
  /** How the wallet came by the fee, in the node's words. */
  readonly feeReason: string | null;
}

const created = z.object({ versionhash: versionHash, txid: txId.optional(), fee_reason: z.string().optional() });

export function createBlobCall(bytes: Uint8Array, options: CreateBlobOptions = {}): NodeCall<CreatedBlob> {
  checkBlobSize(bytes);
  return {
    operation: 'createBlob',
    named: {
      data: encodeHex(bytes),
      // Always sent: a node refuses null for it, and left out it is false there, whatever the node's help says.
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
 * Submits a blob. A success means accepted for now: use `submitBlob` to know that it was mined.
 * @throws NodeError; after `node/connection-lost` or `node/timeout` it may have arrived.
 */
export async function createBlob(
  client: NodeClient,
  bytes: Uint8Array,
  options: CreateBlobOptions & CallOptions = {},
): Promise<CreatedBlob> {
  return client.run(createBlobCall(bytes, options), options);
}

/** keccak is what every release takes when nothing is said. */
export function wireHashType(hashType: HashType | undefined): string | undefined {
  return hashType === 'blake2s256' ? 'blake2s' : undefined;
}
