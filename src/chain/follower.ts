import type { Catalog } from '../catalog/catalog.ts';
import type { TakenBack, WalkedBlock } from '../catalog/walked-block.ts';
import { codeOf, HoldfastError, messageOf } from '../core/blob/errors.ts';
import { deadlineOf } from '../core/blob/limits.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { LONGEST_SLEEP_MS, type Next, runLoop } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ChainTip } from '../node/blob-node.ts';
import type { ChainNode } from '../node/chain-node.ts';
import type { Activity } from '../view/activity.ts';
import { blocksAt } from './block-stream.ts';
import { BlockTimes } from './block-times.ts';
import { ChainError, type WalkFailure } from './errors.ts';
import type { Finality } from './finality.ts';
import { relationTo } from './fork.ts';
import type { ProvenBlock } from './read-block.ts';
import type { SenderLookup } from './sender-lookup.ts';
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
 * Limits of one synchronous commit while catching up. Large groups save commits; small ones keep the event loop free
 * for other work. Bytes are the memory that the blocks use.
 */
const GROUP = { blocks: 512, occurrences: 2_048, bytes: 8 * 1_048_576 } as const;
/** Blocks that the follower may be behind the node and still count as current. */
const MAX_BEHIND = 2;
/** Milliseconds between questions for the ChainLock while some block is not final: locks come between blocks. */
const LOCK_MS = 10_000;
/** Number and milliseconds of the waits for the first complete listing. */
const [LIST_WAITS, LIST_MS] = [100, 100];
/** Seconds of the chain's time for which a withdrawn final occurrence is reported. */
const WITHDRAWN_SECONDS = 86_400;

/** Follows the node's branch block by block. The cursor moves only past durably recorded blocks. */
export class Follower {
  readonly #startHeight: number | null;
  readonly #modules: FollowerModules;
  readonly #senders: SenderLookup | null;
  /** Notified when the node has a new tip. */
  readonly #tips = new Notifier();
  /** Notifies when the cursor, the final height, or `isWalked` changed. */
  readonly moved = new Notifier();
  /** The state that `moved` last announced. */
  #told = '';
  #hasLooked = false;
  #at: WalkFailure['at'] = 'walk';
  #lastFailure: WalkFailure | null = null;

  /**
   * @param startHeight the operator's start; null for the lowest savable height
   * @param senders asks who sent the blobs of a block; null when no setting needs it
   */
  constructor(startHeight: number | null, modules: FollowerModules, senders: SenderLookup | null = null) {
    this.#startHeight = startHeight;
    this.#modules = modules;
    this.#senders = senders;
    modules.activity.on('tip', () => this.#tips.notify());
  }

  async run(signal: AbortSignal): Promise<void> {
    const step = async (): Promise<Next> => {
      // The condition is raised even when no node answers: a restart does not end it.
      this.#tellWithdrawn();
      await this.#turn(signal);
      return this.#modules.finality.isBehind || !this.isWalked || this.lagBlocks !== 0 ? LOCK_MS : LONGEST_SLEEP_MS;
    };
    const tell = (error: unknown) => this.#tell(error);
    await runLoop('chain:walk', step, { signal, backoff: BACKOFF.node, wake: this.#tips, tell });
  }

  /** Blocks of the node that the follower has not recorded; null when unknown. */
  get lagBlocks(): number | null {
    const { tip: nodeTip } = this.#modules.poller.state;
    const { tip, startHeight } = this.#modules.catalog.chain.state;
    if (nodeTip === null || startHeight === null) return null;
    // A follower that starts above the node's tip has examined nothing.
    if (tip === null && startHeight > nodeTip.height + 1) return null;
    return Math.max(0, nodeTip.height - (tip?.height ?? startHeight - 1));
  }

  /** true when the follower is at the tip: a blob in no recorded block is then in no block of this node. */
  get isWalked(): boolean {
    return !this.isFarBehind && this.#lastFailure === null && !this.#modules.conditions.has('chain:branch');
  }

  /** true when the follower reached the tip once since the start, and asked then what is final. */
  get hasLookedForFinal(): boolean {
    return this.#hasLooked;
  }

  /** true when the follower lags more than a new block or two, or by an unknown number. */
  get isFarBehind(): boolean {
    const lag = this.lagBlocks;
    return lag === null || lag > MAX_BEHIND;
  }

  /** Known reason why the follower is not current. */
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
  }

  #tellFinal(): void {
    const { activity, catalog } = this.#modules;
    const { finalHeight } = catalog.chain.state;
    if (finalHeight !== null) activity.emit('final', finalHeight);
  }

  /** Resolves to false when it cannot start yet. */
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
    // While the node catches up, its time is old, and every blob would look savable.
    if (tip.syncing) return false;
    // The first listing shows how far back blobs can be saved, so the start waits for it.
    for (let wait = 0; poller.state.sweptMs === null && wait < LIST_WAITS; wait += 1)
      await this.#tips.wait(LIST_MS, signal);
    if (signal.aborted || poller.state.sweptMs === null) return false;
    catalog.chain.recordStart(await lowestSavableHeight(tip, poller.oldestListedSeconds, node, signal));
    return true;
  }

