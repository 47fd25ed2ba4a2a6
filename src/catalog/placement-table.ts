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

/** What each backend is to hold, and what was proven of it. The caller owns the transactions. */
export class PlacementTable {
  readonly #configured: readonly number[];
  readonly #want: Database.Statement;
  readonly #set: Database.Statement;
  readonly #wanted: Database.Statement;
  readonly #good: Database.Statement;
  readonly #of: Database.Statement;
  readonly #ids: ReadonlyMap<string, number>;

  /** Only the backends named here are configured now, and count. */
  constructor(database: Database.Database, backends: readonly string[]) {
    const name = database
      .prepare(
        'INSERT INTO backend (name, configured) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET configured = 1 RETURNING id',
      )
      .pluck();
    this.#ids = database.transaction(() => {
      database.prepare('UPDATE backend SET configured = 0').run();
      return new Map(backends.map((backend) => [backend, z.number().parse(name.get(backend))]));
    })();
    this.#configured = [...this.#ids.values()];
    this.#want = database.prepare(
      'INSERT INTO placement (backend_id, sequence, state) VALUES (?, ?, 0) ON CONFLICT DO UPDATE SET state = 0, verified_ms = NULL',
    );
    this.#set = database.prepare(
      'UPDATE placement SET state = ?, verified_ms = COALESCE(?, verified_ms) WHERE backend_id = ? AND sequence = ?',
    );
    this.#wanted = database
      .prepare(
        'SELECT sequence FROM placement WHERE backend_id = ? AND state = 0 AND sequence > ? ORDER BY sequence LIMIT ?',
      )
      .pluck();
    this.#good = database
      .prepare(
        'SELECT COUNT(*) FROM backend JOIN placement ON backend_id = id WHERE configured = 1 AND sequence = ? AND state = 1',
      )
      .pluck();
    this.#of = database.prepare(
      'SELECT name AS backend, state, verified_ms FROM backend JOIN placement ON backend_id = id WHERE configured = 1 AND sequence = ? ORDER BY name',
    );
  }

  /** Every configured backend is to get it. */
  want(sequence: number): void {
    for (const id of this.#configured) this.#want.run(id, sequence);
  }

  set(backend: string, sequence: number, state: PlacementState, verifiedMs: number | null): void {
    this.#set.run(PLACEMENT_STATES.indexOf(state), verifiedMs, this.#id(backend), sequence);
  }

  /** What this backend has still to prove, in the order of arrival. */
  wanted(backend: string, after: number, limit: number): number[] {
    return z.array(z.number()).parse(this.#wanted.all(this.#id(backend), after, limit));
  }

  /** Are at least so many configured backends proven to hold it? The caller has just recorded one. */
  hasGoodCopies(sequence: number, required: number): boolean {
    return required <= 1 || this.goodCopies(sequence) >= required;
  }

  /** How many configured backends are proven to hold it. */
  goodCopies(sequence: number): number {
    return z.number().parse(this.#good.get(sequence));
  }

  of(sequence: number): Placement[] {
    return z
      .array(z.object({ backend: z.string(), state: z.number(), verified_ms: z.number().nullable() }))
      .parse(this.#of.all(sequence))
      .map((found) => ({
        backend: found.backend,
        state: PLACEMENT_STATES[found.state] ?? 'wanted',
        verifiedMs: found.verified_ms,
      }));
  }

  #id(backend: string): number {
    const id = this.#ids.get(backend);
    if (id === undefined) throw new RangeError(`backend ${backend} is not configured`);
    return id;
  }
}
