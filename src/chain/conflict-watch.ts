import type { ChainIndex } from '../catalog/chain-index.ts';
import type { NodeBranch, NodeBranches } from '../catalog/node-branches.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type Next, pause, runLoop } from '../core/time/run-loop.ts';
import type { AllListed, NodeLists } from '../ingest/node-lists.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ListedBlob } from '../node/blob-node.ts';
import type { ArchiveNode } from '../node/chain-node.ts';
import type { Follower } from './follower.ts';
import { relationTo } from './fork.ts';
import type { LagWatch } from './lag-watch.ts';

/** The chain and the list of the followed node. */
interface FollowedList extends Pick<Poller, 'noteListedElsewhere'> {
  readonly state: Pick<Poller['state'], 'genesis' | 'tip'>;
}

type ComparedNode = Pick<ArchiveNode, 'name' | 'genesisHash' | 'blockHashAt' | 'tip'>;

/** Shortest interval in milliseconds between two comparisons with a node, however fast blocks come. */
const MIN_MS = 2_000;
const IDLE_MS = 30_000;
/** Milliseconds until the next comparison while readers wait for the first one. */
const UNKNOWN_MS = 250;
const NOTHING_LISTED: AllListed['byHash'] = new Map();

/**
 * Compares the nodes' branches with the followed branch. Different hashes at one height are a conflict; a lag is none.
 * During a conflict nothing above the last common block is final. Nothing is final above the last compared block
 * either, because the nodes may have parted since. A node's last answer holds until one that says more about the blocks
 * above the last common one: silence does not end a conflict.
 */
