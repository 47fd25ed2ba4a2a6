import type Database from 'better-sqlite3';
import { z } from 'zod';
import { MINED_DUE, MINED_RESTING, ofMined } from './queue-parts.ts';

const optionalHeight = z.number().nullable();
const count = z.number();

/** The first occurrence of the row `of`, from the height @since on, that no recorded loss speaks for. */
function firstOpen(of: string): string {
  return `(SELECT MIN(height) FROM occurrence WHERE occurrence.version_hash = ${of}.version_hash AND occurrence.hash_type = ${of}.hash_type
    AND height >= @since AND height > ${lostUpTo(of)})`;
}

function lostUpTo(of: string): string {
  return `COALESCE((SELECT up_to_height FROM lost WHERE lost.version_hash = ${of}.version_hash AND lost.hash_type = ${of}.hash_type AND revoked_ms IS NULL), -1)`;
}

/** Looking up what the chain names, here and there in the queue, costs so many times a row of the queue read in its order. */
const LOOK_UP_COST = 4;
/** So many of each part of the queue, by their deadline, give a first idea. */
const SAMPLE = 64;
const IS_NOT_CUSTOM = 'NOT EXISTS (SELECT 1 FROM custom WHERE custom.version_hash = seen.version_hash AND is_held = 1)';

/**
 * The lowest occurrence that is neither stored nor recorded as lost. History that is not archived can be a million rows
 * of the queue, and what is archived a long chain below them: the shorter of the two is read.
 */
export class FirstUnsaved {
  readonly #unstored: Database.Statement;
  readonly #earliest: Database.Statement;
  readonly #wantedCount: Database.Statement;
  readonly #occurrencesBelow: Database.Statement;
  readonly #ofQueue: Database.Statement;
  readonly #onChainBelow: Database.Statement;

  constructor(database: Database.Database) {
    // What is held and not stored is in an index of its own: few while all is well, however long the chain.
    this.#unstored = database
      .prepare(`SELECT MIN(${firstOpen('content')}) FROM content INDEXED BY content_unstored WHERE state = 1`)
      .pluck();
    const earliest = (part: string) =>
      `SELECT * FROM (SELECT ${firstOpen('seen')} AS height FROM ${part} AND ${IS_NOT_CUSTOM} ORDER BY median_time_seconds LIMIT ${SAMPLE})`;
    this.#earliest = database
      .prepare(`SELECT MIN(height) FROM (${earliest(MINED_DUE)} UNION ALL ${earliest(MINED_RESTING)})`)
      .pluck();
    this.#wantedCount = database.prepare(`SELECT SUM(count) FROM (${ofMined('COUNT(*) AS count', 'true')})`).pluck();
    this.#occurrencesBelow = database
      .prepare('SELECT COUNT(*) FROM (SELECT 1 FROM occurrence NOT INDEXED WHERE height >= ? AND height < ? LIMIT ?)')
      .pluck();
    // In the order of the table, which is that of the occurrences by content: a third of the time by deadline.
    this.#ofQueue = database
      .prepare(
        `SELECT MIN(${firstOpen('seen')}) FROM seen NOT INDEXED WHERE hash_type IS NOT NULL AND ${IS_NOT_CUSTOM}`,
      )
      .pluck();
    this.#onChainBelow = database
      .prepare(
        `SELECT occurrence.height FROM occurrence NOT INDEXED
         CROSS JOIN seen ON seen.version_hash = occurrence.version_hash AND seen.hash_type = occurrence.hash_type
         WHERE height >= @since AND height < @below AND height > ${lostUpTo('seen')} AND ${IS_NOT_CUSTOM} ORDER BY height LIMIT 1`,
      )
      .pluck();
  }

  /** From this height on; null: there is none. */
  since(since: number): number | null {
    const unstored = optionalHeight.parse(this.#unstored.get({ since }));
    const early = optionalHeight.parse(this.#earliest.get({ since }));
    const below = Math.min(unstored ?? Number.MAX_SAFE_INTEGER, early ?? Number.MAX_SAFE_INTEGER);
    if (below <= since) return below;
    const most = Math.floor(count.parse(this.#wantedCount.get()) / LOOK_UP_COST);
    const isShort = count.parse(this.#occurrencesBelow.get(since, below, most + 1)) <= most;
    const found = optionalHeight.parse(
      isShort ? (this.#onChainBelow.get({ since, below }) ?? null) : this.#ofQueue.get({ since }),
    );
    const lowest = Math.min(below, found ?? Number.MAX_SAFE_INTEGER);
    return lowest === Number.MAX_SAFE_INTEGER ? null : lowest;
  }
}
