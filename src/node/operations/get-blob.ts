import { z } from 'zod';
import { type BlockHash, parseTxId, type TxId, type VersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { BLOB_TRANSACTION_VERSION, carriedBy } from '../../verify/commitment.ts';
import { VerifyError } from '../../verify/errors.ts';
import { parseTransaction } from '../../verify/transaction.ts';
import { decodeData, wrongBlob } from '../blob-answer.ts';
import type { NodeClient } from '../client.ts';
import { blockHash, decode, height, seconds, txId, versionHash } from '../decode.ts';
import { malformedAnswer, NodeError, type NodeErrorCode, NodeRpcError, RPC_NO_SUCH_TRANSACTION } from '../errors.ts';
import { medianTimeIn } from '../list-answer.ts';
import { type CallOptions, type NodeCall, SMALL_ANSWER_BYTES } from '../node-call.ts';
import { rawTransactionCall } from './transactions.ts';

/** The cache's entry of a blob. A value that the dialect lacks is null. */
export interface BlobInfo {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  /** Median time of the chain at the last submission, in Unix seconds. */
  readonly medianTimeSeconds: number | null;
  /** The requested transaction; for a version hash, the newest mined transaction. */
  readonly txid: TxId | null;
  /** Block of that transaction; null while it is unconfirmed. */
  readonly blockHash: BlockHash | null;
  readonly height: number | null;
  readonly chainLocked: boolean | null;
}

export interface BlobWithBytes extends BlobInfo {
  /** Bytes as the node sent them, not verified against the version hash. */
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
    decode: (result) => infoOf(decode(entry, result, 'getBlob')),
    confirm: (info, ask) => answering(id, info, ask),
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
      const info = infoOf(answer);
      if (answer.data === undefined)
        throw malformedAnswer('The node answered without the data that was asked for.', { id });
      return { ...info, bytes: decodeData(answer.data, info, bytesOf) };
    },
    confirm: (blob, ask) => answering(id, blob, ask),
  };
}

/**
 * Fetches a blob with its bytes, by version hash, or by the txid of a mined transaction.
 * @throws NodeError `node/absent` when the node lacks the blob
 *
 * @example
 * const { bytes } = await getBlob(client, parseVersionHash('ab'.repeat(32)));
 */
export async function getBlob(
  client: NodeClient,
  id: VersionHash | TxId,
  options: CallOptions = {},
): Promise<BlobWithBytes> {
  return client.run(getBlobCall(id), options);
}

/**
 * Fetches the entry of a blob without its bytes. The cost for the node is the same: 30 to 60 ms under its main lock.
 */
export async function getBlobInfo(
  client: NodeClient,
  id: VersionHash | TxId,
  options: CallOptions = {},
): Promise<BlobInfo> {
  return client.run(getBlobInfoCall(id), options);
}

function infoOf(answer: z.output<typeof entry>): BlobInfo {
  return {
    versionHash: answer.versionhash,
    sizeBytes: answer.datasize,
    medianTimeSeconds: medianTimeIn(answer),
    txid: answer.txid ?? null,
    blockHash: answer.blockhash ?? null,
    height: answer.height ?? null,
    chainLocked: answer.chainlock ?? null,
  };
}

/** Answers that do not show the transaction: the call is forbidden or fails, or the node has no index. */
const GIVES_NO_RAW_FORM: ReadonlySet<string> = new Set<NodeErrorCode>([
  'node/rpc-error',
  'node/method-not-found',
  'node/unauthorized',
  'node/malformed-answer',
]);

/**
 * Checks that the answer belongs to the requested transaction. After a resubmission, a look-up by the older transaction
 * answers that transaction's block with the newest txid (recorded); some dialects name no transaction. Only the raw
 * transaction shows its content.
 * @throws NodeError `node/wrong-blob` when the transaction carries other content
 */
async function answering<T extends BlobInfo>(
  id: VersionHash | TxId,
  info: T,
  ask: <A>(call: NodeCall<A>) => Promise<A>,
): Promise<T> {
  const names: readonly (string | null)[] = [info.versionHash, info.txid];
  if (names.includes(id)) return info;
  const txid = parseTxId(id);
  try {
    const where = info.blockHash === null ? {} : { blockHash: info.blockHash };
    if (carries(await ask(rawTransactionCall(txid, where)), txid, info.versionHash)) return { ...info, txid };
  } catch (error) {
    if (!(error instanceof NodeError) || !GIVES_NO_RAW_FORM.has(error.code)) throw error;
    // Nothing contradicts the node then, unless it denies the transaction in the block that it named itself.
    const isDenied = error instanceof NodeRpcError && error.rpcCode === RPC_NO_SUCH_TRANSACTION;
    if (!isDenied || (info.txid === null && info.blockHash === null)) return info;
  }
  throw wrongBlob('The node answered with another blob than the one asked for.', { id, versionHash: info.versionHash });
}

/** @throws NodeError `node/malformed-answer` */
function carries(raw: Uint8Array, txid: TxId, versionHash: VersionHash): boolean {
  try {
    const transaction = parseTransaction(raw);
    const carried = carriedBy(transaction);
    const commitment = carried.kind === 'one' ? carried.commitment : carried.nodeTakes;
    return (
      transaction.txid === txid &&
      transaction.version === BLOB_TRANSACTION_VERSION &&
      commitment?.versionHash === versionHash
    );
  } catch (cause) {
    if (!(cause instanceof VerifyError)) throw cause;
    throw malformedAnswer(`The raw transaction cannot be read: ${cause.message}`, { txid }, cause);
  }
}
