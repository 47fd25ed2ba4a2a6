import type Database from 'better-sqlite3';
import { z } from 'zod';
import { Notifier } from '../core/notifier.ts';
import { BLOB } from './placement-state.ts';

/** States as the column spells them: 0 wanted, 1 good, 2 damaged; null: no row. */
export type PlacementCode = 0 | 1 | 2 | null;

interface Counts {
  wanted: number;
  damaged: number;
}

const counted = z.object({ wanted: z.number(), damaged: z.number() });

/**
 * Number of copies that each backend still has to get, or to get repaired. Kept beside the table: the queue of a
 * backend that was away for long has millions of rows, and its length is read several times a second.
 */
export class PlacementCounts {
  readonly #count: Database.Statement;
  /** Counts by backend; a missing one is counted on first use. */
  #counts = new Map<number, Counts>();
  /** Notifies, for each backend, when it is to get more, or more of its copies are to be repaired. */
  readonly #changes: ReadonlyMap<number, Notifier>;

  constructor(database: Database.Database, backendIds: Iterable<number>) {
    this.#changes = new Map(Array.from(backendIds, (id) => [id, new Notifier()]));
    this.#count = database.prepare(
      `SELECT COUNT(*) FILTER (WHERE state = 0) AS wanted, COUNT(*) FILTER (WHERE state = 2) AS damaged
       FROM copy INDEXED BY copy_queue WHERE backend_id = ? AND kind = ${BLOB} AND state <> 1`,
    );
  }

  /** Number of copies that are wanted or damaged. */
  queued(backendId: number): number {
    const { wanted, damaged } = this.#of(backendId);
    return wanted + damaged;
  }

  damaged(backendId: number): number {
    return this.#of(backendId).damaged;
  }

  /** A row of this backend came, changed or went. */
  moved(backendId: number, from: PlacementCode, to: PlacementCode): void {
    if (to === 0 || to === 2) this.#changes.get(backendId)?.notify();
    const counts = this.#counts.get(backendId);
    if (counts === undefined) return;
    counts.wanted += (to === 0 ? 1 : 0) - (from === 0 ? 1 : 0);
    counts.damaged += (to === 2 ? 1 : 0) - (from === 2 ? 1 : 0);
  }

  /** Adds new wanted rows of this backend. */
  added(backendId: number, rows: number): void {
    if (rows > 0) this.#changes.get(backendId)?.notify();
    const counts = this.#counts.get(backendId);
    if (counts !== undefined) counts.wanted += rows;
  }

  /**
   * Notifies within the transaction that queues something. A loop that waits runs after it has ended, and one that is rolled
   * back has woken the loop in vain.
   */
  changes(backendId: number): Notifier {
    const changes = this.#changes.get(backendId);
    if (changes === undefined) throw new RangeError(`backend ${backendId} has no worker`);
    return changes;
  }

  /** Gives what puts them back to what they are now: for a transaction that is rolled back. */
  remember(): () => void {
    const before = [...this.#counts].map(([id, counts]) => [id, { ...counts }] as const);
    return () => {
      this.#counts = new Map(before);
    };
  }

  #of(backendId: number): Counts {
    const known = this.#counts.get(backendId);
    if (known !== undefined) return known;
    const found = counted.parse(this.#count.get(backendId));
    this.#counts.set(backendId, found);
    return found;
  }
}
