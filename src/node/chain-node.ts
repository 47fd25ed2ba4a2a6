import type { BlockHash } from '../core/blob/ids.ts';
import type { BlobNode } from './blob-node.ts';

/** What a node says of one header. */
export interface ChainHeader {
  readonly hash: BlockHash;
  readonly height: number;
  /** null: a genesis block. */
  readonly previousHash: BlockHash | null;
  readonly timeSeconds: number;
  readonly medianTimeSeconds: number;
  /** The members of the node's answer that the walk does not keep, by the node's own names. */
  readonly shown?: HeaderMembers;
}

/** Members of `getblockheader` that never change; what a release does not tell is undefined. */
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

/** What the walk needs of a layer-1 node. Every call may throw; an abort rejects with the signal's reason. */
export interface ChainNode {
  /** null: the branch that the node follows does not reach so high. */
  blockHashAt(height: number, signal: AbortSignal): Promise<BlockHash | null>;
  /** The same of `count` heights from `first` on, in one question. */
  blockHashesFrom(first: number, count: number, signal: AbortSignal): Promise<readonly (BlockHash | null)[]>;
  header(hash: BlockHash, signal: AbortSignal): Promise<ChainHeader>;
  /** As `getblock` with verbosity 0 gives it: unproven. */
  rawBlock(hash: BlockHash, signal: AbortSignal): Promise<Uint8Array>;
  /** Several in one question, which fails as a whole; the caller bounds their bytes, as far as it can know. */
  rawBlocks(hashes: readonly BlockHash[], signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /** null: the node knows of none, which decides nothing. The block can be one that the node does not have. */
  bestChainLock(signal: AbortSignal): Promise<{ readonly hash: BlockHash; readonly height: number } | null>;
  /** Resolves with the tip when it changes, or after so long. */
  waitForNewBlock(waitMs: number, signal: AbortSignal): Promise<BlockHash>;
}

/** A node that the archive can follow: its cache, and its chain. */
export interface ArchiveNode extends BlobNode, ChainNode {}
