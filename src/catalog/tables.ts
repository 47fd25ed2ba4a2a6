import type Database from 'better-sqlite3';
import { Notifier } from '../core/notifier.ts';
import { ArrivingBlobs } from './arriving-blobs.ts';
import { type ContentEntry, ContentTable, type StoredState } from './content-table.ts';
import { catalogFault } from './errors.ts';
import { Facts } from './facts.ts';
import type { MonotonicWallClock } from './monotonic-wall-clock.ts';
import type { PlacementTable } from './placement-table.ts';
import type { SeenTable } from './seen-table.ts';
import { StateTotals } from './state-totals.ts';

/**
 * The tables that every ledger of the catalog reads and moves together: content, its copies, and the fetch queue, with the
 * totals that follow them. Whatever changes more than one of them goes through one transaction here.
 */
export class Tables {
  readonly database: Database.Database;
  readonly facts: Facts;
  readonly content: ContentTable;
  readonly seen: SeenTable;
  readonly placements: PlacementTable;
  readonly counts: StateTotals;
  /** Blobs whose bytes no eviction deletes now. */
  readonly arriving = new ArrivingBlobs();
  /** Notifies when content that no place held is held again: its records are due. */
  readonly heldAgain = new Notifier();
  /** Number of good copies that make a blob `stored`. */
  readonly replicasRequired: number;
  readonly nowMs: () => number;
  /** Times recorded before this one are at least as old as they seem, whatever steps the wall clock made. */
  readonly surelyMs: () => number;

  constructor(
    database: Database.Database,
    placements: PlacementTable,
    seen: SeenTable,
    clock: MonotonicWallClock,
    replicasRequired: number,
  ) {
    this.database = database;
    this.facts = new Facts(database);
    this.content = new ContentTable(database);
    this.seen = seen;
    this.placements = placements;
    this.counts = new StateTotals(database, this.reading);
    this.replicasRequired = replicasRequired;
    this.nowMs = clock.nowMs;
    this.surelyMs = clock.surelyMs;
  }

  readonly transaction = <T>(operation: string, work: () => T): T => {
    const putBack = [this.seen.remember(), this.placements.counts.remember()];
    try {
      return this.database.transaction(work).immediate();
    } catch (cause) {
      // The lengths of queues follow the transaction: what was rolled back was not counted.
      for (const put of putBack) put();
      throw catalogFault(operation, cause, this.database.name);
    }
  };

  readonly reading = <T>(operation: string, work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw catalogFault(operation, cause, this.database.name);
    }
  };

  /** Gives a content the state that its copies prove now, whatever it was before. Within a transaction of the caller. */
  readonly recount = ({ sequence }: Pick<ContentEntry, 'sequence'>): StoredState => {
    const entry = this.content.at(sequence);
    if (entry === null) return 'seen';
    const isStored = this.placements.hasGoodCopies(sequence, this.replicasRequired);
    const state = isStored ? 'stored' : this.placements.heldCopies(sequence) > 0 ? 'spooled' : 'seen';
    if (state !== entry.state) {
      this.content.setState(sequence, state, isStored ? this.nowMs() : null);
    }
    if (state === 'seen') {
      this.seen.add({ ...entry, medianTimeSeconds: entry.medianTimeSeconds ?? 0 }, this.nowMs());
      return state;
    }
    this.placements.dropLeftOut(sequence);
    if (entry.state === 'seen') {
      this.seen.remove(entry.versionHash);
      this.heldAgain.notify();
    }
    return state;
  };
}
