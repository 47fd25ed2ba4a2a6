import type { Catalog } from '../catalog/catalog.ts';
import type { TakenBack, WalkedBlock } from '../catalog/walked-block.ts';
import { codeOf, HoldfastError, messageOf } from '../core/blob/errors.ts';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Pulse } from '../core/pulse.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type Next, runLoop } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ChainTip } from '../node/blob-node.ts';
import type { ChainNode } from '../node/chain-node.ts';
import type { Activity } from '../view/activity.ts';
import { blocksAt } from './block-stream.ts';
import { BlockTimes } from './block-times.ts';
import { ChainError, type WalkFailure } from './errors.ts';
import type { Finality } from './finality.ts';
import { relationTo } from './fork.ts';
import { lowestSavableHeight } from './start-height.ts';
import { tellUnclear } from './tell-unclear.ts';

export interface FollowerModules {
  readonly node: ChainNode;
  readonly catalog: Catalog;
  readonly poller: Poller;
  readonly finality: Finality;
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
}

/**
 * What shares one synced commit while the walk catches up: while it is written nothing is asked for, so that few of them
 * are wanted; but nobody else is served either, so that none may be long. Bytes are what blocks hold in memory.
 */
const GROUP = { blocks: 512, occurrences: 2_048, bytes: 8 * 1_048_576 } as const;
/** The walk is current when it is at most so many blocks behind the node. */
const MOST_BEHIND = 2;
/** ChainLocks come between blocks: how often one is asked for while something is not final. */
const LOCK_MS = 10_000;
/** The first reading of the list is waited for so often, and so long each time. */
const [LIST_WAITS, LIST_MS] = [100, 100];
/** What was taken back although it had been final is told for so long, by the time of the chain. */
const WITHDRAWN_SECONDS = 86_400;

/** Walks the node's branch block by block; its cursor moves only over what is recorded durably. */
export class Follower {
  readonly #startHeight: number | null;
  readonly #modules: FollowerModules;
  /** Rings when the node has a new tip. */
  readonly #tips = new Pulse();
  /** Rings when the walk moved. */
  readonly moved = new Pulse();
  #hasLooked = false;
  #at: WalkFailure['at'] = 'walk';
  #lastFailure: WalkFailure | null = null;

