import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { ArchiveRule } from '../core/blob/archive-rule.ts';
import { parseVersionHash, type VersionHash } from '../core/blob/ids.ts';
import type { Notifier } from '../core/notifier.ts';
import { RowsInsert } from '../core/sqlite/rows-insert.ts';
import { BACKOFF, longestBackoffMs } from '../core/time/backoff.ts';
import { type PlacementCode, PlacementCounts } from './placement-counts.ts';
import { BLOB, codeOf, type PlacementState, stateOf } from './placement-state.ts';

export interface Placement {
  readonly backend: string;
  readonly state: PlacementState;
  readonly verifiedMs: number | null;
  /** The last attempt at this copy failed; null: it succeeded, or there was none. */
  readonly lastFailure: { readonly code: string; readonly message: string; readonly attempts: number } | null;
}

/** A backend that is configured now. */
export interface ConfiguredBackend {
  readonly name: string;
  /** Whether its copies count towards `stored`. */
  readonly counts: boolean;
  /** The rule of which blobs it takes; null: all of them. */
  readonly rule: ArchiveRule | null;
}

/** A blob as the rule of a backend judges it. */
export interface JudgedBlob {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
}

/** Something that a backend is to hold and is not proven to. */
export interface QueuedPlacement {
  readonly sequence: number;
  /** `damaged`: there is a copy, or was, that is not good. */
  readonly state: PlacementState;
  readonly attempts: number;
}

export type QueuePart = 'new' | 'failed' | 'damaged';

const placementRow = z.object({
  backend: z.string(),
  state: z.number(),
  verified_ms: z.number().nullable(),
  attempts: z.number(),
  last_error_code: z.string().nullable(),
  last_error: z.string().nullable(),
});
const queuedRow = z.object({ object: z.number(), state: z.number(), attempts: z.number() });
const judgedRow = z.object({ version_hash: z.instanceof(Buffer), size_bytes: z.number() });
// Made once: making a schema takes longer than reading a row with it.
const placementRows = z.array(placementRow);
const queuedRows = z.array(queuedRow);
const number = z.number();
const numbers = z.array(number);
const numberOrNull = number.nullable();

const code = z.union([z.literal(0), z.literal(1), z.literal(2)]);
const codeIfAny = code.optional();
const goneRows = z.array(z.tuple([z.number(), code]));

/**
 * Copies of one part of the queue that may be tried now: two stretches of an index, so that those that rest are not read.
 * What is farther ahead than anything rests was written before the clock stepped back, and is tried.
 */
function dueIn(part: string): string {
  const where = (condition: string) =>
    `SELECT object, state, attempts, next_attempt_ms FROM ${part} AND backend_id = @id AND ${condition}`;
  const ahead = `next_attempt_ms > @nowMs + ${longestBackoffMs(BACKOFF.copy)}`;
  return `${where('next_attempt_ms <= @nowMs')} UNION ALL ${where(ahead)} ORDER BY next_attempt_ms, object LIMIT @limit`;
}

/** The store that every blob comes to first: its writes are synced before they are read back. */
export const SPOOL = 'local';

/** SQL: what one backend is to hold of one content. */
const COPY = `backend_id = ? AND kind = ${BLOB} AND object = ?`;
/** SQL: the same at each backend that is configured. */
const AT_BACKENDS = `FROM backend CROSS JOIN copy ON backend_id = id WHERE configured = 1 AND kind = ${BLOB} AND object = ?`;

/** Copies of the blobs on each backend, and their proofs: their rows of `copy`. The caller owns the transactions. */
export class PlacementTable {
  readonly #want: RowsInsert;
  readonly #set: Database.Statement;
  readonly #put: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #removeBad: Database.Statement;
  readonly #relax: Database.Statement;
  readonly #fail: Database.Statement;
  readonly #wanted: Database.Statement;
  readonly #failedWanted: Database.Statement;
  readonly #queue: Database.Statement;
  readonly #failedQueue: Database.Statement;
  readonly #damaged: Database.Statement;
  readonly #damagedQueue: Database.Statement;
  readonly #nextAttempt: Database.Statement;
  readonly #wantAnew: Database.Statement;
  readonly #forget: Database.Statement;
  readonly #good: Database.Statement;
  readonly #goodElsewhere: Database.Statement;
  readonly #setDurabilityDelay: Database.Statement;
  readonly #held: Database.Statement;
  readonly #of: Database.Statement;
  readonly #stateAt: Database.Statement;
  readonly #judged: Database.Statement;
  readonly #ids: ReadonlyMap<string, number>;
  /** Rules of the backends that do not take every blob, by their ids. Most archives have none. */
  readonly #rules: ReadonlyMap<number, ArchiveRule>;
  /** Lengths of the queues. */
  readonly counts: PlacementCounts;

