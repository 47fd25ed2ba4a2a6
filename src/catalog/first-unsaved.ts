import type Database from 'better-sqlite3';
import { z } from 'zod';
import { IS_NOT_CUSTOM, MINED_DUE, MINED_RESTING } from './queue-parts.ts';

const optionalHeight = z.number().nullable();
const count = z.number();

/**
 * SQL for an occurrence with its content, LEFT JOINed: neither stored, nor set aside as a custom commitment, nor
 * withheld, nor left out by a rule, nor recorded as lost.
 */
export const IS_UNSAVED = `COALESCE(content.state, 0) < 2
  AND NOT EXISTS (SELECT 1 FROM lost WHERE lost.version_hash = occurrence.version_hash AND lost.hash_type = occurrence.hash_type
    AND lost.up_to_height >= occurrence.height AND lost.revoked_ms IS NULL)
  AND NOT EXISTS (SELECT 1 FROM withheld WHERE withheld.version_hash = occurrence.version_hash AND withheld.hash_type = occurrence.hash_type)
  AND (content.state = 1 OR NOT EXISTS (SELECT 1 FROM left_out WHERE left_out.version_hash = occurrence.version_hash))
  AND (content.state = 1 OR NOT EXISTS (SELECT 1 FROM custom WHERE custom.version_hash = occurrence.version_hash AND is_held = 1))`;
export const WITH_CONTENT =
  'LEFT JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type';

/** The first occurrence of the row `of`, from the height @since on, that no recorded loss speaks for. */
function firstOpen(of: string): string {
  return `(SELECT MIN(height) FROM occurrence WHERE occurrence.version_hash = ${of}.version_hash AND occurrence.hash_type = ${of}.hash_type
    AND height >= @since AND height > ${lostUpTo(of)})`;
}

function lostUpTo(of: string): string {
  return `COALESCE((SELECT up_to_height FROM lost WHERE lost.version_hash = ${of}.version_hash AND lost.hash_type = ${of}.hash_type AND revoked_ms IS NULL), -1)`;
}

/** Limit of look-ups in one go, of some ten microseconds each, during which all other work waits. */
export const MAX_LOOK_UPS = 4_096;
/** Rows from each part of the open contents, by deadline, for a first estimate. */
const SAMPLE = 64;
/**
 * Content that is held and not stored has an index of its own: few rows in a healthy archive, however long the chain.
 */
const UNSTORED = 'content INDEXED BY content_unstored WHERE state = 1';

/** From a height on, below the first one that is known to be open; up to the last occurrence where none is. */
const BELOW =
  'height >= @since AND height < COALESCE(@early, (SELECT MAX(newest.height) + 1 FROM occurrence AS newest NOT INDEXED))';

/**
 * The lowest occurrence that is neither stored nor recorded as lost: by what is open, where that is little; else by the
 * chain, where what is open begins near its beginning. Where neither holds, it takes longer than others may wait.
 */
export class FirstUnsaved {
  readonly #open: Database.Statement;
  readonly #ofOpen: Database.Statement;
  readonly #earliest: Database.Statement;
  readonly #occurrencesBelow: Database.Statement;
  readonly #onChainBelow: Database.Statement;

  constructor(database: Database.Database) {
    const parts = [
      { rows: UNSTORED, of: 'content' },
      { rows: `${MINED_DUE} AND ${IS_NOT_CUSTOM}`, of: 'seen' },
      { rows: `${MINED_RESTING} AND ${IS_NOT_CUSTOM}`, of: 'seen' },
    ];
    const each = (select: (rows: string, of: string) => string) =>
      parts.map(({ rows, of }) => `SELECT * FROM (${select(rows, of)})`).join(' UNION ALL ');
    const limited = [UNSTORED, MINED_DUE, MINED_RESTING].map(
      (rows) => `SELECT * FROM (SELECT 1 FROM ${rows} LIMIT @most)`,
    );
    this.#open = database.prepare(`SELECT COUNT(*) FROM (${limited.join(' UNION ALL ')})`).pluck();
    this.#ofOpen = database
      .prepare(`SELECT MIN(height) FROM (${each((rows, of) => `SELECT ${firstOpen(of)} AS height FROM ${rows}`)})`)
      .pluck();
    const earliest = (rows: string, of: string) =>
      `SELECT ${firstOpen(of)} AS height FROM ${rows} ORDER BY median_time_seconds LIMIT ${SAMPLE}`;
    this.#earliest = database.prepare(`SELECT MIN(height) FROM (${each(earliest)})`).pluck();
    this.#occurrencesBelow = database
      .prepare(`SELECT COUNT(*) FROM (SELECT 1 FROM occurrence NOT INDEXED WHERE ${BELOW} LIMIT @most)`)
      .pluck();
    this.#onChainBelow = database
      .prepare(`SELECT MIN(height) FROM occurrence NOT INDEXED ${WITH_CONTENT} WHERE ${BELOW} AND ${IS_UNSAVED}`)
      .pluck();
  }

  /** From this height on; null: there is none. `too-many`: nothing was found out within so many look-ups. */
  since(since: number, maxLookUps: number): number | null | 'too-many' {
    if (count.parse(this.#open.get({ most: maxLookUps + 1 })) <= maxLookUps)
      return optionalHeight.parse(this.#ofOpen.get({ since }));
    const early = optionalHeight.parse(this.#earliest.get({ since }));
    if (early !== null && early <= since) return early;
    const range = { since, early };
    if (count.parse(this.#occurrencesBelow.get({ ...range, most: maxLookUps + 1 })) > maxLookUps) return 'too-many';
    return optionalHeight.parse(this.#onChainBelow.get(range)) ?? early;
  }
}