  /** `startHeight`: where the operator wants the walk to begin; null: at the lowest height that can still be saved. */
  constructor(startHeight: number | null, modules: FollowerModules) {
    this.#startHeight = startHeight;
    this.#modules = modules;
    modules.activity.on('tip', () => this.#tips.ring());
  }

  async run(signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      // Also while no node answers: a restart ends nothing.
      this.#tellWithdrawn();
      await this.#turn(signal);
      return LOCK_MS;
    };
    const tell = (error: unknown) => this.#tell(error);
    await runLoop('chain:walk', step, { signal, backoff: BACKOFF.node, wake: this.#tips, tell });
  }

  /** Blocks that the node has and the walk has not; null: that is not known. */
  get lagBlocks(): number | null {
    const { tip: nodeTip } = this.#modules.poller.state;
    const { tip, startHeight } = this.#modules.catalog.chain.state;
    if (nodeTip === null || startHeight === null) return null;
    // A walk that begins above the node's tip has looked at nothing.
    if (tip === null && startHeight > nodeTip.height + 1) return null;
    return Math.max(0, nodeTip.height - (tip?.height ?? startHeight - 1));
  }

  /** Then what no block named is on no block, by this node. */
  get isWalked(): boolean {
    return !this.isFarBehind && this.#lastFailure === null && !this.#modules.conditions.has('chain:branch');
  }

  /** It came to the tip once since the start, and the node was asked what is final then. */
  get hasLookedForFinal(): boolean {
    return this.#hasLooked;
  }

  /** More than a new block or two, or nobody knows how far. */
  get isFarBehind(): boolean {
    const lag = this.lagBlocks;
    return lag === null || lag > MOST_BEHIND;
  }

  /** Why it is not current, as far as that is known. */
  get lastFailure(): WalkFailure | null {
    return this.#lastFailure;
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { poller, finality } = this.#modules;
    this.#at = 'walk';
    const tip = poller.state.tip;
    if (tip === null || !poller.mayFetch) return;
    if (!(await this.#begin(tip, signal))) return;
    while (!signal.aborted && (await this.#advance(tip, signal)) === 'again');
    this.#at = 'finality';
    if (finality.isBehind && (await finality.look(signal))) this.#tellFinal();
    this.#hasLooked = true;
    this.#tellWithdrawn();
    this.moved.ring();
  }

  #tellFinal(): void {
    const { activity, catalog } = this.#modules;
    const { finalHeight } = catalog.chain.state;
    if (finalHeight !== null) activity.emit('final', finalHeight);
  }

  /** false: it cannot begin yet. */
  async #begin(tip: ChainTip, signal: AbortSignal): Promise<boolean> {
    const { catalog, node, poller } = this.#modules;
    const recorded = catalog.chain.state.startHeight;
    if (recorded !== null) {
      this.#tellOtherStart(recorded);
      return true;
    }
    if (this.#startHeight !== null) {
      if (this.#isAbove(this.#startHeight, tip)) return false;
      catalog.chain.recordStart(this.#startHeight);
      return true;
    }
    // While it catches up, "now" is long ago, and everything would look savable.
    if (tip.syncing) return false;
    // What the node lists is what can be saved: before its list was read once, nobody knows how far back that goes.
    for (let wait = 0; poller.state.sweptMs === null && wait < LIST_WAITS; wait += 1)
      await this.#tips.wait(LIST_MS, signal);
    if (signal.aborted || poller.state.sweptMs === null) return false;
    catalog.chain.recordStart(await lowestSavableHeight(tip, poller.oldestListedSeconds, node, signal));
    return true;
  }

  /** What is above the tip is not fixed for good: it may be a mistake. The next block is the highest to begin with. */
  #isAbove(startHeight: number, { height }: ChainTip): boolean {
    const isAbove = startHeight > height + 1;
    this.#modules.conditions.set(
      'chain:start',
      isAbove
        ? {
            code: 'chain/start-height',
            message: `HOLDFAST_START_HEIGHT is ${startHeight}, but the chain ends at height ${height}: nothing is walked before it comes there.`,
            hint: 'Correct it, or leave it out: the walk begins at the lowest height that can still be saved then.',
            blocksReadiness: true,
          }
        : null,
    );
    return isAbove;
  }

  /** One stretch of the way to the tip. `again`: the branch was another one, or there is more. */
  async #advance(tip: ChainTip, signal: AbortSignal): Promise<'there' | 'again'> {
    const { chain } = this.#modules.catalog;
    const { tip: cursor, startHeight } = chain.state;
    if (startHeight === null || cursor?.hash === tip.hash) return this.#there();
    const next = cursor === null ? startHeight : cursor.height + 1;
    if (tip.height < next) return cursor === null ? 'there' : await this.#compareBranches(signal);
    if ((await this.#walk(next, tip, signal)) === 'parted') return await this.#compareBranches(signal);
    return chain.state.tip?.hash === tip.hash ? this.#there() : await this.#compareBranches(signal);
  }

  async #walk(first: number, tip: ChainTip, signal: AbortSignal): Promise<'walked' | 'parted'> {
    const { catalog, node } = this.#modules;
    let group: WalkedBlock[] = [];
    let bytes = 0;
    let occurrences = 0;
    let last = catalog.chain.state.tip;
    let times: BlockTimes | null = null;
    const commit = () => {
      this.#record(group, tip);
      group = [];
      bytes = 0;
      occurrences = 0;
    };
    try {
      for await (const { block, rawBytes } of blocksAt(first, tip.height, tip, node, signal)) {
        if (last !== null && block.previousHash !== last.hash) return 'parted';
        times ??= await BlockTimes.before(block.height, block.previousHash, catalog.chain, node, signal);
        last = { ...block, medianTimeSeconds: times.follow(block.timeSeconds) };
        group.push({ ...block, medianTimeSeconds: last.medianTimeSeconds });
        bytes += rawBytes;
        occurrences += block.occurrences.length;
        if (group.length >= GROUP.blocks || occurrences >= GROUP.occurrences || bytes >= GROUP.bytes) commit();
      }
      return 'walked';
    } finally {
      // What was proven before a later block failed is good.
      commit();
    }
  }

  #record(blocks: readonly WalkedBlock[], tip: ChainTip): void {
    if (blocks.length === 0) return;
    const { catalog, poller, activity } = this.#modules;
    const isPast = (medianTimeSeconds: number) => medianTimeSeconds + RETENTION_SECONDS < tip.medianTimeSeconds;
    const added = catalog.chain.recordBlocks(blocks, isPast);
    if (added > 0) poller.news.ring();
    for (const block of blocks) tellUnclear(block, this.#modules.conditions);
    activity.emit('walked', { height: blocks.at(-1)?.height ?? tip.height });
    this.moved.ring();
  }

  async #compareBranches(signal: AbortSignal): Promise<'there' | 'again'> {
    const { catalog, node, conditions } = this.#modules;
    const relation = await relationTo(node, catalog.chain, signal);
    switch (relation.kind) {
      case 'extends':
        // The tip that we were told of is no longer that of the node: the next one is on its way.
        return this.#there();
      case 'behind': {
        const ours = catalog.chain.state.tip?.height ?? 0;
        if (ours - relation.height <= MOST_BEHIND) return this.#there();
        conditions.set('chain:branch', {
          code: 'chain/node-went-back',
          message: `The node is at height ${relation.height} of the branch that was walked up to ${ours}: it lags, or went back in time.`,
          hint: 'Nothing is withdrawn. Let the node catch up, or ask another one with HOLDFAST_NODE_URL.',
          blocksReadiness: true,
        });
        return 'there';
      }
      case 'forked':
        this.#takeBack(catalog.chain.takeBack(relation.lastCommonHeight), relation.lastCommonHeight);
        return 'again';
      default:
        return relation satisfies never;
    }
  }

  #takeBack(taken: TakenBack, lastCommonHeight: number): void {
    const { activity } = this.#modules;
    activity.emit('reorganised', { blocks: taken.blocks, lastCommonHeight, withdrawn: taken.withdrawn.length });
    if (taken.withdrawn.length > 0) this.#tellWithdrawn();
  }

  /** Out of the catalog, so that it outlives a restart; it ends by itself when the chain is a day further. */
  #tellWithdrawn(): void {
    const { conditions, catalog } = this.#modules;
    const { chain, records } = catalog;
    const nowSeconds = chain.state.tip?.medianTimeSeconds ?? 0;
    const lately = records.withdrawnSince(nowSeconds - WITHDRAWN_SECONDS);
    if (lately === null) {
      conditions.set('chain:withdrawn', null);
      return;
    }
    const { count, atSeconds, last } = lately;
    const [at, until] = [atSeconds, atSeconds + WITHDRAWN_SECONDS].map((time) => new Date(time * 1_000).toISOString());
    conditions.set('chain:withdrawn', {
      code: 'chain/final-withdrawn',
      message: `${count} occurrences that were final by the rule of HOLDFAST_FINALITY were taken back by a reorganisation, the last at ${at}: ${last.hashType} ${last.versionHash} of height ${last.height}, in transaction ${last.txid}. This is told until the chain is at ${until}.`,
      hint: 'Their bytes stay, their records are deleted. Find out what the node follows: a ChainLock was not kept, or the depth in HOLDFAST_FINALITY is too small.',
      blocksReadiness: false,
    });
  }

  #there(): 'there' {
    this.#modules.conditions.set('chain:branch', null);
    return 'there';
  }

