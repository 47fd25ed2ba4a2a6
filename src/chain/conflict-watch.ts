import type { ChainIndex } from '../catalog/chain-index.ts';
import type { NodeBranch, NodeBranches } from '../catalog/node-branches.ts';
import type { BlockHash } from '../core/blob/ids.ts';
import type { ConditionBoard } from '../core/conditions/condition-board.ts';
import { BACKOFF } from '../core/time/backoff.ts';
import { type Next, pause, runLoop } from '../core/time/run-loop.ts';
import type { Poller } from '../ingest/poller.ts';
import type { ArchiveNode } from '../node/chain-node.ts';
import type { Follower } from './follower.ts';
import { relationTo } from './fork.ts';
import type { LagWatch } from './lag-watch.ts';

type ComparedNode = Pick<ArchiveNode, 'name' | 'genesisHash' | 'blockHashAt' | 'tip'>;

export interface ConflictModules {
  readonly nodes: readonly ComparedNode[];
  readonly catalog: {
    readonly chain: Pick<ChainIndex, 'state' | 'blockAt'> & {
      readonly nodeBranches: Pick<NodeBranches, 'all' | 'lastCommonHeight' | 'replace'>;
    };
  };
  readonly poller: { readonly state: Pick<Poller['state'], 'genesis'> };
  readonly follower: Pick<Follower, 'moved'>;
  readonly conditions: ConditionBoard;
  readonly lag: Pick<LagWatch, 'note'>;
}

/** However fast blocks come, each node is asked no more often than this. */
const LEAST_MS = 2_000;
const IDLE_MS = 30_000;
/** Until they are compared, readers wait for that. */
const UNKNOWN_MS = 250;

/**
 * Do all nodes follow the branch that we walk? Different hashes at one height are a conflict; to lag is none. While
 * there is one, nothing above the last common block may be called final; nor is anything above the block at which they
 * were compared, because they may have parted since, or the walk may have changed its branch. What a node said last holds
 * until that node answers again: a conflict does not end because one side of it falls silent.
 */
export class ConflictWatch {
  readonly #modules: ConflictModules;
  /** Our cursor when all nodes were last compared with it. */
  #comparedAt: { readonly height: number; readonly hash: BlockHash } | null = null;

  constructor(modules: ConflictModules) {
    this.#modules = modules;
    const { nodeBranches } = modules.catalog.chain;
    // A node that is not configured any more has no say; with one node there is nobody to disagree with.
    const names = new Set(modules.nodes.length > 1 ? modules.nodes.map(({ name }) => name) : []);
    nodeBranches.replace(new Map([...nodeBranches.all].filter(([name]) => names.has(name))));
  }

  /** They were not compared since the start, or with another branch than that which is walked now. */
  get isUnknown(): boolean {
    // With one node there is nobody to disagree with.
    return this.#modules.nodes.length > 1 && !this.#isOnOurBranch(this.#comparedAt);
  }

  /** A node is known to have other blocks than we do, by what each node said last. */
  get hasConflict(): boolean {
    return this.#modules.catalog.chain.nodeBranches.lastCommonHeight !== null;
  }

  /** Nothing above may be called final; null: there is one node alone, or it is unknown. */
  get lastCommonHeight(): number | null {
    if (this.#comparedAt === null) return null;
    const { lastCommonHeight } = this.#modules.catalog.chain.nodeBranches;
    return Math.min(this.#comparedAt.height, lastCommonHeight ?? this.#comparedAt.height);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { nodes, conditions, follower } = this.#modules;
    // With one node there is nobody to disagree with.
    if (nodes.length === 1) return;
    const { moved } = follower;
    const step = async (): Promise<Next> => {
      await this.#compareAll(signal);
      // What waits for something to be final looks again.
      moved.nudge();
      await pause(this.isUnknown ? UNKNOWN_MS : LEAST_MS, signal);
      return this.isUnknown ? 0 : IDLE_MS;
    };
    await runLoop('chain:compared', step, { signal, backoff: BACKOFF.node, wake: moved, conditions });
  }

  async #compareAll(signal: AbortSignal): Promise<void> {
    const { nodes, catalog, poller } = this.#modules;
    const { tip } = catalog.chain.state;
    // Before our own chain is known, none can be told to be on another one.
    if (tip === null || poller.state.genesis === null) return;
    // Each is asked by itself: one that hangs does not keep the answers of the others back for longer.
    const stands = await Promise.all(
      nodes.map(async (node) => ({ name: node.name, stand: await this.#standOf(node, tip.height, signal) })),
    );
    // The walk went over to another branch meanwhile: some were compared with what it left.
    if (signal.aborted || !this.#isOnOurBranch(tip)) return;
    const { nodeBranches } = catalog.chain;
    const branches = new Map<string, NodeBranch>();
    const heights = new Map<string, number>();
    for (const { name, stand } of stands) {
      const branch =
        stand.kind === 'silent' ? nodeBranches.all.get(name) : stand.kind === 'known' ? stand.branch : null;
      if (branch) branches.set(name, branch);
      if (stand.kind === 'known' && !stand.branch.isForked) heights.set(name, stand.height);
    }
    // All at once: between two answers neither the old picture nor the new one is whole.
    nodeBranches.replace(branches);
    this.#comparedAt = tip;
    const namesOf = (kind: Stand['kind']) => stands.filter(({ stand }) => stand.kind === kind).map(({ name }) => name);
    this.#tell(new Set(namesOf('silent')));
    this.#tellStrangers(namesOf('stranger'));
    this.#modules.lag.note(heights);
  }

  async #standOf(node: ComparedNode, ourHeight: number, signal: AbortSignal): Promise<Stand> {
    try {
      const relation = await relationTo(node, this.#modules.catalog.chain, signal);
      // One that is on another chain altogether is no witness, and is ignored.
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
      // No answer decides nothing: what it said last holds until it answers again.
      return { kind: 'silent' };
    }
  }

  #isOnOurBranch(block: { readonly height: number; readonly hash: BlockHash } | null): boolean {
    return block !== null && this.#modules.catalog.chain.blockAt(block.height)?.hash === block.hash;
  }

  async #isOnOurChain(node: ComparedNode, signal: AbortSignal): Promise<boolean> {
    return (await node.genesisHash(signal)) === this.#modules.poller.state.genesis;
  }

  #tell(silent: ReadonlySet<string>): void {
    const { nodeBranches } = this.#modules.catalog.chain;
    const said = [...nodeBranches.all]
      .filter(([, { isForked }]) => isForked)
      .map(([name]) => `${name}${silent.has(name) ? ' (which does not answer now)' : ''}`);
    this.#modules.conditions.set(
      'chain:conflict',
      said.length === 0
        ? null
        : {
            code: 'chain/nodes-conflict',
            message: `${said.join(', ')} follows another branch than the one that is walked: the last common block is at height ${nodeBranches.lastCommonHeight}. Nothing above it is called final.`,
            hint: 'Find out which node is wrong, and take it out of HOLDFAST_NODE_URL; also one that is gone for good. A short disagreement ends by itself, when the nodes answer and agree.',
            blocksReadiness: false,
          },
    );
  }

  #tellStrangers(names: readonly string[]): void {
    const { conditions, poller } = this.#modules;
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

/** How a node stands to the branch that is walked. */
type Stand =
  | { readonly kind: 'known'; readonly branch: NodeBranch; readonly height: number }
  | { readonly kind: 'stranger' }
  | { readonly kind: 'silent' };
