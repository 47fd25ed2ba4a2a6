import { z } from 'zod';
import type { BlockHash, TxId, VersionHash } from '../../blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../blob/limits.ts';
import { decodeData, wrongBlob } from '../blob-answer.ts';
import type { NodeClient } from '../client.ts';
import { blockHash, decode, height, seconds, txId, versionHash } from '../decode.ts';
import { malformedAnswer } from '../errors.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';

/** What the cache knows of a blob. What a dialect does not tell is null. */
export interface BlobInfo {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  /** Median time of the chain when it was last submitted, seconds. */
  readonly medianTimeSeconds: number | null;
  readonly txid: TxId | null;
  /** null while it is not mined, too. */
  readonly blockHash: BlockHash | null;
  readonly height: number | null;
  readonly chainLocked: boolean | null;
}

export interface BlobWithBytes extends BlobInfo {
  /** As the node sent them: not checked against the version hash. */
  readonly bytes: Uint8Array;
}

const entry = z.object({
  versionhash: versionHash,
  datasize: z.int().nonnegative(),
  mtp: seconds.optional(),
  mpt: seconds.optional(),
  txid: txId.optional(),
  blockhash: blockHash.optional(),
  height: height.optional(),
  chainlock: z.boolean().optional(),
  data: z.string().optional(),
});

export function getBlobInfoCall(id: VersionHash | TxId): NodeCall<BlobInfo> {
  return {
    operation: 'getBlob',
    named: { versionhash_or_txid: id },
    limitBytes: SMALL_ANSWER_BYTES,
    decode: (result) => infoOf(decode(entry, result, 'getBlob'), id),
  };
}

export function getBlobCall(id: VersionHash | TxId): NodeCall<BlobWithBytes> {
  return {
    operation: 'getBlob',
    named: { versionhash_or_txid: id, getdata: true },
    limitBytes: SMALL_ANSWER_BYTES + MAX_BLOB_BYTES * 2,
    carriesBlobs: true,
    decode(result, bytesOf) {
      const answer = decode(entry, result, 'getBlob');
      const info = infoOf(answer, id);
      if (answer.data === undefined)
        throw malformedAnswer('The node answered without the data that was asked for.', { id });
      return { ...info, bytes: decodeData(answer.data, info, bytesOf) };
    },
  };
}

/**
 * A blob of the cache with its bytes, by version hash, or by the txid once it is mined.
 * @throws NodeError `node/absent` when the node says it has not got it
 */
export async function getBlob(
  client: NodeClient,
  id: VersionHash | TxId,
  options: CallOptions = {},
): Promise<BlobWithBytes> {
  return client.run(getBlobCall(id), options);
}

/** The same without the bytes. It costs the node as much: 30 to 60 ms under its main lock. */
export async function getBlobInfo(
  client: NodeClient,
  id: VersionHash | TxId,
  options: CallOptions = {},
): Promise<BlobInfo> {
  return client.run(getBlobInfoCall(id), options);
}

function infoOf(answer: z.output<typeof entry>, id: VersionHash | TxId): BlobInfo {
  const names: readonly string[] = [answer.versionhash, answer.txid ?? id];
  if (!names.includes(id)) throw wrongBlob('The node answered with another blob than the one asked for.', { id });
  return {
    versionHash: answer.versionhash,
    sizeBytes: answer.datasize,
    medianTimeSeconds: answer.mtp ?? answer.mpt ?? null,
    txid: answer.txid ?? null,
    blockHash: answer.blockhash ?? null,
    height: answer.height ?? null,
    chainLocked: answer.chainlock ?? null,
  };
}