  #tellOtherStart(recorded: number): void {
    if (this.#startHeight === null || this.#startHeight === recorded) return;
    this.#modules.conditions.set('chain:start', {
      code: 'chain/start-height',
      message: `HOLDFAST_START_HEIGHT is ${this.#startHeight}, but this catalog began at height ${recorded}, and that is fixed.`,
      hint: 'What is below is archived by `holdfast backfill`. To begin anew, name another data folder.',
      blocksReadiness: false,
    });
  }

  /** A node that does not answer is told by the poller already. */
  #tell(error: unknown): void {
    const { conditions } = this.#modules;
    if (error === null) {
      this.#lastFailure = null;
      conditions.set('chain:walk', null);
      return;
    }
    this.#lastFailure = { at: this.#at, message: messageOf(error) };
    if (error instanceof HoldfastError && error.code.startsWith('node/')) {
      if (/pruned/i.test(error.message)) conditions.setError('chain:walk', prunedBlock(error));
      else if (!error.retryable) conditions.setError('chain:walk', error);
      return;
    }
    conditions.setError('chain:walk', error);
  }
}

function prunedBlock(cause: HoldfastError): ChainError {
  return new ChainError(
    'chain/pruned-block',
    `The node has thrown away a block that the walk needs: ${cause.message}`,
    {
      details: { code: codeOf(cause) },
      retryable: true,
      hint: 'Point HOLDFAST_NODE_URL (also) at a node that is not pruned, or start a new data folder with a later HOLDFAST_START_HEIGHT.',
      cause,
    },
  );
}
