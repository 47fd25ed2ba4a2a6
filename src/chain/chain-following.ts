import type { Catalog } from '../catalog/catalog.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import type { Clock } from '../core/time/clock.ts';
import { LONGEST_SLEEP_MS, type Next, runLoop } from '../core/time/run-loop.ts';
import type { NodeLists } from '../ingest/node-lists.ts';
import type { Poller } from '../ingest/poller.ts';
import type { Activity } from '../view/activity.ts';
import type { ChainState, NotCurrent } from '../view/chain-state.ts';
import type { WalkedTip } from '../view/chain-view.ts';
import { BlockWatch } from './block-watch.ts';
import { ConflictWatch } from './conflict-watch.ts';
import { DeadlineWatch } from './deadline-watch.ts';
import { describeFinality, Finality, type FinalityRule } from './finality.ts';
import { Follower } from './follower.ts';
import { HistoryWalk } from './history.ts';
import { LagWatch } from './lag-watch.ts';
import type { NodeGroup } from './node-group.ts';
import { SenderLookup } from './sender-lookup.ts';

export interface ChainOptions {
  /** Height to start at; null for the lowest savable height at the very first start. */
  readonly startHeight: number | null;
  readonly finality: FinalityRule;
  /** Identifies this archive's evidence on shared backends. */
  readonly archiverId: string;
  /** Blocks without a blob before a condition is raised; 0: never. */
  readonly silentBlocks: number;
  /** Whether the node is asked who sent the blobs of each block. Default: false. */
  readonly learnsSenders?: boolean;
}

export interface ChainModules {
  readonly nodes: NodeGroup;
  readonly catalog: Catalog;
  readonly poller: Poller;
  readonly conditions: ConditionBoard;
  readonly activity: Activity;
  readonly clock: Clock;
}

/** Follows the chain, compares the nodes, and publishes the state of the chain: progress, finality, conflicts. */
export class ChainFollowing implements ChainState {
  readonly #options: ChainOptions;
  readonly #modules: ChainModules;
  readonly #follower: Follower;
  readonly #watch: BlockWatch;
  readonly #conflicts: ConflictWatch;
  /** Follows blocks below the start height. */
  readonly history: HistoryWalk;
  readonly moved: Notifier;

