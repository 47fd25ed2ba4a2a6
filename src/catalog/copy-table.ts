import type Database from 'better-sqlite3';
import { z } from 'zod';
import { Notifier } from '../core/notifier.ts';
import { BACKOFF, backoffMs, longestBackoffMs } from '../core/time/backoff.ts';
import { sleepUntil } from '../core/time/run-loop.ts';
import { BLOB } from './placement-state.ts';
import type { Tables } from './tables.ts';

/** Kinds of objects on backends, as `copy` numbers them. */
export const COPIED = { evidence: 1, withdrawn: 2, record: 3, custom: 4 } as const;
export type CopiedKind = (typeof COPIED)[keyof typeof COPIED];
/** SQL: the kinds of objects beside the blobs, in the words of the index of refused copies. */
const BESIDE_BLOBS = `kind < ${BLOB}`;

/** A copy that is not as it is to be, and why not. */
export interface RefusedCopy {
  readonly kind: CopiedKind;
  readonly object: number;
  readonly code: string;
  readonly message: string;
}

const refusedRow = z.object({ kind: z.enum(COPIED), object: z.number(), code: z.string(), message: z.string() });
const number = z.number();
const numberOrNull = number.nullable();
const numbered = z.array(z.object({ id: z.number(), name: z.string() }));

/**
 * SQL: copies of this kind at @backend that are to be moved, behind @after; those that rest at @nowMs only @isAsked. What is
 * farther ahead than anything rests was written before the clock stepped back, and is tried.
 */
export function dueCopies(kind: CopiedKind): string {
  return `copy.backend_id = @backend AND copy.kind = ${kind} AND copy.object > @after
    AND (attempts = 0 OR @isAsked = 1 OR next_attempt_ms NOT BETWEEN @nowMs + 1 AND @nowMs + ${longestBackoffMs(BACKOFF.refused)})`;
}

/** SQL: of an object of this kind, the copy that is known to be good. */
export function isGoodSomewhere(kind: CopiedKind, object: string): string {
  return `EXISTS (SELECT 1 FROM copy WHERE ${EVERYWHERE} AND copy.kind = ${kind} AND copy.object = ${object} AND copy.state = 1)`;
}

/** SQL: every backend, so that a copy is found by its object in the index that begins with them. */
const EVERYWHERE = 'backend_id IN (SELECT id FROM backend)';

/** SQL: no backend waits for this object. */
export function waitsNowhere(kind: CopiedKind, object: string): string {
  return `NOT EXISTS (SELECT 1 FROM copy WHERE ${EVERYWHERE} AND copy.kind = ${kind} AND copy.object = ${object})`;
}

/** Objects beside the blobs that are not yet in their wanted state: `copy`, for all of their kinds. */
export class CopyTable {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #tables: Tables;
  #ids: ReadonlyMap<string, number>;
  readonly #changes: Readonly<Record<CopiedKind, Notifier>>;