  /** A start above the tip is not recorded, because it may be a mistake. The next block is the highest valid start. */
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

  /** Advances towards the tip. `again`: the branch changed, or there is more to do. */
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
        const { medianTimeSeconds } = last;
        group.push({
          ...block,
          medianTimeSeconds,
          occurrences: await this.#named(block, medianTimeSeconds, tip, signal),
        });
        bytes += rawBytes;
        occurrences += block.occurrences.length;
        if (group.length >= GROUP.blocks || occurrences >= GROUP.occurrences || bytes >= GROUP.bytes) commit();
      }
      return 'walked';
    } finally {
      // Blocks verified before a later one failed stay valid.
      commit();
    }
  }

  /**
   * The occurrences of a block with their senders. No node has the blobs of a past window, so none is asked about them.
   * A blob that a rule left out before is the exception: its new sender may make it a loss.
   */
  async #named(block: ProvenBlock, medianTimeSeconds: number, tip: ChainTip, signal: AbortSignal) {
    const isPast = deadlineOf(medianTimeSeconds) < tip.medianTimeSeconds;
    const { leftOut } = this.#modules.catalog;
    const decides = !isPast || block.occurrences.some(({ versionHash }) => leftOut.waitsForOtherSenders(versionHash));
    return this.#senders === null || !decides ? block.occurrences : await this.#senders.learn(block, signal);
  }

  #record(blocks: readonly WalkedBlock[], tip: ChainTip): void {
    if (blocks.length === 0) return;
    const { catalog, activity } = this.#modules;
    const isPast = (medianTimeSeconds: number) => deadlineOf(medianTimeSeconds) < tip.medianTimeSeconds;
    catalog.chain.recordBlocks(blocks, isPast);
    for (const block of blocks) tellUnclear(block, this.#modules.conditions);
    activity.emit('walked', { height: blocks.at(-1)?.height ?? tip.height });
    this.moved.notify();
  }

  async #compareBranches(signal: AbortSignal): Promise<'there' | 'again'> {
    const { catalog, node, conditions } = this.#modules;
    const relation = await relationTo(node, catalog.chain, signal);
    switch (relation.kind) {
      case 'extends':
        // The reported tip is not the node's any more; a new one follows.
        return this.#there();
      case 'behind': {
        const ours = catalog.chain.state.tip?.height ?? 0;
        if (ours - relation.height <= MAX_BEHIND) return this.#there();
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

  /**
   * Reads withdrawals from the catalog, so that the condition outlives a restart. It ends when the chain is a day
   * further.
   */
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
      hint: 'What is below is archived by `holdfast backfill`. For another start, use a new data folder.',
      blocksReadiness: false,
    });
  }

  /** Announces a change; a turn without one wakes no other loop. */
  #tellMoved(): void {
    const { tip, finalHeight } = this.#modules.catalog.chain.state;
    const now = [tip?.hash, finalHeight, this.isWalked, this.#hasLooked].join(' ');
    if (now === this.#told) return;
    this.#told = now;
    this.moved.notify();
  }

  /** The poller already reports a node that does not answer. */
  #tell(error: unknown): void {
    const { conditions } = this.#modules;
    if (error === null) {
      this.#lastFailure = null;
      conditions.set('chain:walk', null);
      this.#tellMoved();
      return;
    }
    this.#lastFailure = { at: this.#at, message: messageOf(error) };
    // Other loops may have found the walk behind meanwhile. Its recovery is announced even if the cursor did not move.
    this.#told = '';
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
