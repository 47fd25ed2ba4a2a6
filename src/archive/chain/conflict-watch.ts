import type { BlockHash } from '../../blob/ids.ts';
import type { ChainIndex } from '../../catalog/chain-index.ts';
import type { PartedNodes } from '../../catalog/parted-nodes.ts';
import type { ConditionBoard } from '../condition-board.ts';
import type { Poller } from '../ingest/poller.ts';
import { Pulse } from '../pulse.ts';
import type { ArchiveNode } from './chain-node.ts';
import type { Follower } from './follower.ts';
import { relationTo } from './fork.ts';
import type { LagWatch } from './lag-watch.ts';

type ComparedNode = Pick<ArchiveNode, 'name' | 'genesisHash' | 'blockHashAt' | 'tip'>;

export interface ConflictModules {
  readonly nodes: readonly ComparedNode[];
  readonly catalog: {
    readonly chain: Pick<ChainIndex, 'state' | 'blockAt'> & { readonly parted: Pick<PartedNodes, 'all' | 'replace'> };
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
 * were compared, because they may have parted since, or the walk may have changed its branch.
 */
export class ConflictWatch {
  readonly #modules: ConflictModules;
  readonly #pause = new Pulse();
  /** Last common height with each node that parted from us, by its name, as it last answered; perhaps in an earlier run. */
  #parted: ReadonlyMap<string, number>;
  /** Our cursor when all nodes were last compared with it. */
  #comparedAt: { readonly height: number; readonly hash: BlockHash } | null = null;

  constructor(modules: ConflictModules) {
    this.#modules = modules;
    const before = modules.catalog.chain.parted.all();
    const names = new Set(modules.nodes.map(({ name }) => name));
    this.#parted = new Map([...before].filter(([name]) => names.has(name)));
  }

  /** They were not compared since the start, or with another branch than that which is walked now. */
  get isUnknown(): boolean {
    // With one node there is nobody to disagree with.
    return this.#modules.nodes.length > 1 && !this.#isOnOurBranch(this.#comparedAt);
  }

  /** Nothing above may be called final; null: there is one node alone, or it is unknown. */
  get lastCommonHeight(): number | null {
    if (this.#comparedAt === null) return null;
    return Math.min(this.#comparedAt.height, ...this.#parted.values());
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#modules.nodes.length > 1) {
      const { conditions, follower } = this.#modules;
      const { moved } = follower;
      const { rings } = moved;
      try {
        await this.#compareAll(signal);
        conditions.set('chain:compared', null);
      } catch (error) {
        conditions.setError('chain:compared', error);
      }
      if (signal.aborted) return;
      // What waits for something to be final looks again.
      moved.nudge();
      await this.#pause.wait(this.isUnknown ? UNKNOWN_MS : LEAST_MS, signal);
      if (moved.rings === rings && !this.isUnknown) await moved.wait(IDLE_MS, signal);
    }
  }

  async #compareAll(signal: AbortSignal): Promise<void> {
    const { nodes, catalog, poller } = this.#modules;
    const { tip } = catalog.chain.state;
    // Before our own chain is known, none can be told to be on another one.
    if (tip === null || poller.state.genesis === null) return;
    const parted = new Map<string, number>();
    const heights = new Map<string, number>();
    const strangers: string[] = [];
    for (const node of nodes) {
      const stand = await this.#standOf(node, signal);
      if (stand.kind === 'parted') parted.set(node.name, stand.lastCommonHeight);
      if (stand.kind === 'with-us') heights.set(node.name, stand.height);
      if (stand.kind === 'stranger') strangers.push(node.name);
    }
    // The walk went over to another branch meanwhile: some were compared with what it left.
    if (signal.aborted || !this.#isOnOurBranch(tip)) return;
    if (!areSame(parted, this.#parted)) catalog.chain.parted.replace(parted);
    // All at once: between two answers neither the old picture nor the new one is whole.
    this.#parted = parted;
    this.#comparedAt = tip;
    this.#tell();
    this.#tellStrangers(strangers);
    this.#modules.lag.note(heights);
  }

  async #standOf(node: ComparedNode, signal: AbortSignal): Promise<Stand> {
    try {
      const relation = await relationTo(node, this.#modules.catalog.chain, signal);
      // One that is on another chain altogether is no witness, and is ignored.
      if (relation.kind !== 'extends' && !(await this.#isOnOurChain(node, signal))) return { kind: 'stranger' };
      if (relation.kind === 'forked') return { kind: 'parted', lastCommonHeight: relation.lastCommonHeight };
      return { kind: 'with-us', height: (await node.tip(signal)).height };
    } catch {
      // No answer decides nothing: what it said last holds until it answers again.
      const lastCommonHeight = this.#parted.get(node.name);
      return lastCommonHeight === undefined ? { kind: 'silent' } : { kind: 'parted', lastCommonHeight };
    }
  }

  #isOnOurBranch(block: { readonly height: number; readonly hash: BlockHash } | null): boolean {
    return block !== null && this.#modules.catalog.chain.blockAt(block.height)?.hash === block.hash;
  }

  async #isOnOurChain(node: ComparedNode, signal: AbortSignal): Promise<boolean> {
    return (await node.genesisHash(signal)) === this.#modules.poller.state.genesis;
  }

  #tell(): void {
    const names = [...this.#parted.keys()];
    this.#modules.conditions.set(
      'chain:conflict',
      names.length === 0
        ? null
        : {
            code: 'chain/nodes-conflict',
            message: `${names.join(', ')} follows another branch than the one that is walked: the last common block is at height ${Math.min(...this.#parted.values())}. Nothing above it is called final.`,
            hint: 'Find out which node is wrong, and take it out of HOLDFAST_NODE_URL. A short disagreement ends by itself.',
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
  | { readonly kind: 'with-us'; readonly height: number }
  | { readonly kind: 'parted'; readonly lastCommonHeight: number }
  | { readonly kind: 'stranger' }
  | { readonly kind: 'silent' };

function areSame(some: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>): boolean {
  return some.size === others.size && [...some].every(([name, height]) => others.get(name) === height);
}
