import type Database from 'better-sqlite3';
import { z } from 'zod';

/** 0 wanted, 1 good, 2 damaged: as the column spells them. */
const PLACEMENT_STATES = ['wanted', 'good', 'damaged'] as const;
export type PlacementState = (typeof PLACEMENT_STATES)[number];

export interface Placement {
  readonly backend: string;
  readonly state: PlacementState;
  readonly verifiedMs: number | null;
}

/** A backend that is configured now. */
export interface ConfiguredBackend {
  readonly name: string;
  /** Do its copies count towards `stored`? */
  readonly counts: boolean;
}

/** Something that a backend is to hold and is not proven to. */
export interface QueuedPlacement {
  readonly sequence: number;
  /** `damaged`: there is a copy, or was, that is not good. */
  readonly state: PlacementState;
  readonly attempts: number;
}

const placementRow = z.object({ backend: z.string(), state: z.number(), verified_ms: z.number().nullable() });
const queuedRow = z.object({ sequence: z.number(), state: z.number(), attempts: z.number() });

/**
 * Nothing rests for longer than five minutes: what is farther ahead was written before the clock stepped back, and is
 * tried. One parameter: now.
 */
const MAY_BE_TRIED = '(next_attempt_ms - ?) NOT BETWEEN 1 AND 330000';

/** The store that every blob comes to first: what it holds was synced, though nobody read it back. */
export const SPOOL = 'local';

