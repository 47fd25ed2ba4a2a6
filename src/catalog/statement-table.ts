import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { Tables } from './tables.ts';

/** Statements of others that are kept to be compared with later ones. */
const MAX_KEPT = 256;

/** Signed statements of other archivers, as they came: the newest, so that two that contradict each other are noticed. */
export class StatementTable {
  readonly #tables: Tables;
  readonly #put: Database.Statement;
  readonly #bound: Database.Statement;
  readonly #all: Database.Statement;

  constructor(tables: Tables) {
    const { database } = tables;
    this.#tables = tables;
    this.#put = database.prepare('INSERT INTO peer_statement (document) VALUES (?) ON CONFLICT DO NOTHING');
    this.#bound = database.prepare(
      `DELETE FROM peer_statement WHERE sequence <= (SELECT MAX(sequence) FROM peer_statement) - ${MAX_KEPT}`,
    );
    this.#all = database.prepare('SELECT document FROM peer_statement ORDER BY sequence').pluck();
  }

  /** The same again is nothing. */
  put(document: string): void {
    this.#tables.transaction('keep what a peer stated', () => {
      this.#put.run(document);
      this.#bound.run();
    });
  }

  /** The oldest first. */
  all(): string[] {
    return this.#tables.reading('read what peers stated', () => z.array(z.string()).parse(this.#all.all()));
  }
}
