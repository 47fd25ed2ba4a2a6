import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { ArchiveRule } from '../core/blob/archive-rule.ts';
import { parseVersionHash } from '../core/blob/ids.ts';
import { Facts } from './facts.ts';
import { BLOB } from './placement-state.ts';
import { type ConfiguredBackend, SPOOL } from './placement-table.ts';

/** The name of the fact that says which backends and which number `stored` was last computed for. */
export const REPLICATION = 'replication';

/** SQL function of a blob and the rule of the backend that is looked at. */
const IS_TAKEN = 'is_taken';
const TAKEN = `${IS_TAKEN}(content.version_hash, content.size_bytes) = 1`;

/** Copies that a configured backend is proven to hold, or that were spooled. */
const COPIES = `FROM copy JOIN backend ON id = backend_id WHERE copy.kind = ${BLOB} AND copy.object = content.sequence`;
const GOOD = `(SELECT COUNT(*) ${COPIES} AND configured = 1 AND counts = 1 AND copy.state = 1)`;
const HELD = `EXISTS (SELECT 1 ${COPIES} AND configured = 1 AND (copy.state = 1 OR (copy.state = 0 AND name = '${SPOOL}')))`;
const ELSEWHERE = `EXISTS (SELECT 1 ${COPIES} AND configured = 1 AND copy.state = 1 AND name <> '${SPOOL}')`;

/**
 * Recomputes states when the configuration differs from the last computation: `stored` counts configured backends.
 * Every content gets the state that its copies prove under the new configuration. Rows that a backend lacks are queued:
 * a new backend is filled from the others, and a removed one counts no more. Under another rule a backend's queue is what that
 * rule takes; the copies that it holds stay, and count.
 */
export function recomputeStates(
  database: Database.Database,
  backends: readonly ConfiguredBackend[],
  required: number,
  nowMs: number,
): void {
  const sorted = backends.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const basis = JSON.stringify({ required, backends: sorted.map(basisOf) });
  const facts = new Facts(database);
  const before = facts.get(REPLICATION, z.string());
  if (before === basis) return;
  database
    .transaction(() => {
      // Without an index by content, each row below would look through all copies.
      database.exec(`CREATE INDEX copy_by_content ON copy (object) WHERE kind = ${BLOB}`);
      for (const backend of backends) queueWhatIsMissing(database, backend, before !== null);
      database.exec(`UPDATE content SET state = 2, stored_ms = ${nowMs} WHERE state < 2 AND ${GOOD} >= ${required}`);
      database.exec(
        `UPDATE content SET state = 1, stored_ms = NULL WHERE state = 2 AND ${GOOD} < ${required} AND ${HELD}`,
      );
      database.exec(`UPDATE content SET state = 1 WHERE state = 0 AND ${HELD}`);
      database.exec(
        `UPDATE content SET state = 0, stored_ms = NULL WHERE state > 0 AND ${GOOD} < ${required} AND NOT ${HELD}`,
      );
      database.exec('DELETE FROM seen WHERE version_hash IN (SELECT version_hash FROM content WHERE state > 0)');
      database.exec(
        `INSERT INTO seen (version_hash, size_bytes, txid, median_time_seconds, first_seen_ms)
         SELECT version_hash, size_bytes, txid, COALESCE(median_time_seconds, 0), ${nowMs} FROM content WHERE state = 0
         ON CONFLICT DO NOTHING`,
      );
      database.exec('DROP INDEX copy_by_content');
      facts.put(REPLICATION, basis);
    })
    .immediate();
}

/** An allow-list may be long: its digest tells whether it is another. Most backends have no rule, and nothing is said of it. */
function basisOf({ name, counts, rule }: ConfiguredBackend) {
  return rule === null
    ? { name, counts }
    : { name, counts, rule: createHash('sha256').update(rule.text).digest('hex') };
}

/** In a cache nothing is ever missing: it holds what it holds. What `keep` has no row for is to be brought back. */
function queueWhatIsMissing(
  database: Database.Database,
  { name, rule }: ConfiguredBackend,
  wasConfigured: boolean,
): void {
  const found = database.prepare('SELECT id, counts FROM backend WHERE name = ?').get(name);
  const { id, counts } = z.object({ id: z.number(), counts: z.number() }).parse(found);
  if (name === SPOOL && (counts === 0 || !wasConfigured)) return;
  if (rule !== null) leaveOut(database, id, rule);
  const wanted = name === SPOOL ? 'true' : `unmined = 0${rule === null ? '' : ` AND ${TAKEN}`}`;
  database
    .prepare(
      `INSERT INTO copy (backend_id, kind, object, state, urgency, due_seconds)
       SELECT ?, ${BLOB}, sequence, ?, ${ELSEWHERE}, COALESCE(median_time_seconds, 0) FROM content WHERE ${wanted} ON CONFLICT DO NOTHING`,
    )
    .run(id, name === SPOOL ? 2 : 0);
}

/** Copies that are not proven there, and that the rule leaves out, are wanted no more, unless no place holds the blob. */
function leaveOut(database: Database.Database, id: number, rule: ArchiveRule): void {
  database.function(IS_TAKEN, { deterministic: true }, (key: Buffer, sizeBytes: number) =>
    rule.leavesOut(parseVersionHash(key.toString('hex')), sizeBytes) ? 0 : 1,
  );
  database
    .prepare(
      `DELETE FROM copy WHERE backend_id = ? AND kind = ${BLOB} AND state <> 1
       AND NOT EXISTS (SELECT 1 FROM content WHERE sequence = copy.object AND (${TAKEN} OR NOT ${HELD}))`,
    )
    .run(id);
}
