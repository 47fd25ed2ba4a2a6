import type { BlockHash, TxId } from '../core/blob/ids.ts';
import type { BlobNode } from './blob-node.ts';

/** A header as the node reports it. */
export interface ChainHeader {
  readonly hash: BlockHash;
  readonly height: number;
  /** Hash of the parent; null for a genesis block. */
  readonly previousHash: BlockHash | null;
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
  /** Members of the node's answer that the follower does not need, under the node's names. */
  readonly shown?: HeaderMembers;
}

/** Members of `getblockheader` that never change. A member that the release lacks is undefined. */
export interface HeaderMembers {
  readonly version?: number | undefined;
  readonly versionHex?: string | undefined;
  readonly merkleroot?: string | undefined;
  readonly nonce?: number | undefined;
  readonly bits?: string | undefined;
  readonly difficulty?: number | undefined;
  readonly chainwork?: string | undefined;
  readonly nTx?: number | undefined;
}

/** An output that an input of a transaction spends, as the node reports it. */
export interface SpentScript {
  readonly txid: TxId;
  readonly vout: number;
  /** The scriptPubKey of that output in hex. null: the node has no undo data of the block, or is too old to tell. */
  readonly script: string | null;
}

/**
 * The calls of a layer-1 node that following the chain needs. Each may throw; an abort rejects with the signal's
 * reason.
 */
export interface ChainNode {
  /** Hash of the active block at a height. null: the active branch is shorter. */
  blockHashAt(height: number, signal: AbortSignal): Promise<BlockHash | null>;
  /** Hashes of `count` heights from `first` on, in one request. */
  blockHashesFrom(first: number, count: number, signal: AbortSignal): Promise<readonly (BlockHash | null)[]>;
  header(hash: BlockHash, signal: AbortSignal): Promise<ChainHeader>;
  /** The unverified block, as `getblock` with verbosity 0 gives it. */
  rawBlock(hash: BlockHash, signal: AbortSignal): Promise<Uint8Array>;
  /** Several blocks in one request, which fails as a whole. The caller bounds their total size as far as it can. */
  rawBlocks(hashes: readonly BlockHash[], signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /**
   * The outputs that these transactions of a block spend, for each in the order of its inputs: one call for each
   * transaction, in one request. null: the node refuses to tell of this transaction.
   */
  spentScripts(
    block: BlockHash,
    txids: readonly TxId[],
    signal: AbortSignal,
  ): Promise<readonly (readonly SpentScript[] | null)[]>;
  /** The best ChainLock. null: the node knows none, which proves nothing. The node may lack the locked block. */
  bestChainLock(signal: AbortSignal): Promise<{ readonly hash: BlockHash; readonly height: number } | null>;
  /** Resolves to the tip when it changes, or after `waitMs` milliseconds. */
  waitForNewBlock(waitMs: number, signal: AbortSignal): Promise<BlockHash>;
}

/** A node with a cache of blobs and a chain. */
export interface ArchiveNode extends BlobNode, ChainNode {}
