import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type ChainPlace, decodeOccurrence, type OccurrenceRow, occurrenceRow } from './occurrence-table.ts';

/** What became of the content of an occurrence: as the columns of the query below spell it. */
export const OCCURRENCE_CLASSES = ['stored', 'spooled', 'pending', 'lost', 'withheld'] as const;
export type OccurrenceClass = (typeof OCCURRENCE_CLASSES)[number];

export interface AuditTally {
  /** Blocks in the range that were walked. Everything else in the range is unexamined. */
  readonly examinedBlocks: number;
  readonly occurrences: Readonly<Record<OccurrenceClass, number>>;
  /** Transactions of version 137 of which it is not plain what they carry. */
  readonly unclear: number;
}

export interface AuditedOccurrence extends OccurrenceRow {
  readonly class: OccurrenceClass;
  /** Of its block. */
  readonly medianTimeSeconds: number;
}

const auditedRow = occurrenceRow.extend({ class: z.number(), median_time_seconds: z.number() });

/**
 * A fault is never absence: only a recorded loss is. Everything on chain that is neither held nor lost is pending; of what
 * is withheld nothing is held, so that it is looked for last.
 */
const CLASS = `CASE WHEN content.state = 2 THEN 0 WHEN content.state = 1 THEN 1
  WHEN EXISTS (SELECT 1 FROM withheld WHERE withheld.version_hash = occurrence.version_hash AND withheld.hash_type = occurrence.hash_type) THEN 4
  WHEN lost.up_to_height >= occurrence.height AND lost.revoked_ms IS NULL THEN 3 ELSE 2 END`;
const JOINED = `LEFT JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type
  LEFT JOIN lost ON lost.version_hash = occurrence.version_hash AND lost.hash_type = occurrence.hash_type`;

/** Compares what the chain says must be held with what is. Reads only. */
export class ChainAudit {
  readonly #tally: Database.Statement;
  readonly #tallyAll: Database.Statement;
  readonly #blocks: Database.Statement;
  readonly #unclear: Database.Statement;
  readonly #notStored: Database.Statement;

  constructor(database: Database.Database) {
    const count = (source: string) =>
      database.prepare(`SELECT ${CLASS} AS class, COUNT(*) AS count FROM ${source} GROUP BY 1`);
    this.#tally = count(`occurrence NOT INDEXED ${JOINED} WHERE occurrence.height BETWEEN ? AND ?`);
    // In the order of both indices, so that each page is read once: a look-up a row in random order costs far more.
    this.#tallyAll = count(
      `occurrence INDEXED BY occurrence_by_content ${JOINED} WHERE occurrence.version_hash >= x''`,
    );
    this.#blocks = database.prepare('SELECT COUNT(*) FROM block WHERE height BETWEEN ? AND ?').pluck();
    this.#unclear = database.prepare('SELECT COUNT(*) FROM unclear_transaction WHERE height BETWEEN ? AND ?').pluck();
    this.#notStored = database.prepare(
      `SELECT occurrence.*, ${CLASS} AS class, block.median_time_seconds FROM occurrence NOT INDEXED CROSS JOIN block ON block.height = occurrence.height ${JOINED}
       WHERE (occurrence.height, occurrence.transaction_index) > (?, ?) AND occurrence.height <= ? AND ${CLASS} NOT IN (0, 4)
       ORDER BY occurrence.height, occurrence.transaction_index LIMIT ?`,
    );
  }

  tally(from: number, to: number): AuditTally {
    const examinedBlocks = z.number().parse(this.#blocks.get(from, to));
    const whole =
      examinedBlocks > 0 && examinedBlocks === z.number().parse(this.#blocks.get(0, Number.MAX_SAFE_INTEGER));
    const rows = z
      .array(z.object({ class: z.number(), count: z.number() }))
      .parse(whole ? this.#tallyAll.all() : this.#tally.all(from, to));
    const occurrences = { stored: 0, spooled: 0, pending: 0, lost: 0, withheld: 0 };
    for (const row of rows) occurrences[classFrom(row.class)] += row.count;
    return { examinedBlocks, occurrences, unclear: z.number().parse(this.#unclear.get(from, to)) };
  }

  /** Occurrences behind `after` and up to this height whose content is neither `stored` nor withheld, in the order of the chain. */
  notStored(after: ChainPlace, to: number, limit: number): AuditedOccurrence[] {
    return this.#notStored.all(after.height, after.transactionIndex, to, limit).map((value) => {
      const found = auditedRow.parse(value);
      return {
        ...decodeOccurrence(found),
        class: classFrom(found.class),
        medianTimeSeconds: found.median_time_seconds,
      };
    });
  }
}

/** As CLASS numbers them. */
function classFrom(code: number): OccurrenceClass {
  const found = OCCURRENCE_CLASSES[code];
  if (found === undefined) throw new RangeError(`the audit has no class ${code}`);
  return found;
}
