import type { BlockHash } from '../blob/ids.ts';
import type { BlobNode, ChainTip, FetchOutcome, ListedBlob } from './blob-node.ts';

/** Counts what the archive costs the node: requests of each kind, and blobs asked for. */
export class CountedNode implements BlobNode {
  readonly #node: BlobNode;
  readonly calls = { genesis: 0, tip: 0, list: 0, fetchRequests: 0, blobsAsked: 0 };

  constructor(node: BlobNode) {
    this.#node = node;
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

  listBlobs(page: { count: number; from: number }, signal: AbortSignal): Promise<ListedBlob[]> {
    this.calls.list += 1;
    return this.#node.listBlobs(page, signal);
  }

  fetchBlobs(wanted: readonly ListedBlob[], signal: AbortSignal): Promise<FetchOutcome[]> {
    this.calls.fetchRequests += 1;
    this.calls.blobsAsked += wanted.length;
    return this.#node.fetchBlobs(wanted, signal);
  }

  close(): Promise<void> {
    return this.#node.close();
  }
}
