import { setTimeout as pause } from 'node:timers/promises';
import { type BlockHash, parseBlockHash, parseTxId, type TxId } from '../../src/core/blob/ids.ts';
import type { ChainTip, FetchOutcome, ListedBlob, ListedPage } from '../../src/node/blob-node.ts';
import type { ArchiveNode, ChainHeader } from '../../src/node/chain-node.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';

type Fetching = (wanted: readonly ListedBlob[], signal: AbortSignal) => Promise<FetchOutcome[]>;

export const GENESIS = parseBlockHash('11'.repeat(32));
export const NOW_SECONDS = 1_767_225_600;
/** The next block is where the walk of such an archive begins. */
export const TIP_HEIGHT = 1_000;

/**
 * A node's cache in memory. Every answer can be replaced by what a test wants. Its chain has no blocks: the walk begins
 * above its tip, which only ever changes its hash.
 */
export class FakeBlobNode implements ArchiveNode {
  readonly name: string = 'http://fake';
  readonly blobs = new Map<string, { listed: ListedBlob; bytes: Uint8Array }>();
  readonly pages: { count: number; from: number }[] = [];
  /** Requests so far, each as its list of blobs. */
  readonly requests: (readonly ListedBlob[])[] = [];
  genesis: () => Promise<BlockHash> = async () => GENESIS;
  tipNow: () => Promise<ChainTip> = async () => this.tipValue;
  listing: ((page: { count: number; from: number }) => Promise<ListedBlob[]>) | null = null;
  /** Entries of the first page that are damaged. */
  unreadable = 0;
  fetching: Fetching = async (wanted) => wanted.map((one) => this.outcomeOf(one));
  tipValue: ChainTip = {
    height: TIP_HEIGHT,
    hash: parseBlockHash('22'.repeat(32)),
    medianTimeSeconds: NOW_SECONDS,
    syncing: false,
  };
  #mined = 0;
  #underWay = 0;
  maxUnderWay = 0;

  publish(blob: VerifiedBlob, medianTimeSeconds: number = NOW_SECONDS): ListedBlob {
    const { versionHash, bytes } = blob;
    const listed = { versionHash, sizeBytes: bytes.length, medianTimeSeconds, txid: parseTxId('33'.repeat(32)) };
    this.blobs.set(versionHash, { listed, bytes: Uint8Array.from(bytes) });
    return listed;
  }

  /** Adds a block: every watcher of the tip reads the list again. */
  mine(): void {
    this.#mined += 1;
    const hash = parseBlockHash(this.#mined.toString(16).padStart(64, '0'));
    this.tipValue = { ...this.tipValue, hash };
  }

  outcomeOf({ versionHash }: ListedBlob): FetchOutcome {
    const found = this.blobs.get(versionHash);
    if (found === undefined) return { kind: 'absent' };
    return { kind: 'bytes', blob: { versionHash, hashType: null, bytes: Uint8Array.from(found.bytes) } };
  }

  /** Number of requests for a blob. */
  askedFor(versionHash: string): number {
    return this.requests.flat().filter((one) => one.versionHash === versionHash).length;
  }

  async genesisHash(): Promise<BlockHash> {
    return await this.genesis();
  }

  async tip(): Promise<ChainTip> {
    return await this.tipNow();
  }

  async listBlobs(page: { count: number; from: number }): Promise<ListedPage> {
    this.pages.push(page);
    const unreadable = page.from === 0 ? this.unreadable : 0;
    if (this.listing !== null) return { entries: await this.listing(page), unreadable };
    const all = [...this.blobs.values()].map(({ listed }) => listed);
    return { entries: all.slice(page.from, page.from + page.count), unreadable };
  }

  async fetchBlobs(wanted: readonly ListedBlob[], signal: AbortSignal): Promise<FetchOutcome[]> {
    this.requests.push(wanted);
    this.#underWay += 1;
    this.maxUnderWay = Math.max(this.maxUnderWay, this.#underWay);
    try {
      return await this.fetching(wanted, signal);
    } finally {
      this.#underWay -= 1;
    }
  }

  async blockHashAt(_height: number): Promise<BlockHash | null> {
    return null;
  }

  async blockHashesFrom(first: number, count: number): Promise<(BlockHash | null)[]> {
    return await Promise.all(Array.from({ length: count }, (_, index) => this.blockHashAt(first + index)));
  }

  async header(): Promise<ChainHeader> {
    throw new Error('This node has no blocks.');
  }

  async rawBlock(_hash: BlockHash): Promise<Uint8Array> {
    throw new Error('This node has no blocks.');
  }

  async rawBlocks(hashes: readonly BlockHash[]): Promise<Uint8Array[]> {
    return await Promise.all(hashes.map((hash) => this.rawBlock(hash)));
  }

  async spentScripts(_block: BlockHash, txids: readonly TxId[]): Promise<null[]> {
    return txids.map(() => null);
  }

  async bestChainLock(): Promise<null> {
    return null;
  }

  async waitForNewBlock(_waitMs: number, signal: AbortSignal): Promise<BlockHash> {
    await pause(20, undefined, { signal });
    return this.tipValue.hash;
  }

  async close(): Promise<void> {}
}