/** What each backend is to hold, and what was proven of it. The caller owns the transactions. */
export class PlacementTable {
  readonly #want: Database.Statement;
  readonly #set: Database.Statement;
  readonly #put: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #relax: Database.Statement;
  readonly #fail: Database.Statement;
  readonly #wanted: Database.Statement;
  readonly #queue: Database.Statement;
  readonly #queued: Database.Statement;
  readonly #damaged: Database.Statement;
  readonly #damagedQueue: Database.Statement;
  readonly #damagedCount: Database.Statement;
  readonly #wantToo: Database.Statement;
  readonly #forget: Database.Statement;
  readonly #good: Database.Statement;
  readonly #goodElsewhere: Database.Statement;
  readonly #settle: Database.Statement;
  readonly #settled: Database.Statement;
  readonly #held: Database.Statement;
  readonly #of: Database.Statement;
  readonly #ids: ReadonlyMap<string, number>;

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
        backends.map((backend) => [backend.name, z.number().parse(name.get(backend.name, backend.counts ? 1 : 0))]),
      );
    })();
    this.isSpoolACache = backends.some(({ name: id, counts }) => id === SPOOL && !counts);
    this.#want = database.prepare(
      'INSERT INTO placement (backend_id, sequence, state, due_seconds) VALUES (?, ?, 0, ?) ON CONFLICT DO UPDATE SET state = 0, verified_ms = NULL, attempts = 0, next_attempt_ms = 0',
    );
    this.#wantToo = database.prepare(
      'INSERT INTO placement (backend_id, sequence, state, due_seconds) VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING',
    );
    this.#set = database.prepare(
      'UPDATE placement SET state = ?, verified_ms = COALESCE(?, verified_ms), attempts = 0, next_attempt_ms = 0 WHERE backend_id = ? AND sequence = ?',
    );
    this.#put = database.prepare(
      'INSERT INTO placement (backend_id, sequence, state, verified_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state, verified_ms = COALESCE(excluded.verified_ms, verified_ms)',
    );
    this.#remove = database.prepare('DELETE FROM placement WHERE backend_id = ? AND sequence = ?');
    this.#forget = database.prepare(
      'DELETE FROM placement WHERE backend_id IN (SELECT id FROM backend) AND sequence = ?',
    );
    this.#relax = database.prepare(
      'UPDATE placement SET urgency = 1 WHERE backend_id = ? AND sequence = ? AND state <> 1 AND urgency = 0',
    );
    this.#fail = database.prepare(
      'UPDATE placement SET attempts = attempts + 1, next_attempt_ms = ?, last_error_code = ?, last_error = ? WHERE backend_id = ? AND sequence = ?',
    );
    this.#wanted = database
      .prepare(
        `SELECT sequence FROM placement INDEXED BY placement_queue WHERE backend_id = ? AND state <> 1 AND state = 0 AND sequence > ? AND ${MAY_BE_TRIED} ORDER BY urgency, due_seconds, sequence LIMIT ?`,
      )
      .pluck();
    this.#queue = database.prepare(
      `SELECT sequence, state, attempts FROM placement INDEXED BY placement_queue WHERE backend_id = ? AND state <> 1 AND ${MAY_BE_TRIED} ORDER BY urgency, due_seconds, sequence LIMIT ?`,
    );
    this.#queued = database
      .prepare('SELECT COUNT(*) FROM placement INDEXED BY placement_queue WHERE backend_id = ? AND state <> 1')
      .pluck();
    const isDamaged = 'placement INDEXED BY placement_damaged WHERE backend_id = ? AND state = 2';
    this.#damaged = database.prepare(`SELECT sequence FROM ${isDamaged} LIMIT ?`).pluck();
    this.#damagedQueue = database.prepare(
      `SELECT sequence, state, attempts FROM ${isDamaged} AND ${MAY_BE_TRIED} ORDER BY sequence LIMIT ?`,
    );
    this.#damagedCount = database.prepare(`SELECT COUNT(*) FROM ${isDamaged}`).pluck();
    // CROSS: backends first, in all of these. There are few; the planner, without statistics, would scan the placements.
    this.#good = database
      .prepare(
        'SELECT COUNT(*) FROM backend CROSS JOIN placement ON backend_id = id WHERE configured = 1 AND counts = 1 AND sequence = ? AND state = 1',
      )
      .pluck();
    this.#settle = database.prepare('UPDATE backend SET settle_ms = ? WHERE id = ?');
    this.#settled = database
      .prepare(
        'SELECT COUNT(*) FROM backend CROSS JOIN placement ON backend_id = id WHERE configured = 1 AND counts = 1 AND sequence = ? AND state = 1 AND COALESCE(verified_ms, 0) <= ? - settle_ms',
      )
      .pluck();
    this.#goodElsewhere = database
      .prepare(
        `SELECT COUNT(*) FROM backend CROSS JOIN placement ON backend_id = id WHERE configured = 1 AND name <> '${SPOOL}' AND sequence = ? AND state = 1`,
      )
      .pluck();
    // What the spool took is durable before it is read back; elsewhere only a proven copy is one.
    this.#held = database
      .prepare(
        `SELECT COUNT(*) FROM backend CROSS JOIN placement ON backend_id = id WHERE configured = 1 AND sequence = ? AND (state = 1 OR (state = 0 AND name = '${SPOOL}'))`,
      )
      .pluck();
    this.#of = database.prepare(
      'SELECT name AS backend, state, verified_ms FROM backend CROSS JOIN placement ON backend_id = id WHERE configured = 1 AND sequence = ? ORDER BY name',
    );
  }

  /** Every configured backend is to get it; what no block has, the local store alone. */
  want(sequence: number, dueSeconds: number, isUnmined = false): void {
    for (const [name, id] of this.#ids) if (!isUnmined || name === SPOOL) this.#want.run(id, sequence, dueSeconds);
  }

  /** Every configured backend but the local store is to get it, where nothing is known of it yet. */
  wantElsewhere(sequence: number, dueSeconds: number): void {
    for (const [name, id] of this.#ids) if (name !== SPOOL) this.#wantToo.run(id, sequence, dueSeconds);
  }

  set(backend: string, sequence: number, state: PlacementState, verifiedMs: number | null): void {
    this.#set.run(PLACEMENT_STATES.indexOf(state), verifiedMs, this.id(backend), sequence);
    if (state !== 'good' || backend === SPOOL) return;
    for (const id of this.#ids.values()) this.#relax.run(id, sequence);
  }

  /** As `set`, also where there was no row: a copy that was found rather than made. */
  put(backend: string, sequence: number, state: PlacementState, verifiedMs: number | null): void {
    this.#put.run(this.id(backend), sequence, PLACEMENT_STATES.indexOf(state), verifiedMs);
  }

  remove(backend: string, sequence: number): void {
    this.#remove.run(this.id(backend), sequence);
  }

  /** Nothing is known of it any more, at any backend that ever was. */
  forget(sequence: number): void {
    this.#forget.run(sequence);
  }

  fail(backend: string, sequence: number, failure: { code: string; message: string; nextAttemptMs: number }): void {
    this.#fail.run(failure.nextAttemptMs, failure.code, failure.message, this.id(backend), sequence);
  }

  /** What this backend has still to prove that it holds and may be read now, most urgent first. */
  wanted(backend: string, after: number, nowMs: number, limit: number): number[] {
    return z.array(z.number()).parse(this.#wanted.all(this.id(backend), after, nowMs, limit));
  }

  /** What is to be put or mended there and may be tried now, most urgent first; or what is to be mended alone. */
  queue(backend: string, nowMs: number, limit: number, isDamagedOnly = false): QueuedPlacement[] {
    const statement = isDamagedOnly ? this.#damagedQueue : this.#queue;
    return z
      .array(queuedRow)
      .parse(statement.all(this.id(backend), nowMs, limit))
      .map(({ sequence, state, attempts }) => ({ sequence, state: stateOf(state), attempts }));
  }

  queued(backend: string): number {
    return z.number().parse(this.#queued.get(this.id(backend)));
  }

  damaged(backend: string, limit: number): number[] {
    return z.array(z.number()).parse(this.#damaged.all(this.id(backend), limit));
  }

  damagedCount(backend: string): number {
    return z.number().parse(this.#damagedCount.get(this.id(backend)));
  }

  /** Are at least so many backends that count proven to hold it? The caller has just recorded one. */
  hasGoodCopies(sequence: number, required: number): boolean {
    return this.goodCopies(sequence) >= required;
  }

  /** How many backends that count are proven to hold it. */
  goodCopies(sequence: number): number {
    return z.number().parse(this.#good.get(sequence));
  }

  /** A copy there counts as safe from power loss when it was read back so long ago. */
  settle(backend: string, milliseconds: number): void {
    this.#settle.run(milliseconds, this.id(backend));
  }

  /** How many backends that count hold it, and would after their power failed. */
  settledCopies(sequence: number, nowMs: number): number {
    return z.number().parse(this.#settled.get(sequence, nowMs));
  }

  /** How many places besides the local store are proven to hold it, whether they count or not. */
  goodElsewhere(sequence: number): number {
    return z.number().parse(this.#goodElsewhere.get(sequence));
  }

  /** How many places hold it durably: what the spool took counts before it is read back. */
  heldCopies(sequence: number): number {
    return z.number().parse(this.#held.get(sequence));
  }

  of(sequence: number): Placement[] {
    return z
      .array(placementRow)
      .parse(this.#of.all(sequence))
      .map(({ backend, state, verified_ms }) => ({ backend, state: stateOf(state), verifiedMs: verified_ms }));
  }

  id(backend: string): number {
    const id = this.#ids.get(backend);
    if (id === undefined) throw new RangeError(`backend ${backend} is not configured`);
    return id;
  }
}

function stateOf(code: number): PlacementState {
  return PLACEMENT_STATES[code] ?? 'wanted';
}
