import { z } from 'zod';
import { encodeHex } from '../../core/blob/hex.ts';
import type { HashType, VersionHash } from '../../core/blob/ids.ts';
import { type BlobHasher, hashWith, nobleHasher } from '../../verify/hasher.ts';
import { checkBlobSize } from '../arguments.ts';
import type { NodeClient } from '../client.ts';
import { decode, txId } from '../decode.ts';
import type { NodeRelease } from '../dialect-rules.ts';
import { invalidArgument } from '../errors.ts';
import { type FeeOptions, feeValues } from '../fee.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';
import { type CreatedBlob, wireHashType } from './create-blob.ts';

export interface CreateRawBlobOptions extends FeeOptions {
  /** Hash type of the version hash. Default keccak256. */
  readonly hashType?: HashType;
  /** Hash functions. Default: noble, which takes 60 ms for 2 MiB. */
  readonly hasher?: BlobHasher;
}

const created = z.object({ txid: txId.optional(), fee_reason: z.string().optional() });

export function createRawBlobCall(
  versionHash: VersionHash,
  bytes: Uint8Array,
  options: CreateRawBlobOptions = {},
): NodeCall<CreatedBlob> {
  checkBlobSize(bytes);
  const named = {
    versionhash: versionHash,
    data: encodeHex(bytes),
    hash_type: wireHashType(options.hashType),
    ...feeValues(options),
  };
  return {
    operation: 'createRawBlob',
    named(release) {
      refuseCustom(versionHash, bytes, options, release);
      return named;
    },
    limitBytes: SMALL_ANSWER_BYTES,
    decode: (result) => {
      const answer = decode(created, result, 'createRawBlob');
      return { versionHash, txid: answer.txid ?? null, feeReason: answer.fee_reason ?? null };
    },
  };
}

/**
 * Submits a blob under the caller's version hash. The specification alone has custom commitments. Known releases answer
 * success to one and drop it later, so this function refuses them.
 */
export async function createRawBlob(
  client: NodeClient,
  versionHash: VersionHash,
  bytes: Uint8Array,
  options: CreateRawBlobOptions & CallOptions = {},
): Promise<CreatedBlob> {
  return client.run(createRawBlobCall(versionHash, bytes, options), options);
}

function refuseCustom(
  versionHash: VersionHash,
  bytes: Uint8Array,
  options: CreateRawBlobOptions,
  release: NodeRelease,
): void {
  if (release.dialect === 'svc') return;
  const hashType = options.hashType ?? 'keccak256';
  if (encodeHex(hashWith(options.hasher ?? nobleHasher, hashType, bytes)) === versionHash) return;
  throw invalidArgument(
    `On this node the version hash must be the ${hashType} of the data; ${versionHash} is not.`,
    'versionHash',
    versionHash,
  );
}