  constructor(tables: Tables) {
    this.#tables = tables;
    this.#ids = this.#known();
    this.#sql = prepare(tables.database);
    this.#changes = {
      [COPIED.evidence]: new Notifier(),
      [COPIED.withdrawn]: new Notifier(),
      [COPIED.record]: Notifier.following(tables.heldAgain),
      [COPIED.custom]: new Notifier(),
    };
  }

  /**
   * The backends with names that are configured now. One that was not is to get all that there is, and to lose all that
   * was withdrawn; of others nothing is kept, for what was proven there proves nothing now. What they refused is tried at
   * once.
   */
  useBackends(names: readonly string[]): void {
    this.#tables.transaction('settle who gets documents', () => {
      const { database } = this.#tables;
      const now = JSON.stringify(names);
      const gone = 'SELECT id FROM backend WHERE gets_documents = 1 AND name NOT IN (SELECT value FROM json_each(?))';
      database.prepare(`DELETE FROM copy WHERE ${BESIDE_BLOBS} AND backend_id IN (${gone})`).run(now);
      const leave = `UPDATE backend SET gets_documents = 0, gave_evidence = 0, fill_after = NULL, fill_until = NULL WHERE id IN (${gone})`;
      if (database.prepare(leave).run(now).changes > 0) {
        this.forgetUnasked();
        database.exec(`UPDATE custom SET is_held = ${isGoodSomewhere(COPIED.custom, 'custom.sequence')}`);
      }
      database.exec(
        `UPDATE copy INDEXED BY copy_refused SET next_attempt_ms = 0 WHERE attempts > 0 AND ${BESIDE_BLOBS}`,
      );
      const enter = database.prepare('INSERT INTO backend (name) VALUES (?) ON CONFLICT DO NOTHING');
      const join = database
        .prepare(
          `UPDATE backend SET gets_documents = 1, fill_after = -1, fill_until = (SELECT COALESCE(MAX(height), -1) FROM occurrence)
           WHERE name = ? AND gets_documents = 0 RETURNING id`,
        )
        .pluck();
      const all = (kind: CopiedKind, state: number, table: string) =>
        database.prepare(
          `INSERT INTO copy (backend_id, kind, object, state) SELECT ?, ${kind}, sequence, ${state} FROM ${table}`,
        );
      const evidence = all(COPIED.evidence, 0, 'evidence');
      // A withdrawn record may still exist on a backend that was away, or not configured, at that time.
      const withdrawn = all(COPIED.withdrawn, 3, 'withdrawn_occurrence');
      const custom = all(COPIED.custom, 0, 'custom');
      for (const name of names) {
        enter.run(name);
        const id = join.get(name);
        if (id === undefined) continue;
        evidence.run(id);
        withdrawn.run(id);
        custom.run(id);
      }
    });
    this.#ids = this.#known();
  }

  /** Backends that get documents. */
  get ids(): ReadonlyMap<string, number> {
    return this.#ids;
  }

  id(backend: string): number {
    const id = this.#ids.get(backend);
    if (id === undefined) throw new RangeError(`backend ${backend} gets no documents`);
    return id;
  }

  /** Copies that `dueCopies` selects. */
  due(backend: string, after: number, isAsked = false) {
    return { backend: this.id(backend), after, nowMs: this.#tables.nowMs(), isAsked: isAsked ? 1 : 0 };
  }

  /**
   * Notifies within the transaction that queues an object of this kind. A loop that waits runs after it has ended, and one
   * that is rolled back has woken the loop in vain.
   */
  changes(kind: CopiedKind): Notifier {
    return this.#changes[kind];
  }

  /**
   * The time that the worker of these kinds may sleep, unless `changes` notifies: until something that was refused is due.
   * `lookedMs`: the moment before the worker looked, so that it does not sleep over what became due since.
   */
  idleMs(kinds: readonly CopiedKind[], backend: string, lookedMs: number): number {
    const nowMs = this.#tables.nowMs();
    const next = kinds.map((kind) => {
      const due = this.#sql.nextAttempt.get({ backend: this.id(backend), kind, lookedMs });
      return sleepUntil(numberOrNull.parse(due), nowMs);
    });
    return Math.min(...next);
  }

  /** Within a transaction of the caller. */
  want(kind: CopiedKind, object: number, backend: string): void {
    this.#sql.want.run({ backend: this.id(backend), kind, object });
    this.changes(kind).notify();
  }

  /** Within a transaction of the caller. */
  wantEverywhere(kind: CopiedKind, object: number): void {
    this.#sql.wantEverywhere.run({ kind, object });
    this.changes(kind).notify();
  }

  /** The backend has it, or has it no more, as it is to be. Within a transaction of the caller. */
  done(kind: CopiedKind, object: number, backend: string): void {
    this.#sql.done.run({ backend: this.id(backend), kind, object });
  }

  /** The same of several, as one commit. */
  recordDone(kind: CopiedKind, objects: readonly number[], backend: string): void {
    this.#tables.transaction('record what a backend has', () => {
      for (const object of objects) this.done(kind, object, backend);
    });
  }

  isQueued(kind: CopiedKind, object: number, backend: string): boolean {
    return this.#sql.find.get({ backend: this.id(backend), kind, object }) !== undefined;
  }

  count(kind: CopiedKind, backend: string): number {
    return this.#reads(() => this.#sql.count.get({ backend: this.id(backend), kind }));
  }

  /** The backend refuses these and takes others: each rests, longer after each attempt. */
  recordRefused(backend: string, copies: readonly RefusedCopy[]): void {
    this.#tables.transaction('record what a backend refuses', () => {
      for (const { kind, object, code, message } of copies) {
        const which = { backend: this.id(backend), kind, object };
        const attempts = z
          .number()
          .optional()
          .parse(this.#sql.refuse.get({ ...which, code, message }));
        if (attempts === undefined) continue;
        this.#sql.rest.run({ ...which, untilMs: this.#tables.nowMs() + backoffMs(BACKOFF.refused, attempts) });
      }
    });
  }

  refusedCount(kind: CopiedKind, backend: string): number {
    return this.#reads(() => this.#sql.refusedCount.get({ backend: this.id(backend), kind }));
  }

  /** Copies that the backend refuses, in the order in which they were to be moved, with the reason. */
  refused(kind: CopiedKind, backend: string, limit: number): RefusedCopy[] {
    return this.#tables.reading('read what a backend refuses', () =>
      z.array(refusedRow).parse(this.#sql.refused.all({ backend: this.id(backend), kind, limit })),
    );
  }

  /** Records that no backend waits for. Within a transaction of the caller. */
  forgetUnasked(): void {
    const object = '(unwritten_record.height << 20) + transaction_index';
    this.#tables.database.exec(`DELETE FROM unwritten_record WHERE ${waitsNowhere(COPIED.record, object)}`);
  }

  #reads(look: () => unknown): number {
    return this.#tables.reading('count what waits for a backend', () => number.parse(look()));
  }

  #known(): ReadonlyMap<string, number> {
    const rows = numbered.parse(
      this.#tables.database.prepare('SELECT id, name FROM backend WHERE gets_documents = 1').all(),
    );
    return new Map(rows.map(({ id, name }) => [name, id]));
  }
}

