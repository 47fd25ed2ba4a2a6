import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { Tables } from './tables.ts';

const rows = z.array(z.object({ name: z.string(), common_height: z.number(), is_forked: z.number() }));

/** What a node last said of its branch, compared with ours. */
export interface NodeBranch {
  /** Highest block of our branch that the node is known to have. */
  readonly commonHeight: number;
  /** Above that block the node has others than we do. */
  readonly isForked: boolean;
}

/** The last word of each configured node about its branch, by node name. Kept in memory and in the catalog alike. */
export class NodeBranches {
  readonly #tables: Tables;
  readonly #read: Database.Statement;
  readonly #delete: Database.Statement;
  readonly #insert: Database.Statement;
  readonly #leave: Database.Statement;
  #all: ReadonlyMap<string, NodeBranch>;

  constructor(tables: Tables) {
    const { database } = tables;
    this.#tables = tables;
    this.#read = database.prepare('SELECT name, common_height, is_forked FROM node_branch');
    this.#delete = database.prepare('DELETE FROM node_branch');
    this.#insert = database.prepare('INSERT INTO node_branch (name, common_height, is_forked) VALUES (?, ?, ?)');
    // The nodes that had come farthest may have given the blocks that are left, though nobody compared these.
    this.#leave = database.prepare(
      `UPDATE node_branch SET common_height = MIN(common_height, @height), is_forked = 1
       WHERE common_height >= MIN(@height, (SELECT MAX(common_height) FROM node_branch))`,
    );
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
    this.#tables.transaction('record which branch each node follows', () => {
      this.#delete.run();
      for (const [name, { commonHeight, isForked }] of branches) this.#insert.run(name, commonHeight, isForked ? 1 : 0);
    });
    this.#all = new Map(branches);
  }

  /**
   * Our branch gave up its blocks above this height. The nodes that had them are on another branch than ours until they
   * answer again. Within a transaction of the caller, who calls `reload` after it.
   */
  leaveAbove(height: number): void {
    this.#leave.run({ height });
  }

  reload(): void {
    this.#all = this.#load();
  }

  #load(): ReadonlyMap<string, NodeBranch> {
    return this.#tables.reading('read which branch each node follows', () => {
      const found = rows.parse(this.#read.all());
      return new Map(
        found.map((row) => [row.name, { commonHeight: row.common_height, isForked: row.is_forked === 1 }]),
      );
    });
  }
}

function areSame(some: ReadonlyMap<string, NodeBranch>, others: ReadonlyMap<string, NodeBranch>): boolean {
  const isSame = ([name, one]: [string, NodeBranch]) => {
    const other = others.get(name);
    return other?.commonHeight === one.commonHeight && other.isForked === one.isForked;
  };
  return some.size === others.size && [...some].every(isSame);
}
