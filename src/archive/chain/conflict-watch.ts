import type { Catalog } from '../../catalog/catalog.ts';
import type { ConditionBoard } from '../condition-board.ts';
import type { Poller } from '../poller.ts';
import { Pulse } from '../pulse.ts';
import type { ArchiveNode } from './chain-node.ts';
import type { Follower } from './follower.ts';
import { relationTo } from './fork.ts';

export interface ConflictModules {
  readonly nodes: readonly ArchiveNode[];
  readonly catalog: Catalog;
  readonly poller: Poller;
  readonly follower: Follower;
  readonly conditions: ConditionBoard;
}

/** However fast blocks come, each node is asked no more often than this. */
const LEAST_MS = 2_000;
const IDLE_MS = 30_000;

/**
 * Do all nodes follow the branch that we walk? Different hashes at one height are a conflict; to lag is none. While
 * there is one, nothing above the last common block may be called final.
 */
export class ConflictWatch {
  readonly #modules: ConflictModules;
  readonly #pause = new Pulse();
  /** Last common height with each node that parted from us, as it last answered. */
  readonly #parted = new Map<ArchiveNode, number>();

  #hasAskedAll = false;

  constructor(modules: ConflictModules) {
    this.#modules = modules;
  }

  /** Not all were asked since the start: they may have parted while we were away. */
  get isUnknown(): boolean {
    return this.#modules.nodes.length > 1 && !this.#hasAskedAll;
  }

  /** Nothing above may be called final; null: they agree. */
  get lastCommonHeight(): number | null {
    return this.#parted.size === 0 ? null : Math.min(...this.#parted.values());
  }

  async run(signal: AbortSignal): Promise<void> {
    // With one node there is nobody to disagree with.
    while (!signal.aborted && this.#modules.nodes.length > 1) {
      const { moved } = this.#modules.follower;
      const rings = moved.rings;
      const isFirst = !this.#hasAskedAll;
      for (const node of this.#modules.nodes) await this.#compare(node, signal);
      if (signal.aborted) return;
      this.#tell();
      this.#hasAskedAll = true;
      // What waits for something to be final looks again.
      if (isFirst) moved.nudge();
      await this.#pause.wait(LEAST_MS, signal);
      if (moved.rings === rings) await moved.wait(IDLE_MS, signal);
    }
  }

  async #compare(node: ArchiveNode, signal: AbortSignal): Promise<void> {
    try {
      const relation = await relationTo(node, this.#modules.catalog.chain, signal);
      const isConflict = relation.kind === 'forked' && (await this.#isOnOurChain(node, signal));
      if (isConflict) this.#parted.set(node, relation.lastCommonHeight);
      else this.#parted.delete(node);
    } catch {
      // No answer decides nothing: what it said last holds until it answers again.
    }
  }

  /** One that is on another chain altogether is no witness, and is ignored. */
  async #isOnOurChain(node: ArchiveNode, signal: AbortSignal): Promise<boolean> {
    return (await node.genesisHash(signal)) === this.#modules.poller.state.genesis;
  }

  #tell(): void {
    const names = [...this.#parted.keys()].map(({ name }) => name);
    this.#modules.conditions.set(
      'chain:conflict',
      names.length === 0
        ? null
        : {
            code: 'chain/nodes-conflict',
            message: `${names.join(', ')} follows another branch than the one that is walked: the last common block is at height ${this.lastCommonHeight}. Nothing above it is called final.`,
            hint: 'Find out which node is wrong, and take it out of HOLDFAST_NODE_URL. A short disagreement ends by itself.',
            blocksReadiness: false,
          },
    );
  }
}
