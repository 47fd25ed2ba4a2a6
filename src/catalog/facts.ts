import type Database from 'better-sqlite3';
import { z } from 'zod';

// Facts are read all the time: to make a schema takes longer than to read with it.
const factRows = z.array(z.object({ name: z.string(), value: z.string() }));
const factValue = z.string().optional();

/**
 * Facts about the archive as a whole, each under a name of its own: computed results and progress. The user of a fact
 * defines its shape. The caller owns the transactions.
 */
export class Facts {
  readonly #find: Database.Statement;
  readonly #put: Database.Statement;
  readonly #forget: Database.Statement;
  readonly #below: Database.Statement;

  constructor(database: Database.Database) {
    this.#find = database.prepare('SELECT value FROM fact WHERE name = ?').pluck();
    this.#put = database.prepare(
      'INSERT INTO fact (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
    );
    this.#forget = database.prepare('DELETE FROM fact WHERE name = ?');
    this.#below = database.prepare(
      "SELECT name, value FROM fact WHERE name > ? || '/' AND name < ? || '0' ORDER BY name",
    );
  }

  /** null: nothing is known under this name. */
  get<T>(name: string, shape: z.ZodType<T>): T | null {
    const found = factValue.parse(this.#find.get(name));
    return found === undefined ? null : shape.parse(JSON.parse(found));
  }

  /** Facts below a folder of names, by the rest of their names. */
  below<T>(folder: string, shape: z.ZodType<T>): Map<string, T> {
    const found = factRows.parse(this.#below.all(folder, folder));
    return new Map(found.map(({ name, value }) => [name.slice(folder.length + 1), shape.parse(JSON.parse(value))]));
  }

  put(name: string, value: unknown): void {
    this.#put.run(name, JSON.stringify(value));
  }

  forget(name: string): void {
    this.#forget.run(name);
  }
}