  /** @param lists of every configured node */
  constructor(options: ChainOptions, modules: ChainModules, lists: Pick<NodeLists, 'read'>) {
    this.#options = options;
    this.#modules = modules;
    const { nodes, catalog, poller, conditions, activity, clock } = modules;
    const node = nodes.followed;
    const finality = new Finality(options.finality, node, catalog);
    const senders = options.learnsSenders === true ? new SenderLookup(node, conditions, clock) : null;
    const parts = { node, catalog, poller, finality, conditions, activity };
    const follower = new Follower(options.startHeight, parts, senders);
    this.#follower = follower;
    this.history = new HistoryWalk(catalog.chain, node);
    this.#watch = new BlockWatch(node, poller, conditions, clock);
    const lag = new LagWatch(nodes, conditions, clock);
    this.#conflicts = new ConflictWatch(nodes.all, catalog, poller, follower, conditions, lag, lists);
    this.moved = Notifier.following(follower.moved, this.#conflicts.compared);
    const deadlines = new DeadlineWatch(catalog, poller, conditions, options.silentBlocks);
    activity.on('walked', () => deadlines.look());
    // Deadlines approach even while the follower stands still.
    activity.on('tip', () => deadlines.look());
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#follower.run(signal),
      this.#watch.run(signal),
      this.#conflicts.run(signal),
      this.#walkToRecords(signal),
    ]);
  }

  get tip(): WalkedTip | null {
    return this.#modules.catalog.chain.state.tip;
  }

  get isWalked(): boolean {
    return this.#follower.isWalked;
  }

  get isCurrent(): boolean {
    return this.whyNotCurrent === null;
  }

  get whyNotCurrent(): NotCurrent | null {
    if (this.isWalked) return this.#conflicts.isUnknown ? 'not-compared' : null;
    const isFinalityAlone = this.#follower.lastFailure?.at === 'finality' && !this.#follower.isFarBehind;
    return isFinalityAlone ? 'finality-unknown' : 'walk-behind';
  }

  get hasConflict(): boolean {
    return this.#conflicts.hasConflict;
  }

  get lacksHistory(): boolean {
    return this.#modules.catalog.chain.unwalkedFloor !== null;
  }

  get hasLookedForFinal(): boolean {
    return this.#follower.hasLookedForFinal;
  }

  get lagBlocks(): number | null {
    return this.#follower.lagBlocks;
  }

  get finalHeight(): number | null {
    return this.#conflicts.isUnknown ? null : this.#finalUpTo(this.#conflicts.lastCommonHeight);
  }

  /** The same where nothing is followed: no more than was final when the archive ran last, also during a conflict. */
  get finalHeightAtRest(): number | null {
    const common = this.#conflicts.commonHeightAtRest;
    return common === null ? null : this.#finalUpTo(common);
  }

  get status() {
    const { chain, losses } = this.#modules.catalog;
    const { startHeight, tip } = chain.state;
    return {
      startHeight,
      height: tip?.height ?? null,
      lagBlocks: this.lagBlocks,
      finality: describeFinality(this.#options.finality),
      finalHeight: this.finalHeight,
      lost: losses.count(),
      unclearTransactions: chain.unclearCount(),
    };
  }

  /** A final height stays recorded during a conflict, but nothing above the last common block is called final. */
  #finalUpTo(common: number | null): number | null {
    const { finalHeight, lowestHeight } = this.#modules.catalog.chain.state;
    if (finalHeight === null || common === null || common >= finalHeight) return finalHeight;
    return lowestHeight !== null && common < lowestHeight ? null : common;
  }

  /** Follows history down to the lowest height with a record on some backend, after the catalog was lost. */
  async #walkToRecords(signal: AbortSignal): Promise<void> {
    const { catalog, conditions } = this.#modules;
    const { moved } = this;
    const wake = Notifier.following(moved, catalog.chain.floorChanges);
    const step = async (): Promise<Next> => {
      const floor = this.isWalked ? catalog.chain.unwalkedFloor : null;
      if (floor === null) return LONGEST_SLEEP_MS;
      const progress = (height: number) => conditions.set('chain:history', walkingHistory(height, floor));
      progress(catalog.chain.state.lowestHeight ?? floor);
      await this.history.downTo(floor, progress, signal);
      conditions.set('chain:history', null);
      // Work that waits for finality looks again.
      moved.notify();
      return LONGEST_SLEEP_MS;
    };
    // The error of a failed history walk stays until the history is complete; a check for more history does not clear
    // it.
    const tell = (error: unknown) => {
      if (error !== null) conditions.setError('chain:history', error, false);
    };
    await runLoop('chain:history', step, { signal, backoff: BACKOFF.remote, wake, tell });
  }

  /** Raised while the follower is behind the node: absence is then unprovable, and finality is mostly unknown. */
  behindCondition(since: string) {
    const why = this.whyNotCurrent;
    if (why === null) return null;
    const { height, startHeight } = this.status;
    const failure = this.#follower.lastFailure;
    if (why === 'not-compared') return notCompared(since);
    if (why === 'finality-unknown') return finalityUnknown(since, failure?.message ?? 'it does not answer');
    const at = startHeight === null ? 'has not begun' : `is at height ${height ?? startHeight}`;
    const tip = this.#modules.poller.state.tip?.height;
    return {
      code: 'chain/walk-behind',
      message: `The walk of the chain ${at}${tip === undefined ? '' : `, the node at ${tip}`}${failure === null ? '.' : `: ${failure.message}`}`,
      hint: 'Wait while Holdfast catches up. If the height does not move, check the other conditions and the node.',
      since,
      blocksReadiness: true,
    };
  }
}

function walkingHistory(height: number, floor: number) {
  return {
    code: 'catalog/rebuilding',
    message: `The catalog is new, and the backends hold records of blocks from height ${floor} on. Holdfast follows these blocks again (down to height ${height} so far).`,
    hint: 'Wait. Until then, questions about the finality of older blobs are answered with 503, not with false.',
    blocksReadiness: false,
  };
}

function notCompared(since: string) {
  return {
    code: 'chain/nodes-not-compared',
    message:
      'Not every configured node was asked yet whether it follows the branch that is walked now, after the start or a reorganisation: nothing is called final meanwhile.',
    hint: 'Wait; a node that does not answer is passed over when its time is up.',
    since,
    blocksReadiness: true,
  };
}

function finalityUnknown(since: string, why: string) {
  return {
    code: 'chain/finality-unknown',
    message: `The walk is at the node's tip, but the node fails when it is asked for its best ChainLock; what was called final stays so, and nothing new is: ${why}`,
    hint: 'Blobs are archived meanwhile. Look at the log of the node; where its network has no ChainLocks, set HOLDFAST_FINALITY to depth:<confirmations>.',
    since,
    blocksReadiness: true,
  };
}
