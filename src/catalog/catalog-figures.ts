import type Database from 'better-sqlite3';
import { z } from 'zod';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import { BLOB } from './placement-state.ts';
import type { PlacementTable } from './placement-table.ts';
import { IS_NOT_CUSTOM, LISTED_DUE, MINED_DUE, ofMined, RESTING, WAS_KNOWN_IN_TIME } from './queue-parts.ts';
import type { OverdueKind } from './seen-table.ts';

const seconds = z.number().nullable();
const row = z.object({ height: z.number(), median_time_seconds: z.number() });

/** Figures for operators, each by the beginning of an index: they are asked for at every scrape. */
export class CatalogFigures {
  readonly #placements: PlacementTable;
  readonly #unspooled: Database.Statement;
  readonly #unstored: Database.Statement;
  readonly #overdue: Database.Statement;
  readonly #queued: Database.Statement;
  readonly #lastOccurrence: Database.Statement;
  readonly #withheld: Database.Statement;
  readonly #custom: Database.Statement;

  constructor(database: Database.Database, placements: PlacementTable) {
    this.#placements = placements;
    const parts = [MINED_DUE, LISTED_DUE, RESTING].map(
      (part) => `SELECT MIN(median_time_seconds) AS median FROM ${part} AND median_time_seconds >= @since`,
    );
    this.#unspooled = database.prepare(`SELECT MIN(median) FROM (${parts.join(' UNION ALL ')})`).pluck();
    this.#unstored = database
      .prepare('SELECT MIN(median_time_seconds) FROM content WHERE state = 1 AND median_time_seconds >= ?')
      .pluck();
    this.#overdue = database
      .prepare(
        `SELECT SUM(count) FROM (${ofMined('COUNT(*) AS count', `median_time_seconds < @until AND ${WAS_KNOWN_IN_TIME} AND ${IS_NOT_CUSTOM}`)})`,
      )
      .pluck();
    const due = (hasFailed: 0 | 1, urgency: 0 | 1) =>
      `SELECT MIN(due_seconds) AS due FROM copy INDEXED BY copy_queue
       WHERE backend_id = @id AND kind = ${BLOB} AND state <> 1 AND (attempts > 0) = ${hasFailed} AND urgency = ${urgency} AND due_seconds > 0`;
    const dues = [due(0, 0), due(0, 1), due(1, 0), due(1, 1)];
    this.#queued = database.prepare(`SELECT MIN(due) FROM (${dues.join(' UNION ALL ')})`).pluck();
    this.#withheld = database
      .prepare('SELECT COUNT(*) FROM (SELECT DISTINCT version_hash, hash_type FROM withheld)')
      .pluck();
    this.#custom = database.prepare('SELECT COUNT(*) FROM custom WHERE is_held = 1').pluck();
    this.#lastOccurrence = database.prepare(
      'SELECT block.height, median_time_seconds FROM block WHERE height = (SELECT MAX(height) FROM occurrence)',
    );
  }

  /** Taken down by operators, and unexplained bytes: a handful. */
  setAside(): { withheld: number; custom: number } {
    return { withheld: z.number().parse(this.#withheld.get()), custom: z.number().parse(this.#custom.get()) };
  }

  /** Least median time of what is listed or on chain, can still be saved, and is not durable here; null: nothing. */
  earliestUnspooled(tipMedianSeconds: number): number | null {
    return seconds.parse(this.#unspooled.get({ since: tipMedianSeconds - RETENTION_SECONDS }));
  }

  /** The same of what is durable here, and not proven on enough backends. */
  earliestUnstored(tipMedianSeconds: number): number | null {
    return seconds.parse(this.#unstored.get(tipMedianSeconds - RETENTION_SECONDS));
  }

  /** On chain, not here, not kept as a custom commitment, deadline over: still to be saved, or judged lost. */
  overdue(tipMedianSeconds: number, which: OverdueKind = 'all'): number {
    const isAny = which === 'all' ? 1 : 0;
    return z.number().parse(this.#overdue.get({ until: tipMedianSeconds - RETENTION_SECONDS, isAny }));
  }

  /** Least median time of what waits for this backend; null: nothing that has one. */
  earliestQueued(backend: string): number | null {
    return seconds.parse(this.#queued.get({ id: this.#placements.id(backend) }));
  }

  /** The newest block of our branch that carries a blob. */
  lastBlobBlock(): { height: number; medianTimeSeconds: number } | null {
    const found = this.#lastOccurrence.get();
    if (found === undefined) return null;
    const { height, median_time_seconds: medianTimeSeconds } = row.parse(found);
    return { height, medianTimeSeconds };
  }
}