function prepare(database: Database.Database) {
  const into = 'INSERT INTO copy (backend_id, kind, object, state)';
  const state = `CASE @kind WHEN ${COPIED.withdrawn} THEN 3 ELSE 0 END`;
  const copy = 'copy WHERE backend_id = @backend AND kind = @kind';
  const refused = `copy INDEXED BY copy_refused WHERE attempts > 0 AND ${BESIDE_BLOBS} AND backend_id = @backend AND kind = @kind`;
  return {
    want: database.prepare(`${into} VALUES (@backend, @kind, @object, ${state}) ON CONFLICT DO NOTHING`),
    wantEverywhere: database.prepare(
      `${into} SELECT id, @kind, @object, ${state} FROM backend WHERE gets_documents = 1 ON CONFLICT DO NOTHING`,
    ),
    done: database.prepare(`DELETE FROM ${copy} AND object = @object`),
    find: database.prepare(`SELECT 1 FROM ${copy} AND object = @object`),
    refuse: database
      .prepare(
        `UPDATE copy SET attempts = attempts + 1, last_error_code = @code, last_error = @message
         WHERE backend_id = @backend AND kind = @kind AND object = @object RETURNING attempts`,
      )
      .pluck(),
    rest: database.prepare(
      'UPDATE copy SET next_attempt_ms = @untilMs WHERE backend_id = @backend AND kind = @kind AND object = @object',
    ),
    count: database.prepare(`SELECT COUNT(*) FROM ${copy}`).pluck(),
    refused: database.prepare(
      `SELECT kind, object, last_error_code AS code, last_error AS message FROM ${refused} ORDER BY object LIMIT @limit`,
    ),
    nextAttempt: database
      .prepare(`SELECT MIN(next_attempt_ms) FROM ${refused} AND next_attempt_ms > @lookedMs`)
      .pluck(),
    refusedCount: database.prepare(`SELECT COUNT(*) FROM ${refused}`).pluck(),
  };
}
