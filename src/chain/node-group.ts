import { ArchiveError } from '../core/archive-errors.ts';
import { HoldfastError } from '../core/blob/errors.ts';
import type { BlockHash, TxId } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import type { ChainTip, FetchOutcome, ListedBlob, ListedPage } from '../node/blob-node.ts';
import type { ArchiveNode, ChainHeader } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';
import { assertBlock } from './read-block.ts';

/** Milliseconds for which a failed node is skipped, unless all have failed. */
const PASSED_OVER_MS = 30_000;
const NOTHING = new Uint8Array();

/**
 * Several nodes as one. The first that answers is followed, and the next one when it fails. Blobs that it lacks or gave
 * wrongly are fetched from another. `ConflictWatch` compares their branches.
 */
export class NodeGroup implements ArchiveNode {
  readonly #nodes: readonly [ArchiveNode, ...ArchiveNode[]];
  /** Last failure of a node, and until when other nodes are preferred. */
  readonly #failed = new Map<ArchiveNode, { readonly error: unknown; readonly untilMs: number }>();
  /** Nodes that failed and are being asked whether they give blobs again. */
  readonly #probed = new Set<ArchiveNode>();
  #laggards: ReadonlySet<string> = new Set();
  readonly #boundChain: () => Promise<BlockHash | null>;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** Nodes seen on the archive's chain since their last failure. */
  readonly #onOurChain = new Set<ArchiveNode>();

  /** @param boundChain genesis of the archive's chain; null before the first byte is stored */
  constructor(
    nodes: readonly [ArchiveNode, ...ArchiveNode[]],
    boundChain: () => Promise<BlockHash | null>,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#nodes = nodes;
    this.#boundChain = boundChain;
    this.#clock = clock;
  }

  /** The node to follow: the group, or its only node. */
  get followed(): ArchiveNode {
    return this.#nodes.length === 1 ? this.#nodes[0] : this;
  }

  /** Every configured node by itself. */
  get all(): readonly ArchiveNode[] {
    return this.#nodes;
  }

  get name(): string {
    return this.#inOrder()[0].name;
  }

  /** Names of stalled nodes, which are asked last. */
  askLast(names: ReadonlySet<string>): void {
    this.#laggards = names;
  }

  /** Genesis of a node on the archive's chain if any answers, or else of the first one that answers. */
  async genesisHash(signal: AbortSignal): Promise<BlockHash> {
    // The caller has reason to doubt, so earlier knowledge about the nodes is dropped.
    this.#onOurChain.clear();
    return await this.#first(signal, async (node) => (await this.#boundChain()) ?? (await node.genesisHash(signal)));
  }

  tip(signal: AbortSignal): Promise<ChainTip> {
    return this.#first(signal, (node) => node.tip(signal));
  }

  listBlobs(page: { count: number; from: number }, signal: AbortSignal): Promise<ListedPage> {
    return this.#first(signal, (node) => node.listBlobs(page, signal));
  }

  async fetchBlobs(wanted: readonly ListedBlob[], signal: AbortSignal): Promise<FetchOutcome[]> {
    const [attempts = 0] = wanted.map((one) => one.attempts ?? 0);
    const order = this.#inOrder();
    // After a wrong answer the next attempt asks the next node.
    const rotated = order
      .map((_, index) => order[(index + attempts) % order.length] ?? order[0])
      .sort((a, b) => Number(this.#givesNone(a)) - Number(this.#givesNone(b)));
    const outcomes: (FetchOutcome | undefined)[] = wanted.map(() => undefined);
    let thrown: unknown = null;
    let answered = false;
    for (const node of rotated) {
      const missing = wanted.map((_, index) => index).filter((index) => outcomes[index]?.kind !== 'bytes');
      if (missing.length === 0) break;
      // A node that did not answer has not said that it lacks them.
      const fail = (error: unknown) => {
        for (const index of missing) outcomes[index] = weightier(outcomes[index], failure(error));
      };
      const failed = this.#failed.get(node);
      if (failed !== undefined && answered && this.#givesNone(node)) {
        fail(failed.error);
        continue;
      }
      // One request finds out whether the node answers again. Others go on meanwhile: the node may hang for a minute.
      if (failed !== undefined) this.#probed.add(node);
      try {
        await this.#assertOurChain(node, signal);
        const found = await node.fetchBlobs(
          missing.flatMap((index) => wanted[index] ?? []),
          signal,
        );
        for (const [at, index] of missing.entries()) outcomes[index] = weightier(outcomes[index], found[at]);
        answered = true;
        this.#failed.delete(node);
      } catch (error) {
        signal.throwIfAborted();
        thrown = error;
        if (isAway(error)) this.#passOver(node, error);
        fail(error);
      } finally {
        this.#probed.delete(node);
      }
    }
    if (!answered) throw thrown;
    return outcomes.map((outcome) => outcome ?? { kind: 'absent' });
  }

  blockHashAt(height: number, signal: AbortSignal): Promise<BlockHash | null> {
    return this.#first(signal, (node) => node.blockHashAt(height, signal));
  }

  blockHashesFrom(first: number, count: number, signal: AbortSignal): Promise<readonly (BlockHash | null)[]> {
    return this.#first(signal, (node) => node.blockHashesFrom(first, count, signal));
  }

  /** Any node will do: the hash identifies the header. */
  header(hash: BlockHash, signal: AbortSignal): Promise<ChainHeader> {
    return this.#any(signal, (node) => node.header(hash, signal));
  }

  /** A damaged or wrong block is requested from the next node: the hash identifies the right one. */
  rawBlock(hash: BlockHash, signal: AbortSignal): Promise<Uint8Array> {
    return this.#any(signal, async (node) => {
      const bytes = await node.rawBlock(hash, signal);
      if (this.#nodes.length > 1) assertBlock(bytes, hash);
      return bytes;
    });
  }

  rawBlocks(hashes: readonly BlockHash[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#any(signal, async (node) => {
      const blocks = await node.rawBlocks(hashes, signal);
      if (this.#nodes.length > 1) for (const [at, hash] of hashes.entries()) assertBlock(blocks[at] ?? NOTHING, hash);
      return blocks;
    });
  }

  spentScripts(block: BlockHash, txids: readonly TxId[], signal: AbortSignal): ReturnType<ArchiveNode['spentScripts']> {
    return this.#first(signal, (node) => node.spentScripts(block, txids, signal));
  }

  bestChainLock(signal: AbortSignal): ReturnType<ArchiveNode['bestChainLock']> {
    return this.#first(signal, (node) => node.bestChainLock(signal));
  }

  waitForNewBlock(waitMs: number, signal: AbortSignal): Promise<BlockHash> {
    return this.#inOrder()[0].waitForNewBlock(waitMs, signal);
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
  }

  /** Asks the first node that answers. A refused call is an answer. */
  async #first<T>(signal: AbortSignal, ask: (node: ArchiveNode) => Promise<T>): Promise<T> {
    return await this.#until(signal, ask, isAway);
  }

