import type { BlockHash, TxId } from '../core/blob/ids.ts';
import type { ChainTip, FetchOutcome, ListedBlob, ListedPage } from '../node/blob-node.ts';
import type { ArchiveNode, ChainHeader } from '../node/chain-node.ts';

/** Calls to all nodes together. */
export class CountedCalls {
  genesis = 0;
  tip = 0;
  list = 0;
  fetchRequests = 0;
  blobsAsked = 0;
  blockHash = 0;
  header = 0;
  block = 0;
  sender = 0;
  chainLock = 0;
  wait = 0;
}

/** Counts what the archive costs the node: requests of each kind, and blobs asked for. */
export class CountedNode implements ArchiveNode {
  readonly #node: ArchiveNode;
  readonly calls: CountedCalls;

  constructor(node: ArchiveNode, calls: CountedCalls) {
    this.#node = node;
    this.calls = calls;
  }

  get name(): string {
    return this.#node.name;
  }

  genesisHash(signal: AbortSignal): Promise<BlockHash> {
    this.calls.genesis += 1;
    return this.#node.genesisHash(signal);
  }

  tip(signal: AbortSignal): Promise<ChainTip> {
    this.calls.tip += 1;
    return this.#node.tip(signal);
  }

  listBlobs(page: { count: number; from: number }, signal: AbortSignal): Promise<ListedPage> {
    this.calls.list += 1;
    return this.#node.listBlobs(page, signal);
  }

  fetchBlobs(wanted: readonly ListedBlob[], signal: AbortSignal): Promise<FetchOutcome[]> {
    this.calls.fetchRequests += 1;
    this.calls.blobsAsked += wanted.length;
    return this.#node.fetchBlobs(wanted, signal);
  }

  blockHashAt(height: number, signal: AbortSignal): Promise<BlockHash | null> {
    this.calls.blockHash += 1;
    return this.#node.blockHashAt(height, signal);
  }

  blockHashesFrom(first: number, count: number, signal: AbortSignal): Promise<readonly (BlockHash | null)[]> {
    this.calls.blockHash += count;
    return this.#node.blockHashesFrom(first, count, signal);
  }

  header(hash: BlockHash, signal: AbortSignal): Promise<ChainHeader> {
    this.calls.header += 1;
    return this.#node.header(hash, signal);
  }

  rawBlock(hash: BlockHash, signal: AbortSignal): Promise<Uint8Array> {
    this.calls.block += 1;
    return this.#node.rawBlock(hash, signal);
  }

  rawBlocks(hashes: readonly BlockHash[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    this.calls.block += hashes.length;
    return this.#node.rawBlocks(hashes, signal);
  }

  spentScripts(block: BlockHash, txids: readonly TxId[], signal: AbortSignal): ReturnType<ArchiveNode['spentScripts']> {
    this.calls.sender += txids.length;
    return this.#node.spentScripts(block, txids, signal);
  }

  bestChainLock(signal: AbortSignal): ReturnType<ArchiveNode['bestChainLock']> {
    this.calls.chainLock += 1;
    return this.#node.bestChainLock(signal);
  }

  waitForNewBlock(waitMs: number, signal: AbortSignal): Promise<BlockHash> {
    this.calls.wait += 1;
    return this.#node.waitForNewBlock(waitMs, signal);
  }

  close(): Promise<void> {
    return this.#node.close();
  }
}
