import type { BlockHash, TxId, VersionHash } from '../../core/blob/ids.ts';
import type { NodeClient } from '../client.ts';
import { NodeError, NodeRpcError, RPC_NO_SUCH_TRANSACTION } from '../errors.ts';
import type { CallOptions } from '../node-call.ts';
import { getBlockHash, getBlockHeader } from '../operations/blocks.ts';
import { getBestChainLock } from '../operations/chain-info.ts';
import { type BlobInfo, getBlobInfo } from '../operations/get-blob.ts';
import { getTransaction } from '../operations/transactions.ts';
import type { BlockFinder } from './block-finder.ts';

/** What is looked for: a blob, and the transaction of ours that carries it, if it made one. */
export interface Submitted {
  readonly versionHash: VersionHash;
  readonly txid: TxId | null;
}

/** How the node sees it now. */
export type Sighting =
  | { readonly kind: 'absent' }
  /** In the cache; our transaction waits in the memory pool, or nobody can tell where it is. */
  | { readonly kind: 'listed' }
  /** In the cache still, but our transaction is neither in the memory pool nor in a block of the active branch. */
  | { readonly kind: 'adrift'; readonly reason: string }
  | {
      readonly kind: 'mined';
      readonly blockHash: BlockHash | null;
      readonly height: number | null;
      readonly locked: boolean;
    };

export async function look(
  client: NodeClient,
  wanted: Submitted,
  finder: BlockFinder,
  options: CallOptions,
): Promise<Sighting> {
  const info = await findBlob(client, wanted.versionHash, options);
  if (info === null) return { kind: 'absent' };
  const mined = await minedEntry(client, info, wanted, options);
  if (mined !== null) {
    const { blockHash, height } =
      mined.blockHash === null ? await blockOf(client, wanted.txid, finder, options) : mined;
    const locked = mined.chainLocked ?? (await isLocked(client, blockHash, options));
    return { kind: 'mined', blockHash, height, locked };
  }
  const reason = wanted.txid === null ? null : await adriftReason(client, wanted.txid, options);
  return reason === null ? { kind: 'listed' } : { kind: 'adrift', reason };
}

/** null: the node says that it has not got it. */
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
 * The entry once our own transaction is mined. One version hash can sit in many transactions, and a new one shows in the
 * entry only when it is mined; the node finds a blob by a txid from then on, and no sooner.
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

/** The specification does not say where a blob was mined; a node with a transaction index does, else its blocks do. */
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
    if (!(error instanceof NodeRpcError) || error.rpcCode !== RPC_NO_SUCH_TRANSACTION) throw error;
  }
  return (await finder.find(client, txid, options)) ?? unknown;
}

/** Is there a ChainLock on this block or above it, on the branch that this node follows? */
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

async function adriftReason(client: NodeClient, txid: TxId, options: CallOptions): Promise<string | null> {
  try {
    const { blockHash, confirmations } = await getTransaction(client, txid, options);
    // A block of a dead branch: release 5 lists its blob on, and even proves the transaction against it.
    return blockHash !== null && confirmations === 0 ? 'its block was reorganised away' : null;
  } catch (error) {
    if (!(error instanceof NodeRpcError) || error.rpcCode !== RPC_NO_SUCH_TRANSACTION) throw error;
    return 'its transaction left the memory pool without being mined';
  }
}