export class ConflictWatch {
  readonly #nodes: readonly ComparedNode[];
  readonly #catalog: {
    readonly chain: Pick<ChainIndex, 'state' | 'blockAt'> & {
      readonly nodeBranches: Pick<NodeBranches, 'all' | 'lastCommonHeight' | 'replace'>;
    };
  };
  readonly #poller: FollowedList;
  readonly #follower: Pick<Follower, 'moved'>;
  readonly #conditions: ConditionBoard;
  readonly #lag: Pick<LagWatch, 'note'>;
  readonly #lists: Pick<NodeLists, 'read'>;
  /** Lists of the nodes at the last comparison, while a node is on another branch. */
  #listed = NOTHING_LISTED;
  /** Notifies after each comparison: more may be final. */
  readonly compared = new Notifier();
  /** The follower's cursor at the last comparison with all nodes. */
  #comparedAt: { readonly height: number; readonly hash: BlockHash } | null = null;

  constructor(
    nodes: readonly ComparedNode[],
    catalog: {
      readonly chain: Pick<ChainIndex, 'state' | 'blockAt'> & {
        readonly nodeBranches: Pick<NodeBranches, 'all' | 'lastCommonHeight' | 'replace'>;
      };
    },
    poller: FollowedList,
    follower: Pick<Follower, 'moved'>,
    conditions: ConditionBoard,
    lag: Pick<LagWatch, 'note'>,
    lists: Pick<NodeLists, 'read'>,
  ) {
    this.#nodes = nodes;
    this.#catalog = catalog;
    this.#poller = poller;
    this.#follower = follower;
    this.#conditions = conditions;
    this.#lag = lag;
    this.#lists = lists;
  }

  /** true when the nodes were not compared since the start, or compared with another branch than the followed one. */
  get isUnknown(): boolean {
    // A single node has no other to disagree with.
    return this.#nodes.length > 1 && !this.#isOnOurBranch(this.#comparedAt);
  }

  /** true when the last answer of some node has other blocks than the followed branch. */
  get hasConflict(): boolean {
    return this.#catalog.chain.nodeBranches.lastCommonHeight !== null;
  }

  /** Height above which nothing may be final; null for a single node that is followed, or when unknown. */
  get lastCommonHeight(): number | null {
    const [nodes, catalog] = [this.#nodes, this.#catalog];
    const { all, lastCommonHeight } = catalog.chain.nodeBranches;
    // The other nodes' last branches count until the chain is followed without those nodes: a command alone may sign what is final.
    if (this.#comparedAt === null) return nodes.length === 1 && all.size > 0 ? this.commonHeightAtRest : null;
    return Math.min(this.#comparedAt.height, lastCommonHeight ?? this.#comparedAt.height);
  }

  /**
   * Height above which nothing was final when the nodes were compared last, for a command beside an archive that stands
   * still; null: they never were, and nothing is.
   */
  get commonHeightAtRest(): number | null {
    const { all, lastCommonHeight } = this.#catalog.chain.nodeBranches;
    if (all.size === 0) return this.#nodes.length > 1 ? null : Number.POSITIVE_INFINITY;
    return lastCommonHeight ?? Math.max(...[...all.values()].map(({ commonHeight }) => commonHeight));
  }

  async run(signal: AbortSignal): Promise<void> {
    const [nodes, conditions, follower] = [this.#nodes, this.#conditions, this.#follower];
    this.#forgetRemoved();
    // A single node has no other to disagree with.
    if (nodes.length === 1) return;
    const { moved } = follower;
    const step = async (): Promise<Next> => {
      const hasForked = await this.#compareAll(signal);
      this.compared.notify();
      await this.#noteListed(hasForked);
      await pause(this.isUnknown ? UNKNOWN_MS : MIN_MS, signal);
      return this.isUnknown ? 0 : IDLE_MS;
    };
    await runLoop('chain:compared', step, { signal, backoff: BACKOFF.node, wake: moved, conditions });
  }

  /**
   * A node that was removed from the configuration has no vote; a single node has no other to disagree with. Only the
   * process that follows the chain forgets it: a command that needs no node may know of none.
   */
  #forgetRemoved(): void {
    const [nodes, catalog] = [this.#nodes, this.#catalog];
    const { nodeBranches } = catalog.chain;
    const names = new Set(nodes.length > 1 ? nodes.map(({ name }) => name) : []);
    nodeBranches.replace(new Map([...nodeBranches.all].filter(([name]) => names.has(name))));
  }

  /** Resolves to true when a node that answered is on another branch; null: nothing is known of some node now. */
  async #compareAll(signal: AbortSignal): Promise<boolean | null> {
    const [nodes, catalog, poller] = [this.#nodes, this.#catalog, this.#poller];
    const { tip } = catalog.chain.state;
    // Before the archive's chain is known, no node can be on another one.
    if (tip === null || poller.state.genesis === null) return null;
    // The nodes are asked in parallel, so that a hanging one does not delay the others.
    const stands = await Promise.all(
      nodes.map(async (node) => ({ name: node.name, stand: await this.#standOf(node, tip.height, signal) })),
    );
    // The follower changed its branch meanwhile, so some answers compare with the old one.
    if (signal.aborted || !this.#isOnOurBranch(tip)) return null;
    const { nodeBranches } = catalog.chain;
    const branches = new Map<string, NodeBranch>();
    const heights = new Map<string, number>();
    for (const { name, stand } of stands) {
      const before = nodeBranches.all.get(name);
      const branch = stand.kind === 'silent' ? before : stand.kind === 'known' ? sinceFork(before, stand) : null;
      if (branch) branches.set(name, branch);
      if (stand.kind === 'known' && !stand.branch.isForked) heights.set(name, stand.height);
    }
    // One replacement, because a partial update would mix two comparisons.
    nodeBranches.replace(branches);
    this.#comparedAt = tip;
    const namesOf = (kind: Stand['kind']) => stands.filter(({ stand }) => stand.kind === kind).map(({ name }) => name);
    this.#tell(new Set(namesOf('silent')));
    this.#tellStrangers(namesOf('stranger'));
    this.#lag.note(heights);
    if (stands.some(({ stand }) => stand.kind === 'known' && stand.branch.isForked)) return true;
    return stands.every(({ stand }) => stand.kind !== 'silent') ? false : null;
  }

  /**
   * The followed branch may be the dead one. No block of the other branch is walked meanwhile, and the window of its blobs
   * passes: they are fetched because their node lists them.
   */
  async #noteListed(hasForked: boolean | null): Promise<void> {
    if (hasForked === null) return;
    const [poller, before] = [this.#poller, this.#listed];
    const listed = hasForked && poller.state.tip !== null ? (await this.#lists.read()).byHash : NOTHING_LISTED;
    const isNews = ({ versionHash, medianTimeSeconds }: ListedBlob) =>
      before.get(versionHash)?.medianTimeSeconds !== medianTimeSeconds;
    poller.noteListedElsewhere([...listed.values()].filter(isNews));
    this.#listed = listed;
  }

  async #standOf(node: ComparedNode, ourHeight: number, signal: AbortSignal): Promise<Stand> {
    try {
      const relation = await relationTo(node, this.#catalog.chain, signal);
      // A node on another chain is ignored.
      if (relation.kind !== 'extends' && !(await this.#isOnOurChain(node, signal))) return { kind: 'stranger' };
      const { height } = await node.tip(signal);
      switch (relation.kind) {
        case 'extends':
          return { kind: 'known', branch: { commonHeight: ourHeight, isForked: false }, height };
        case 'behind':
          return { kind: 'known', branch: { commonHeight: relation.height, isForked: false }, height };
        case 'forked':
          return { kind: 'known', branch: { commonHeight: relation.lastCommonHeight, isForked: true }, height };
        default:
          return relation satisfies never;
      }
    } catch {
      // A missing answer decides nothing: the node's last answer holds.
      return { kind: 'silent' };
    }
  }

  #isOnOurBranch(block: { readonly height: number; readonly hash: BlockHash } | null): boolean {
    return block !== null && this.#catalog.chain.blockAt(block.height)?.hash === block.hash;
  }

  async #isOnOurChain(node: ComparedNode, signal: AbortSignal): Promise<boolean> {
    return (await node.genesisHash(signal)) === this.#poller.state.genesis;
  }

  #tell(silent: ReadonlySet<string>): void {
    const { all, lastCommonHeight } = this.#catalog.chain.nodeBranches;
    const forked = [...all].filter(([, { isForked }]) => isForked);
    const said = forked.filter(([, { isAssumed }]) => isAssumed !== true);
    const namesOf = (nodes: typeof forked) =>
      nodes.map(([name]) => `${name}${silent.has(name) ? ' (which does not answer now)' : ''}`).join(', ');
    const message =
      said.length > 0
        ? `${namesOf(said)} follows another branch than the one that is walked: the last common block is at height ${lastCommonHeight}. Nothing above it is called final.`
        : `The branch that is walked gave up its blocks above height ${lastCommonHeight}. ${namesOf(forked)} had those, and was not compared with the new ones yet. Nothing above that height is called final until then.`;
    this.#conditions.set(
      'chain:conflict',
      forked.length === 0
        ? null
        : {
            code: 'chain/nodes-conflict',
            message,
            hint: 'Find out which node is wrong, and take it out of HOLDFAST_NODE_URL; also one that is gone for good. A short disagreement ends by itself, when the nodes answer and agree.',
            blocksReadiness: false,
          },
    );
  }

  #tellStrangers(names: readonly string[]): void {
    const [conditions, poller] = [this.#conditions, this.#poller];
    conditions.set(
      'chain:stranger',
      names.length === 0
        ? null
        : {
            code: 'archive/other-chain',
            message: `${names.join(', ')} is on another chain than this data folder (genesis ${poller.state.genesis}): it is ignored, and nothing is called lost while its answer is missing.`,
            hint: 'Take it out of HOLDFAST_NODE_URL.',
            blocksReadiness: false,
          },
    );
  }
}

/**
 * The last word about the branch of a node that answers. Our chain may have been taken back to the block above which that node
 * has others. There is nothing to compare with these until our chain has grown again: the fork holds.
 */
function sinceFork(before: NodeBranch | undefined, { branch, height }: KnownStand): NodeBranch {
  const isUncompared = !branch.isForked && branch.commonHeight < height;
  return before?.isForked === true && branch.commonHeight <= before.commonHeight && isUncompared ? before : branch;
}

interface KnownStand {
  readonly kind: 'known';
  readonly branch: NodeBranch;
  readonly height: number;
}

/** Relation of a node to the followed branch. */
type Stand = KnownStand | { readonly kind: 'stranger' } | { readonly kind: 'silent' };
