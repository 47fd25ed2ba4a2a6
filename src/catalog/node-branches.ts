import { z } from 'zod';
import type { Tables } from './tables.ts';

const BRANCHES = 'node-branches';
const branchesByName = z.record(
  z.string(),
  z.object({ commonHeight: z.number(), isForked: z.boolean(), isAssumed: z.boolean().optional() }),
);

/** Latest known branch of a node, compared with the followed one. */
export interface NodeBranch {
  /** Highest block of our branch that the node is known to have. */
  readonly commonHeight: number;
  /** Above that block the node has others than we do. */
  readonly isForked: boolean;
  /** The node had blocks that our branch gave up, and was not compared above that block since. It said no other hash. */
  readonly isAssumed?: boolean | undefined;
}

/** The last word of each configured node about its branch, by node name. Kept in memory and in the catalog alike. */
export class NodeBranches {
  readonly #tables: Tables;
  #all: ReadonlyMap<string, NodeBranch>;

  constructor(tables: Tables) {
    this.#tables = tables;
    this.#all = this.#load();
  }

  get all(): ReadonlyMap<string, NodeBranch> {
    return this.#all;
  }

  /** Highest block that every node shares with us; null: no node is known to have left our branch. */
  get lastCommonHeight(): number | null {
    const forked = [...this.#all.values()].filter(({ isForked }) => isForked);
    return forked.length === 0 ? null : Math.min(...forked.map(({ commonHeight }) => commonHeight));
  }

  replace(branches: ReadonlyMap<string, NodeBranch>): void {
    if (areSame(branches, this.#all)) return;
    this.#tables.transaction('record which branch each node follows', () => this.#put(branches));
    this.#all = new Map(branches);
  }

  /**
   * Our branch gave up its blocks above this height. The nodes that had them are on another branch than ours until they
   * are compared above that height. Within a transaction of the caller, who calls `reload` after it.
   */
  leaveAbove(height: number): void {
    const before = this.#load();
    const farthest = Math.max(...[...before.values()].map(({ commonHeight }) => commonHeight));
    // The nodes with the most blocks may have given the remaining ones, though these were not compared.
    const hadThem = ({ commonHeight }: NodeBranch) => commonHeight >= Math.min(height, farthest);
    const left = (one: NodeBranch) => ({
      commonHeight: Math.min(one.commonHeight, height),
      isForked: true,
      isAssumed: true,
    });
    this.#put(new Map([...before].map(([name, one]) => [name, hadThem(one) ? left(one) : one])));
  }

  reload(): void {
    this.#all = this.#load();
  }

  #put(branches: ReadonlyMap<string, NodeBranch>): void {
    this.#tables.facts.put(BRANCHES, Object.fromEntries(branches));
  }

  #load(): ReadonlyMap<string, NodeBranch> {
    const { facts, reading } = this.#tables;
    const found = reading('read which branch each node follows', () => facts.get(BRANCHES, branchesByName));
    return new Map(Object.entries(found ?? {}));
  }
}

function areSame(some: ReadonlyMap<string, NodeBranch>, others: ReadonlyMap<string, NodeBranch>): boolean {
  const isSame = ([name, one]: [string, NodeBranch]) => {
    const other = others.get(name);
    if (other?.commonHeight !== one.commonHeight || other.isForked !== one.isForked) return false;
    return (other.isAssumed ?? false) === (one.isAssumed ?? false);
  };
  return some.size === others.size && [...some].every(isSame);
}
