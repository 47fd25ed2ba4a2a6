import { RETENTION_SECONDS } from '../core/blob/limits.ts';

/**
 * The parts of the fetch queue, each in an index of its own, as SQL that ends within a WHERE: in these words, for an
 * index serves only a statement that says so. What a block of our branch has:
 */
export const MINED_DUE = 'seen INDEXED BY seen_mined WHERE hash_type IS NOT NULL AND next_attempt_ms IS NOT NULL';
/** Contents that a list names and no block has. */
export const LISTED_DUE = 'seen INDEXED BY seen_listed WHERE hash_type IS NULL AND next_attempt_ms IS NOT NULL';
/**
 * Contents that are not fetched for now: history past its deadline, and dropped transactions. They can be a million
 * rows.
 */
export const RESTING = 'seen INDEXED BY seen_resting WHERE next_attempt_ms IS NULL';
export const MINED_RESTING = `${RESTING} AND hash_type IS NOT NULL`;
/** A kept custom commitment stays in the queue, and its content is neither absent nor lost. */
export const IS_NOT_CUSTOM =
  'NOT EXISTS (SELECT 1 FROM custom WHERE custom.version_hash = seen.version_hash AND is_held = 1)';
/**
 * Content that was known while its window was open, or any with `@isAny`. A new catalog may walk past the deadline of content
 * whose bytes it has not found yet.
 */
export const WAS_KNOWN_IN_TIME = `(@isAny OR first_seen_ms < (median_time_seconds + ${RETENTION_SECONDS}) * 1000)`;

/**
 * Contents that a block of the branch has. Ordered by mediantime, both parts are read in the order of their indexes.
 */
export function ofMined(columns: string, condition: string): string {
  const of = (part: string) => `SELECT ${columns} FROM ${part} AND ${condition}`;
  return `${of(MINED_DUE)} UNION ALL ${of(MINED_RESTING)}`;
}