  async #any<T>(signal: AbortSignal, ask: (node: ArchiveNode) => Promise<T>): Promise<T> {
    return await this.#until(signal, ask, () => true);
  }

  async #until<T>(
    signal: AbortSignal,
    ask: (node: ArchiveNode) => Promise<T>,
    goesOn: (error: unknown) => boolean,
  ): Promise<T> {
    let first: unknown = null;
    for (const node of this.#inOrder()) {
      try {
        await this.#assertOurChain(node, signal);
        return await ask(node);
      } catch (error) {
        signal.throwIfAborted();
        if (isAway(error)) this.#passOver(node, error);
        if (!goesOn(error)) throw error;
        first ??= error;
      }
    }
    throw first;
  }

  /** A node on another chain is never followed, whatever its address. */
  async #assertOurChain(node: ArchiveNode, signal: AbortSignal): Promise<void> {
    if (this.#onOurChain.has(node)) return;
    const bound = await this.#boundChain();
    if (bound === null) return;
    const genesis = await node.genesisHash(signal);
    if (genesis !== bound) throw otherChain(node.name, genesis, bound);
    this.#onOurChain.add(node);
  }

  #passOver(node: ArchiveNode, error: unknown): void {
    this.#onOurChain.delete(node);
    this.#failed.set(node, { error, untilMs: this.#clock.steadyMs() + PASSED_OVER_MS });
  }

  #givesNone(node: ArchiveNode): boolean {
    return this.#hasFailed(node) || this.#probed.has(node);
  }

  #hasFailed(node: ArchiveNode): boolean {
    return (this.#failed.get(node)?.untilMs ?? 0) > this.#clock.steadyMs();
  }

  /** Nodes in the order of the configuration, stalled ones later, recently failed ones last. */
  #inOrder(): readonly [ArchiveNode, ...ArchiveNode[]] {
    const [head, ...rest] = this.#nodes;
    const doubts = (node: ArchiveNode) => Number(this.#hasFailed(node)) * 2 + Number(this.#laggards.has(node.name));
    const [first = head, ...others] = [...this.#nodes].sort((a, b) => doubts(a) - doubts(b));
    return rest.length === 0 ? [head] : [first, ...others];
  }
}

/** Error for one of several nodes that is on another chain. It is skipped. */
export function otherChain(name: string, genesis: BlockHash, bound: BlockHash): ArchiveError {
  return new ArchiveError(
    'archive/other-chain',
    `The node ${name} is on another chain (genesis ${genesis}) than this data folder (genesis ${bound}).`,
    {
      details: { node: name, genesis, bound },
      retryable: true,
      hint: 'Take it out of HOLDFAST_NODE_URL, or name another HOLDFAST_DATA_DIR for that chain.',
    },
  );
}

/** Reports whether the node did not answer, which proves neither presence nor absence. */
function isAway(error: unknown): boolean {
  if (error instanceof ChainError) return false;
  return !(error instanceof HoldfastError) || error.code !== 'node/rpc-error';
}

/** Bytes outweigh a failure, which outweighs absence: a blob is absent only by every node's answer. */
function weightier(before: FetchOutcome | undefined, now: FetchOutcome | undefined): FetchOutcome {
  const answer = now ?? { kind: 'absent' };
  if (before === undefined || answer.kind === 'bytes') return answer;
  return before.kind === 'absent' ? answer : before;
}

function failure(error: unknown): FetchOutcome {
  return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) };
}
