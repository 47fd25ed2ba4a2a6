import type Database from 'better-sqlite3';
import { z } from 'zod';

const rows = z.array(z.object({ name: z.string(), common_height: z.number() }));

interface PartedParts {
  readonly reading: <T>(operation: string, work: () => T) => T;
  readonly transaction: <T>(operation: string, work: () => T) => T;
}

/** Nodes that were last seen on another branch, by name, with the height up to which they agree with ours. */
export class PartedNodes {
  readonly #parts: PartedParts;
  readonly #all: Database.Statement;
  readonly #forget: Database.Statement;
  readonly #add: Database.Statement;

  constructor(database: Database.Database, parts: PartedParts) {
    this.#parts = parts;
    this.#all = database.prepare('SELECT name, common_height FROM parted_node');
    this.#forget = database.prepare('DELETE FROM parted_node');
    this.#add = database.prepare('INSERT INTO parted_node (name, common_height) VALUES (?, ?)');
  }

  all(): ReadonlyMap<string, number> {
    return this.#parts.reading('read which nodes parted', () => {
      return new Map(rows.parse(this.#all.all()).map((row) => [row.name, row.common_height]));
    });
  }

  replace(heights: ReadonlyMap<string, number>): void {
    this.#parts.transaction('record which nodes parted', () => {
      this.#forget.run();
      for (const [name, height] of heights) this.#add.run(name, height);
    });
  }
}
