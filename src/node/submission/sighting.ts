import type { BlockHash, TxId, VersionHash } from '../../core/blob/ids.ts';
import type { NodeClient } from '../client.ts';
import { NodeError, NodeRpcError, RPC_NO_SUCH_TRANSACTION } from '../errors.ts';
import type { CallOptions } from '../node-call.ts';
import { getBlockHash, getBlockHeader } from '../operations/blocks.ts';
import { getBestChainLock } from '../operations/chain-info.ts';
import { type BlobInfo, getBlobInfo } from '../operations/get-blob.ts';
import { getTransaction } from '../operations/transactions.ts';
import type { BlockFinder } from './block-finder.ts';

/** A submitted blob, and the transaction that carries it, if the node made one. */
export interface Submitted {
  readonly versionHash: VersionHash;
  readonly txid: TxId | null;
}

/** State of the submission on the node. */
export type Sighting =
  /** The node gave no answer about the blob. */
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'absent' }
  /** In the cache. The transaction is in the mempool, or its place is unknown. */
  | { readonly kind: 'listed' }
  /** In the cache, but the transaction is neither in the mempool nor in a block of the active branch. */
  | { readonly kind: 'adrift'; readonly reason: string }
  | {
      readonly kind: 'mined';
      readonly blockHash: BlockHash | null;
      readonly height: number | null;
      readonly locked: boolean;
    };

export interface Look {
  /** The latest stage that the node shows. */
  readonly seen: Sighting;
  /** The error that hides whether a later stage is reached; null: no error hides one. */
  readonly hidden: NodeError | null;
}

export async function look(
  client: NodeClient,
  wanted: Submitted,
  finder: BlockFinder,
  options: CallOptions,
): Promise<Look> {
  let seen: Sighting = { kind: 'unanswered' };
  try {
    const info = await findBlob(client, wanted.versionHash, options);
    if (info === null) return { seen: { kind: 'absent' }, hidden: null };
    seen = { kind: 'listed' };
    const mined = await minedEntry(client, info, wanted, options);
    if (mined === null) {
      // The dialects `svc` and `syscoin-4.4` name no transaction, and show a block only to a caller that names it.
      if (wanted.txid === null && info.txid === null) throw untraceable('The node’s entry names no transaction.');
      const reason = wanted.txid === null ? null : await adriftReason(client, wanted.txid, options);
      return { seen: reason === null ? seen : { kind: 'adrift', reason }, hidden: null };
    }
    const { blockHash, height } = mined;
    seen = { kind: 'mined', blockHash, height, locked: false };
    if (blockHash === null) seen = { ...seen, ...(await blockOf(client, wanted.txid, finder, options)) };
    const locked = mined.chainLocked ?? (await isLocked(client, seen.blockHash, options));
    return { seen: { ...seen, locked }, hidden: null };
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return { seen, hidden: error };
  }
}

/** Resolves to null when the node says that it lacks the blob. */
export async function findBlob(
  client: NodeClient,
  id: VersionHash | TxId,
  options: CallOptions,
): Promise<BlobInfo | null> {
  try {
    return await getBlobInfo(client, id, options);
  } catch (error) {
    if (error instanceof NodeError && error.code === 'node/absent') return null;
    throw error;
  }
}

/**
 * The entry once this submission's own transaction is mined. One version hash can have many transactions; the entry
 * shows the newest mined one. The node finds a blob by txid only after the transaction is mined.
 */
async function minedEntry(
  client: NodeClient,
  info: BlobInfo,
  { txid }: Submitted,
  options: CallOptions,
): Promise<BlobInfo | null> {
  if (txid === null || info.txid === txid) return info.blockHash === null ? null : info;
  return findBlob(client, txid, options);
}

/**
 * Finds the block of a blob. The specification's dialect does not report it; a transaction index does, or else the
 * blocks do.
 */
async function blockOf(
  client: NodeClient,
  txid: TxId | null,
  finder: BlockFinder,
  options: CallOptions,
): Promise<{ blockHash: BlockHash | null; height: number | null }> {
  const unknown = { blockHash: null, height: null };
  if (txid === null) return unknown;
  try {
    const { blockHash } = await getTransaction(client, txid, options);
    if (blockHash === null) return unknown;
    return { blockHash, height: (await getBlockHeader(client, blockHash, options)).height };
  } catch (error) {
    // Without an index, or without the right to ask, the blocks still show it.
    if (!(error instanceof NodeError) || error.retryable) throw error;
  }
  return (await finder.find(client, txid, options)) ?? unknown;
}

/** Reports whether a ChainLock covers this block on the node's active branch. */
export async function isLocked(
  client: NodeClient,
  blockHash: BlockHash | null,
  options: CallOptions,
): Promise<boolean> {
  if (blockHash === null) return false;
  const { chainLocked, height } = await getBlockHeader(client, blockHash, options);
  if (chainLocked !== null) return chainLocked;
  const best = await getBestChainLock(client, options);
  if (best === null || best.knownBlock === false || best.height < height) return false;
  const onBranch = await getBlockHash(client, best.height, options);
  return onBranch === best.hash && (await getBlockHash(client, height, options)) === blockHash;
}

/**
 * Finds the block of a transaction whose blob the cache lacks; `adrift`: the node has the transaction nowhere. A node
 * without an index does not know a mined transaction by its id, but the blocks show it.
 * @throws NodeError when the transaction waits, or the node does not show its place
 */
export async function lookForTransaction(
  client: NodeClient,
  txid: TxId,
  finder: BlockFinder,
  options: CallOptions,
): Promise<Extract<Sighting, { readonly kind: 'adrift' | 'mined' }>> {
  const reason = await adriftReason(client, txid, options);
  if (reason === REORGANISED) return { kind: 'adrift', reason };
  const { blockHash, height } = await blockOf(client, txid, finder, options);
  if (blockHash !== null) {
    return { kind: 'mined', blockHash, height, locked: await isLocked(client, blockHash, options) };
  }
  if (reason !== null) return { kind: 'adrift', reason };
  throw untraceable('Its cache lacks the blob, and does not show that the transaction is gone: it may still be mined.');
}

const REORGANISED = 'its block was reorganised away';

/** Resolves to null when the transaction is in place, and when the node does not show its place. */
async function adriftReason(client: NodeClient, txid: TxId, options: CallOptions): Promise<string | null> {
  try {
    const { blockHash, confirmations } = await getTransaction(client, txid, options);
    // A block of a dead branch: release 5 still lists its blob and proves its transaction.
    return blockHash !== null && confirmations === 0 ? REORGANISED : null;
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    const isGone = error instanceof NodeRpcError && error.rpcCode === RPC_NO_SUCH_TRANSACTION;
    return isGone ? 'its transaction left the memory pool without being mined' : null;
  }
}

/** Error for a submission whose transaction or block is unknown, so that the node cannot show its stage. */
export function untraceable(message: string): NodeError {
  return new NodeError('node/stage-unknown', message, {
    retryable: false,
    hint: 'Ask an archive for the record of the blob, or look for its transaction in the wallet.',
  });
}