  /** The local store gives way: what is not there is not missing. */
  readonly isSpoolACache: boolean;

  /** Only the backends named here are configured now. */
  constructor(database: Database.Database, backends: readonly ConfiguredBackend[]) {
    const name = database
      .prepare(
        'INSERT INTO backend (name, configured, counts) VALUES (?, 1, ?) ON CONFLICT (name) DO UPDATE SET configured = 1, counts = excluded.counts RETURNING id',
      )
      .pluck();
    this.#ids = database.transaction(() => {
      database.prepare('UPDATE backend SET configured = 0').run();
      return new Map(
        backends.map((backend) => [backend.name, number.parse(name.get(backend.name, backend.counts ? 1 : 0))]),
      );
    })();
    this.#rules = new Map(backends.flatMap(({ name: one, rule }) => (rule === null ? [] : [[this.id(one), rule]])));
    this.#judged = database.prepare('SELECT version_hash, size_bytes FROM content WHERE sequence = ?');
    this.counts = new PlacementCounts(database, this.#ids.values());
    this.isSpoolACache = backends.some(({ name: id, counts }) => id === SPOOL && !counts);
    this.#wantAnew = database.prepare(
      `UPDATE copy SET state = 0, verified_ms = NULL, attempts = 0, next_attempt_ms = 0 WHERE ${COPY}`,
    );
    const into = 'copy (backend_id, kind, object, state, due_seconds)';
    this.#want = new RowsInsert(database, into, `(?, ${BLOB}, ?, 0, ?)`, 'ON CONFLICT DO NOTHING');
    // The reason of a failure is kept while it matters: each of millions of rows may have failed once.
    const withoutError = 'last_error_code = NULL, last_error = NULL';
    this.#set = database.prepare(
      `UPDATE copy SET state = ?, verified_ms = COALESCE(?, verified_ms), attempts = 0, next_attempt_ms = 0, ${withoutError} WHERE ${COPY} AND state = ?`,
    );
    this.#put = database.prepare(
      `INSERT INTO copy (backend_id, kind, object, state, verified_ms) VALUES (?, ${BLOB}, ?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state, verified_ms = COALESCE(excluded.verified_ms, verified_ms), ${withoutError}`,
    );
    this.#stateAt = database.prepare(`SELECT state FROM copy WHERE ${COPY}`).pluck();
    this.#remove = database.prepare(`DELETE FROM copy WHERE ${COPY} RETURNING backend_id, state`).raw();
    this.#removeBad = database
      .prepare(`DELETE FROM copy WHERE ${COPY} AND state <> 1 RETURNING backend_id, state`)
      .raw();
    this.#forget = database
      .prepare(
        `DELETE FROM copy WHERE backend_id IN (SELECT id FROM backend) AND kind = ${BLOB} AND object = ? RETURNING backend_id, state`,
      )
      .raw();
    this.#relax = database.prepare(`UPDATE copy SET urgency = 1 WHERE ${COPY} AND state <> 1 AND urgency = 0`);
    this.#fail = database.prepare(
      `UPDATE copy SET attempts = attempts + 1, next_attempt_ms = ?, last_error_code = ?, last_error = ? WHERE ${COPY}`,
    );
    const isNew = `copy INDEXED BY copy_queue WHERE backend_id = ? AND kind = ${BLOB} AND state <> 1 AND (attempts > 0) = 0`;
    const inOrder = 'ORDER BY urgency, due_seconds, object LIMIT ?';
    this.#queue = database.prepare(`SELECT object, state, attempts FROM ${isNew} ${inOrder}`);
    this.#wanted = database.prepare(`SELECT object FROM ${isNew} AND state = 0 ${inOrder}`).pluck();
    const hasFailed = `copy INDEXED BY copy_failed WHERE kind = ${BLOB} AND state <> 1 AND attempts > 0`;
    this.#failedQueue = database.prepare(dueIn(hasFailed));
    this.#nextAttempt = database
      .prepare(`SELECT MIN(next_attempt_ms) FROM ${hasFailed} AND backend_id = ? AND next_attempt_ms > ?`)
      .pluck();
    this.#failedWanted = database.prepare(dueIn(`${hasFailed} AND state = 0`)).pluck();
    this.#damaged = database
      .prepare(
        `SELECT object FROM copy INDEXED BY copy_damaged WHERE backend_id = ? AND kind = ${BLOB} AND state = 2 LIMIT ?`,
      )
      .pluck();
    this.#damagedQueue = database.prepare(dueIn(`copy INDEXED BY copy_damaged WHERE kind = ${BLOB} AND state = 2`));
    // CROSS: backends first, in all of these. There are few; the planner, without statistics, would scan the copies.
    this.#good = database.prepare(`SELECT COUNT(*) ${AT_BACKENDS} AND counts = 1 AND state = 1`).pluck();
    this.#setDurabilityDelay = database.prepare('UPDATE backend SET durability_delay_ms = ? WHERE id = ?');
    this.#goodElsewhere = database
      .prepare(`SELECT COUNT(*) ${AT_BACKENDS} AND name <> '${SPOOL}' AND state = 1`)
      .pluck();
    // A spooled copy is durable before it is read back; elsewhere only a proven copy is.
    this.#held = database
      .prepare(`SELECT COUNT(*) ${AT_BACKENDS} AND (state = 1 OR (state = 0 AND name = '${SPOOL}'))`)
      .pluck();
    this.#of = database.prepare(
      `SELECT name AS backend, state, verified_ms, attempts, last_error_code, last_error ${AT_BACKENDS} ORDER BY name`,
    );
  }

  /** Every configured backend whose rule takes it is to get it; what no block has, the local store alone. */
  want(sequence: number, dueSeconds: number, isUnmined = false): void {
    for (const [name, id] of this.#ids) {
      if (isUnmined && name !== SPOOL) continue;
      if (this.#isLeftOut(id, sequence)) {
        this.#dropBad(id, sequence);
        continue;
      }
      if (this.#wantNew(id, sequence, dueSeconds)) continue;
      const before = this.#codeAt(id, sequence);
      if (this.#wantAnew.run(id, sequence).changes === 1) this.counts.moved(id, before, 0);
    }
  }

  /** `want` for new content, which has no rows yet. */
  wantNew(contents: readonly { sequence: number; dueSeconds: number; isUnmined: boolean }[]): void {
    for (const [name, id] of this.#ids) {
      const mined = name === SPOOL ? contents : contents.filter(({ isUnmined }) => !isUnmined);
      const here = this.#rules.has(id) ? mined.filter(({ sequence }) => !this.#isLeftOut(id, sequence)) : mined;
      const added = this.#want.run(here.map(({ sequence, dueSeconds }) => [id, sequence, dueSeconds]));
      this.counts.added(id, added);
    }
  }

  /** Every configured backend but the local store is to get it, by its rule, where nothing is known of it yet. */
  wantElsewhere(sequence: number, dueSeconds: number): void {
    for (const [name, id] of this.#ids) {
      if (name !== SPOOL && !this.#isLeftOut(id, sequence)) this.#wantNew(id, sequence, dueSeconds);
    }
  }

  /** Whether this backend is to get it at all. */
  takes(backend: string, { versionHash, sizeBytes }: JudgedBlob): boolean {
    return this.#rules.get(this.id(backend))?.leavesOut(versionHash, sizeBytes) !== true;
  }

  ruleOf(backend: string): string | null {
    return this.#rules.get(this.id(backend))?.says ?? null;
  }

  /** Configured backends that are not to get it, for their rules leave it out. */
  leftOutAt(blob: JudgedBlob): string[] {
    if (this.#rules.size === 0) return [];
    return [...this.#ids.keys()].filter((backend) => !this.takes(backend, blob)).toSorted();
  }

  #isLeftOut(id: number, sequence: number): boolean {
    const rule = this.#rules.get(id);
    if (rule === undefined) return false;
    const { version_hash: key, size_bytes: sizeBytes } = judgedRow.parse(this.#judged.get(sequence));
    return rule.leavesOut(parseVersionHash(key.toString('hex')), sizeBytes);
  }

  /** false: there is a row, or it is withheld. */
  #wantNew(id: number, sequence: number, dueSeconds: number): boolean {
    const isNew = this.#want.run([[id, sequence, dueSeconds]]) === 1;
    if (isNew) this.counts.moved(id, null, 0);
    return isNew;
  }

  set(backend: string, sequence: number, state: PlacementState, verifiedMs: number | null): void {
    this.#setState(this.id(backend), sequence, codeOf(state), verifiedMs);
    if (state !== 'good' || backend === SPOOL) return;
    for (const id of this.#ids.values()) this.#relax.run(id, sequence);
  }

  /**
   * Some place holds the blob. A copy that was made under another rule counts while it is good. When it is not, the backend is
   * not to get it again, and there is no row of it any more. The row of the last copy stays: its loss is to be told.
   */
  dropLeftOut(sequence: number): void {
    for (const id of this.#rules.keys()) if (this.#isLeftOut(id, sequence)) this.#dropBad(id, sequence);
  }

  #dropBad(id: number, sequence: number): void {
    this.#gone(this.#removeBad.all(id, sequence));
  }

  #setState(id: number, sequence: number, code: 0 | 1 | 2, verifiedMs: number | null): void {
    // Mostly it was wanted: looking first what it was would cost every blob a question.
    for (const before of [0, 2, 1] as const) {
      if (this.#set.run(code, verifiedMs, id, sequence, before).changes === 0) continue;
      this.counts.moved(id, before, code);
      return;
    }
  }

  /** `set`, also without a row: for a copy that was found rather than made. */
  put(backend: string, sequence: number, state: PlacementState, verifiedMs: number | null): void {
    const [id, to] = [this.id(backend), codeOf(state)];
    const before = this.#codeAt(id, sequence);
    if (this.#put.run(id, sequence, to, verifiedMs).changes === 1) this.counts.moved(id, before, to);
  }

  remove(backend: string, sequence: number): void {
    this.#gone(this.#remove.all(this.id(backend), sequence));
  }

  /** Nothing is known of it any more, at any backend that ever was. */
  forget(sequence: number): void {
    this.#gone(this.#forget.all(sequence));
  }

  #gone(rows: readonly unknown[]): void {
    for (const [id, state] of goneRows.parse(rows)) this.counts.moved(id, state, null);
  }

  #codeAt(id: number, sequence: number): PlacementCode {
    return codeIfAny.parse(this.#stateAt.get(id, sequence)) ?? null;
  }

  fail(backend: string, sequence: number, failure: { code: string; message: string; nextAttemptMs: number }): void {
    this.#fail.run(failure.nextAttemptMs, failure.code, failure.message, this.id(backend), sequence);
  }

  /** Copies that this backend has still to prove and that may be read now, most urgent first, failed ones last. */
  wanted(backend: string, nowMs: number, limit: number): number[] {
    const id = this.id(backend);
    const found = this.#wanted.all(id, limit);
    const again = found.length < limit ? this.#failedWanted.all({ id, nowMs, limit: limit - found.length }) : [];
    return numbers.parse([...found, ...again]);
  }

  /**
   * Copies to put or repair. `new`: no failure yet, most urgent first. `failed`: due for another attempt, in the order
   * of creation. `damaged`: due for repair.
   */
  queue(backend: string, nowMs: number, limit: number, which: QueuePart): QueuedPlacement[] {
    const id = this.id(backend);
    const rows =
      which === 'new'
        ? this.#queue.all(id, limit)
        : (which === 'failed' ? this.#failedQueue : this.#damagedQueue).all({ id, nowMs, limit });
    return queuedRows
      .parse(rows)
      .map(({ object, state, attempts }) => ({ sequence: object, state: stateOf(state), attempts }));
  }

  /** When the next of what rested there at a time is tried; null: nothing did. */
  nextAttemptMs(backend: string, atMs: number): number | null {
    return numberOrNull.parse(this.#nextAttempt.get(this.id(backend), atMs));
  }

  /** Makes resting copies due now. */
  notifyAll(): void {
    for (const id of this.#ids.values()) this.counts.changes(id).notify();
  }

  /** Notifies when this backend is to get more, or more of its copies are to be repaired. */
  changes(backend: string): Notifier {
    return this.counts.changes(this.id(backend));
  }

  queued(backend: string): number {
    return this.counts.queued(this.id(backend));
  }

  damaged(backend: string, limit: number): number[] {
    return numbers.parse(this.#damaged.all(this.id(backend), limit));
  }

  damagedCount(backend: string): number {
    return this.counts.damaged(this.id(backend));
  }

  /** Reports whether enough counting backends are proven to hold it. The caller has just recorded one. */
  hasGoodCopies(sequence: number, required: number): boolean {
    return this.goodCopies(sequence) >= required;
  }

  /** Number of counting backends that are proven to hold it. */
  goodCopies(sequence: number): number {
    return number.parse(this.#good.get(sequence));
  }

  /** A copy there counts as safe from power loss when it was read back so long ago. */
  setDurabilityDelay(backend: string, milliseconds: number): void {
    this.#setDurabilityDelay.run(milliseconds, this.id(backend));
  }

  /** Number of places besides the local store that are proven to hold it, whether they count or not. */
  goodElsewhere(sequence: number): number {
    return number.parse(this.#goodElsewhere.get(sequence));
  }

  /** Number of places that hold it durably: a spooled copy counts before it is read back. */
  heldCopies(sequence: number): number {
    return number.parse(this.#held.get(sequence));
  }

  of(sequence: number): Placement[] {
    return placementRows
      .parse(this.#of.all(sequence))
      .map(({ backend, state, verified_ms, attempts, last_error_code: code, last_error }) => ({
        backend,
        state: stateOf(state),
        verifiedMs: verified_ms,
        lastFailure: code === null ? null : { code, message: last_error ?? '', attempts },
      }));
  }

  id(backend: string): number {
    const id = this.#ids.get(backend);
    if (id === undefined) throw new RangeError(`backend ${backend} is not configured`);
    return id;
  }
}
