import { ArchiveError } from '../core/archive-errors.ts';
import { HoldfastError } from '../core/blob/errors.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { Clock } from '../core/time/clock.ts';
import type { ChainTip, FetchOutcome, ListedBlob, ListedPage } from '../node/blob-node.ts';
import type { ArchiveNode, ChainHeader } from '../node/chain-node.ts';
import { ChainError } from './errors.ts';
import { assertBlock } from './read-block.ts';

/** A node that failed is passed over for this long, unless all have. */
const PASSED_OVER_MS = 30_000;
const NOTHING = new Uint8Array();

/**
 * Several nodes as one: the first that answers is followed, the next one when it does not; what it lacks, or gave wrongly
 * before, is fetched from another. Whether they agree about the chain is watched elsewhere.
 */
export class NodeGroup implements ArchiveNode {
  readonly #nodes: readonly [ArchiveNode, ...ArchiveNode[]];
  readonly #failedUntilMs = new Map<ArchiveNode, number>();
  #laggards: ReadonlySet<string> = new Set();
  readonly #boundChain: () => Promise<BlockHash | null>;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** Nodes that were seen to be on our chain since they last failed. */
  readonly #onOurChain = new Set<ArchiveNode>();

  /** `boundChain`: genesis of the chain that the bytes here belong to; null before they belong to one. */
  constructor(
    nodes: readonly [ArchiveNode, ...ArchiveNode[]],
    boundChain: () => Promise<BlockHash | null>,
    clock: Pick<Clock, 'steadyMs'>,
  ) {
    this.#nodes = nodes;
    this.#boundChain = boundChain;
    this.#clock = clock;
  }

  /** What is followed: the group, or the one node that there is. */
  get followed(): ArchiveNode {
    return this.#nodes.length === 1 ? this.#nodes[0] : this;
  }

  /** Every configured node, each by itself. */
  get all(): readonly ArchiveNode[] {
    return this.#nodes;
  }

  get name(): string {
    return this.#inOrder()[0].name;
  }

  /** Names of those who stand still while others go on: they are asked after these. */
  askLast(names: ReadonlySet<string>): void {
    this.#laggards = names;
  }

  /** Of a node on the chain that the bytes here belong to, if any is; else of the first one that answers. */
  async genesisHash(signal: AbortSignal): Promise<BlockHash> {
    // Whoever asks has a reason: what was known of the nodes before counts no more.
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
    // What came wrong from one node is asked of the next one the next time.
    const rotated = order.map((_, index) => order[(index + attempts) % order.length] ?? order[0]);
    const outcomes: (FetchOutcome | undefined)[] = wanted.map(() => undefined);
    let thrown: unknown = null;
    let answered = false;
    for (const node of rotated) {
      const missing = wanted.map((_, index) => index).filter((index) => outcomes[index]?.kind !== 'bytes');
      if (missing.length === 0) break;
      try {
        await this.#assertOurChain(node, signal);
        const found = await node.fetchBlobs(
          missing.flatMap((index) => wanted[index] ?? []),
          signal,
        );
        for (const [at, index] of missing.entries()) outcomes[index] = weightier(outcomes[index], found[at]);
        answered = true;
      } catch (error) {
        signal.throwIfAborted();
        thrown = error;
        if (isAway(error)) this.#passOver(node);
        // A node that did not answer has not said that it lacks them.
        for (const index of missing) outcomes[index] = weightier(outcomes[index], failure(error));
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

  /** Any node will do: a hash says what it names. */
  header(hash: BlockHash, signal: AbortSignal): Promise<ChainHeader> {
    return this.#any(signal, (node) => node.header(hash, signal));
  }

  /** What one has damaged, or takes for another block, is asked of the next: the hash says which of them is right. */
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

  bestChainLock(signal: AbortSignal): ReturnType<ArchiveNode['bestChainLock']> {
    return this.#first(signal, (node) => node.bestChainLock(signal));
  }

  waitForNewBlock(waitMs: number, signal: AbortSignal): Promise<BlockHash> {
    return this.#inOrder()[0].waitForNewBlock(waitMs, signal);
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
  }

  /** The first node that answers, whatever it answers: a refusal of one call is an answer. */
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
        if (isAway(error)) this.#passOver(node);
        if (!goesOn(error)) throw error;
        first ??= error;
      }
    }
    throw first;
  }

  /** A node on another chain is never followed, however it came to stand at this address. */
  async #assertOurChain(node: ArchiveNode, signal: AbortSignal): Promise<void> {
    if (this.#onOurChain.has(node)) return;
    const bound = await this.#boundChain();
    if (bound === null) return;
    const genesis = await node.genesisHash(signal);
    if (genesis !== bound) throw otherChain(node.name, genesis, bound);
    this.#onOurChain.add(node);
  }

  #passOver(node: ArchiveNode): void {
    this.#onOurChain.delete(node);
    this.#failedUntilMs.set(node, this.#clock.steadyMs() + PASSED_OVER_MS);
  }

  /** In the order of the configuration, but those that stand still later, and those that failed lately last. */
  #inOrder(): readonly [ArchiveNode, ...ArchiveNode[]] {
    const [head, ...rest] = this.#nodes;
    const nowMs = this.#clock.steadyMs();
    const hasFailed = (node: ArchiveNode) => (this.#failedUntilMs.get(node) ?? 0) > nowMs;
    const doubts = (node: ArchiveNode) => Number(hasFailed(node)) * 2 + Number(this.#laggards.has(node.name));
    const [first = head, ...others] = [...this.#nodes].sort((a, b) => doubts(a) - doubts(b));
    return rest.length === 0 ? [head] : [first, ...others];
  }
}

/** What is said of one node among several that is on another chain: it is passed over. */
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

/** It cannot be asked now: neither what it knows nor what it lacks is told by that. */
function isAway(error: unknown): boolean {
  if (error instanceof ChainError) return false;
  return !(error instanceof HoldfastError) || error.code !== 'node/rpc-error';
}

/** Bytes over everything, a failure over absence: absent is only what all have answered to be. */
function weightier(before: FetchOutcome | undefined, now: FetchOutcome | undefined): FetchOutcome {
  const answer = now ?? { kind: 'absent' };
  if (before === undefined || answer.kind === 'bytes') return answer;
  return before.kind === 'absent' ? answer : before;
}

function failure(error: unknown): FetchOutcome {
  return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) };
}
