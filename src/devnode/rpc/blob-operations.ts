import { decodeHex } from '../../core/blob/hex.ts';
import { type HashType, parseVersionHash } from '../../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import { type Content, versionHashOf } from '../chain/content.ts';
import { BLOB_TRANSACTION_VERSION } from '../chain/transaction.ts';
import { listPage } from './blob-list.ts';
import { blobView, placeOf } from './blob-view.ts';
import type { Handler, NodeContext } from './node-context.ts';
import type { Params } from './params.ts';
import type { Reply } from './reply.ts';
import { RpcError } from './rpc-error.ts';
import { checkFee } from './wallet-rules.ts';

/** Milliseconds of a get under the real node's lock (measured, release 5.1.1). */
const GET_BY_HASH_MS = 60;
const GET_BY_TXID_MS = 30;

export const createBlob: Handler = (params, node) => {
  const overwrite = overwriteOf(params, node);
  const hashType = hashTypeOf(params, node);
  const bytes = dataOf(params);
  const versionHash = versionHashOf(hashType, bytes);
  const fee = checkFee(params);
  if (!overwrite && node.chain.cache.get(versionHash) !== null) {
    return { versionhash: versionHash };
  }
  return { ...send(node, hashType, versionHash, bytes, fee, true), versionhash: versionHash, datasize: bytes.length };
};

export const createRawBlob: Handler = (params, node) => {
  const named = hashTypeOf(params, node);
  const given = params.string('versionhash');
  // A name of 33 bytes carries its hash type; only release 5 accepts one.
  const tagged = node.dialect === 'syscoin-5' && given.length === 66 && given.startsWith('01');
  const hashType = tagged ? 'blake2s256' : named;
  const hex = tagged ? given.slice(2) : given;
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw new RpcError('invalidParams', 'Invalid version hash length');
  const bytes = dataOf(params);
  const versionHash = parseVersionHash(hex);
  const matches = versionHashOf(hashType, bytes) === versionHash;
  // The specification alone has custom commitments: every release checks the hash when a block connects.
  return send(node, hashType, versionHash, bytes, checkFee(params), matches || node.dialect === 'svc');
};

export const listBlobs: Handler = (params, node) => {
  const options = params.object('options');
  if (node.dialect === 'syscoin-5' && options['stats'] === true) {
    const stats = node.chain.cache.stats();
    return [
      {
        total_blobs: stats.totalBlobs,
        total_size: stats.totalBytes,
        oldest_mpt: stats.oldestSeconds,
        newest_mpt: stats.newestSeconds,
      },
    ];
  }
  const page = { count: params.integer('count', 0), from: params.integer('from', 0) };
  const withData = node.dialect !== 'syscoin-5' && options['getdata'] === true;
  return listPage(node.chain.cache, page, node.dialect).map((entry) => blobView(node, entry, null, withData, 'list'));
};

export const getBlob: Handler = async (params, node): Promise<Reply> => {
  const asked = params.hash('versionhash_or_txid', 'parameter 1');
  const withData = params.bool('getdata', false);
  const mined = node.chain.tree.find(asked);
  if (mined?.active !== true) {
    await node.spend(GET_BY_HASH_MS);
    const entry = node.chain.cache.get(asked);
    if (entry === null) throw notFound(asked, node);
    // Release 4.4 names a block only to a caller that names the transaction (read in its sources).
    const place = node.dialect === 'syscoin-4.4' ? null : placeOf(node.chain, entry.txid);
    return blobView(node, entry, place, withData, 'get');
  }
  await node.spend(GET_BY_TXID_MS);
  const { content, version } = mined.transaction;
  if (content === null || version !== BLOB_TRANSACTION_VERSION) {
    throw new RpcError('invalidParams', 'Could not parse blob data from transaction');
  }
  const entry = node.chain.cache.get(content.versionHash);
  if (entry === null) throw notFound(content.versionHash, node);
  // An older transaction of the same content gives its own block with the newest txid (recorded).
  return blobView(node, entry, mined.block, withData, 'get');
};

function notFound(versionHash: string, node: NodeContext): RpcError {
  const what = node.dialect === 'syscoin-4.4' ? 'MTP' : 'blob information';
  return new RpcError('invalidParams', `Could not find ${what} for versionhash ${versionHash}`);
}

/**
 * Default of the parameter: true in the specification, false in the releases, although their help says true. The
 * releases refuse null (recorded from release 5.1.1; release 4.4 reads the parameter by the same call).
 */
function overwriteOf(params: Params, node: NodeContext): boolean {
  if (node.dialect === 'svc') return params.bool('overwrite_existing', true);
  if (params.isNull('overwrite_existing')) {
    throw new RpcError('type', 'JSON value of type null is not of expected type bool');
  }
  return params.bool('overwrite_existing', false);
}

function hashTypeOf(params: Params, node: NodeContext): HashType {
  const name = node.dialect === 'syscoin-5' ? (params.optionalString('hash_type') ?? 'keccak') : 'keccak';
  if (name === 'keccak') return 'keccak256';
  if (name === 'blake2s') return 'blake2s256';
  throw new RpcError('invalidParams', "hash_type must be either 'blake2s' or 'keccak'");
}

/** Decodes data. The node has one error for odd length, other characters and empty text (recorded). */
function dataOf(params: Params): Uint8Array {
  try {
    const bytes = decodeHex(params.string('data'));
    if (bytes.length > 0) return bytes;
  } catch {
    // The error below covers this case too.
  }
  throw new RpcError('invalidParams', 'Empty input, are you sure you passed in hex?');
}

function send(
  node: NodeContext,
  hashType: HashType,
  versionHash: Content['versionHash'],
  bytes: Uint8Array,
  feeSatsPerVbyte: bigint | null,
  hashIsFine: boolean,
): { txid: string; fee_reason: string } {
  const acceptable = hashIsFine && bytes.length <= MAX_BLOB_BYTES;
  const content: Content = acceptable
    ? node.state.storedContent(hashType, versionHash, bytes)
    : { hashType, versionHash, sizeBytes: bytes.length, source: { kind: 'stored', read: () => bytes } };
  const submitted = node.state.submit({ content, acceptable, feeSatsPerVbyte });
  if (submitted === null) throw new RpcError('insufficientFunds', 'Insufficient funds');
  return { txid: submitted.transaction.txid, fee_reason: submitted.feeReason };
}
