import type Database from 'better-sqlite3';
import { z } from 'zod';
import { CONTENT_STATES, type StoredState } from './content-table.ts';

export interface CatalogTotals {
  readonly seen: number;
  readonly spooled: number;
  readonly stored: number;
  readonly storedBytes: number;
}

/** A stored content fell back; the caller reports it. */
export type AfterDamage = 'other-copies-left' | 'to-be-fetched-again' | 'not-replaced-by-rule';

const total = z.object({ count: z.number(), bytes: z.number() });

/** Number of contents in each state, and their bytes. Triggers of the table count them, for a count would read all of it. */
export class StateTotals {
  readonly #of: Database.Statement;
  readonly #reading: <T>(operation: string, work: () => T) => T;

  constructor(database: Database.Database, reading: <T>(operation: string, work: () => T) => T) {
    this.#reading = reading;
    this.#of = database.prepare(
      "SELECT value ->> 'count' AS count, value ->> 'bytes' AS bytes FROM fact WHERE name = 'contents/' || CAST(? AS INTEGER)",
    );
  }

  of(state: StoredState): Readonly<z.output<typeof total>> {
    return this.#reading('read the totals', () => total.parse(this.#of.get(CONTENT_STATES.indexOf(state))));
  }
}
