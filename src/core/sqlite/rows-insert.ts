import type Database from 'better-sqlite3';

/** Rows per statement; more gain hardly any time. */
const ROWS_TOGETHER = 32;

/**
 * Inserts many rows with few statements: starting one, with its triggers and indexes, takes as long as a row. Rows in
 * the order of their key share pages.
 */
export class RowsInsert {
  readonly #many: Database.Statement;
  readonly #one: Database.Statement;

  /**
   * @param values one row as SQL, in parentheses
   * @param after SQL after the last row
   */
  constructor(database: Database.Database, into: string, values: string, after: string) {
    const insert = (rows: number) =>
      database.prepare(`INSERT INTO ${into} VALUES ${Array.from({ length: rows }, () => values).join(', ')} ${after}`);
    this.#many = insert(ROWS_TOGETHER);
    this.#one = insert(1);
  }

  /** Inserts rows in the caller's transaction and returns the number of inserted ones. */
  run(rows: readonly (readonly unknown[])[]): number {
    let inserted = 0;
    let at = 0;
    for (; at + ROWS_TOGETHER <= rows.length; at += ROWS_TOGETHER) {
      inserted += this.#many.run(rows.slice(at, at + ROWS_TOGETHER).flat()).changes;
    }
    for (const row of rows.slice(at)) inserted += this.#one.run(row).changes;
    return inserted;
  }
}
