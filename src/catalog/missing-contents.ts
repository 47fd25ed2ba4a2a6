import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type ChainPlace, decodeOccurrence, type OccurrenceRow, occurrenceRow } from './occurrence-table.ts';

/** Content that is on chain in a range and not held, by its first occurrence there. */
export interface MissingContent extends OccurrenceRow {
  /** Mediantime of the block of that occurrence. */
  readonly medianTimeSeconds: number;
  /** A rule of the operator left it out: it is asked for all the same, and nothing is wrong where no source has it. */
  readonly isLeftOut: boolean;
}

/** Heights of which contents are looked for; one that also occurs in `elsewhere` is left to it. */
export interface MissingRange {
  readonly from: number;
  readonly to: number;
  /** null: there is no such other range. */
  readonly elsewhere: { readonly from: number; readonly to: number } | null;
}

const missingRow = occurrenceRow.extend({ median_time_seconds: z.number(), is_left_out: z.number() });
const countRow = z.object({ all: z.number(), leftOut: z.number() });
const IS_LEFT_OUT = 'EXISTS (SELECT 1 FROM left_out WHERE left_out.version_hash = occurrence.version_hash)';

const OF_THIS = 'other.version_hash = occurrence.version_hash AND other.hash_type = occurrence.hash_type';
/** Each content once, at its first occurrence in the range: by the index, however many others there are. */
const MISSING = `occurrence NOT INDEXED
  LEFT JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type
  WHERE (content.state IS NULL OR content.state = 0)
  AND NOT EXISTS (SELECT 1 FROM withheld WHERE withheld.version_hash = occurrence.version_hash AND withheld.hash_type = occurrence.hash_type)
  AND NOT EXISTS (SELECT 1 FROM occurrence AS other INDEXED BY occurrence_by_content WHERE ${OF_THIS}
    AND other.height >= @first AND (other.height, other.transaction_index) < (occurrence.height, occurrence.transaction_index))
  AND NOT EXISTS (SELECT 1 FROM occurrence AS other INDEXED BY occurrence_by_content WHERE ${OF_THIS}
    AND other.height BETWEEN @elsewhereFrom AND @elsewhereTo)`;

/** Content that is on chain, absent here and not withheld, as the walk recorded it. Reads only. */
export class MissingContents {
  readonly #page: Database.Statement;
  readonly #count: Database.Statement;
  readonly #notStored: Database.Statement;
  readonly #arrivedNotStored: Database.Statement;
  readonly #isNotStored: Database.Statement;

  constructor(database: Database.Database) {
    this.#page = database.prepare(
      `SELECT occurrence.*, block.median_time_seconds, ${IS_LEFT_OUT} AS is_left_out FROM (SELECT occurrence.* FROM ${MISSING}
         AND (occurrence.height, occurrence.transaction_index) > (@height, @transactionIndex) AND occurrence.height <= @to
         ORDER BY occurrence.height, occurrence.transaction_index LIMIT @limit) AS occurrence
       CROSS JOIN block ON block.height = occurrence.height ORDER BY occurrence.height, occurrence.transaction_index`,
    );
    this.#count = database.prepare(
      `SELECT COUNT(*) AS "all", COUNT(*) FILTER (WHERE ${IS_LEFT_OUT}) AS leftOut FROM ${MISSING} AND occurrence.height BETWEEN @from AND @to`,
    );
    // Content that is held and not stored has an index of its own, with few rows in a healthy archive.
    this.#notStored = database
      .prepare(
        `SELECT COUNT(*) FROM content INDEXED BY content_unstored WHERE state = 1 AND EXISTS
         (SELECT 1 FROM occurrence WHERE occurrence.version_hash = content.version_hash AND occurrence.hash_type = content.hash_type
          AND occurrence.height BETWEEN ? AND ?)`,
      )
      .pluck();
    this.#arrivedNotStored = database
      .prepare(
        'SELECT COUNT(*) FROM content INDEXED BY content_unstored WHERE state = 1 AND unmined = 0 AND spooled_ms BETWEEN ? AND ?',
      )
      .pluck();
    this.#isNotStored = database.prepare(
      'SELECT 1 FROM content WHERE sequence = ? AND state < 2 AND unmined = 0 AND COALESCE(spooled_ms, 0) NOT BETWEEN ? AND ?',
    );
  }

  /** In the order of the chain, behind `after` and up to a height: a slice at a time, for it reads all occurrences there. */
  page({ from, elsewhere }: MissingRange, after: ChainPlace, to: number, limit: number): MissingContent[] {
    const { height, transactionIndex } = after;
    const found = this.#page.all({ first: from, to, height, transactionIndex, limit, ...outside(elsewhere) });
    return found.map((value) => {
      const row = missingRow.parse(value);
      return {
        ...decodeOccurrence(row),
        medianTimeSeconds: row.median_time_seconds,
        isLeftOut: row.is_left_out === 1,
      };
    });
  }

  /** Counts the blocks `from` to `to` within the range: a slice at a time, for it reads all occurrences there. */
  count({ from: first, elsewhere }: MissingRange, from: number, to: number): z.output<typeof countRow> {
    return countRow.parse(this.#count.get({ first, from, to, ...outside(elsewhere) }));
  }

  /** Held, in a block at these heights, and not on as many backends as are required. */
  notStored(from: number, to: number): number {
    return z.number().parse(this.#notStored.get(from, to));
  }

  /** Came here within this time, may lie on backends, and is not on as many of them as are required. */
  arrivedNotStored(sinceMs: number, untilMs: number): number {
    return z.number().parse(this.#arrivedNotStored.get(sinceMs, untilMs));
  }

  /** Reports whether this content came here at another time, may lie on backends, and is not on as many as are required. */
  isNotStored(sequence: number, sinceMs: number, untilMs: number): boolean {
    return this.#isNotStored.get(sequence, sinceMs, untilMs) !== undefined;
  }
}

function outside(elsewhere: MissingRange['elsewhere']) {
  return { elsewhereFrom: elsewhere?.from ?? 0, elsewhereTo: elsewhere?.to ?? -1 };
}
