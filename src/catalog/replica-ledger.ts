import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { ContentName } from '../core/blob/ids.ts';
import type { Notifier } from '../core/notifier.ts';
import { hashTypeCode } from '../core/sqlite/hash-type-code.ts';
import { sleepUntil } from '../core/time/run-loop.ts';
import type { Arrivals } from './arrivals.ts';
import { CacheLedger } from './cache-ledger.ts';
import type { ContentEntry, SpooledContent } from './content-table.ts';
import { BLOB, type PlacementState } from './placement-state.ts';
import { type JudgedBlob, type QueuedPlacement, type QueuePart, SPOOL } from './placement-table.ts';
import { hashKey } from './seen-table.ts';
import type { Tables } from './tables.ts';

export interface QueuedCopy extends QueuedPlacement {
  readonly entry: ContentEntry;
}

export interface PlacementFailure {
  readonly sequence: number;
  readonly code: string;
  readonly message: string;
  readonly nextAttemptMs: number;
}

/** SQL: of one backend, in the order of arrival. */
const AT_ONE = `FROM copy WHERE backend_id = ? AND kind = ${BLOB}`;

const numbers = z.array(z.number());
const PROGRESS = z.object({ sequence: z.number(), changedMs: z.number() });
const listedRow = z.object({ sequence: z.number(), size_bytes: z.number(), state: z.number().nullable() });

/** A content as a backend's listing finds it in the catalog. */
export interface KnownCopy {
  readonly sequence: number;
  readonly sizeBytes: number;
  /** null: nothing says that this backend is to have it. */
  readonly state: PlacementState | null;
}

/** Copies on backends, beyond the way of a new blob. */
export class ReplicaLedger {
  readonly #tables: Tables;
  readonly #arrivals: Arrivals;
  /** The local store as a cache. */
  readonly cached: CacheLedger;
  readonly #known: Database.Statement;
  readonly #goodAfter: Database.Statement;
  readonly #newestGood: Database.Statement;
  readonly #claimedAfter: Database.Statement;

  constructor(tables: Tables, arrivals: Arrivals) {
    const { database } = tables;
    this.#tables = tables;
    this.#arrivals = arrivals;
    this.cached = new CacheLedger(tables);
    this.#known = database.prepare(
      `SELECT content.sequence, size_bytes, copy.state FROM content
       LEFT JOIN copy ON kind = ${BLOB} AND object = content.sequence AND backend_id = ?
       WHERE version_hash = ? AND hash_type BETWEEN ? AND ?`,
    );
    this.#newestGood = database.prepare(`SELECT object ${AT_ONE} AND state = 1 ORDER BY object DESC LIMIT 1`).pluck();
    this.#claimedAfter = database
      .prepare(`SELECT object ${AT_ONE} AND state < 2 AND object > ? ORDER BY object LIMIT ?`)
      .pluck();
    this.#goodAfter = database
      .prepare(`SELECT object ${AT_ONE} AND state = 1 AND object > ? ORDER BY object LIMIT ?`)
      .pluck();
  }

  /** Copies to put or repair at this backend without a failure there yet, most urgent first. */
  due(backend: string, limit: number): QueuedCopy[] {
    return this.#queue(backend, limit, 'new');
  }

  /** Copies that failed there before, and may be tried again now. */
  dueAgain(backend: string, limit: number): QueuedCopy[] {
    return this.#queue(backend, limit, 'failed');
  }

  /** Only what there was a copy of, or should be, and it is not good; failed before or not. */
  dueDamaged(backend: string, limit: number): QueuedCopy[] {
    return this.#queue(backend, limit, 'damaged');
  }

  #queue(backend: string, limit: number, which: QueuePart): QueuedCopy[] {
    const { placements, content, nowMs, reading } = this.#tables;
    return reading('read what is to be replicated', () =>
      placements.queue(backend, nowMs(), limit, which).flatMap((queued) => {
        const entry = content.at(queued.sequence);
        return entry === null ? [] : [{ ...queued, entry }];
      }),
    );
  }

  /** Notifies when this backend is to get more, when more of its copies are to be repaired, and when rests end early. */
  changes(backend: string): Notifier {
    return this.#tables.placements.changes(backend);
  }

  /**
   * The time that the backend's worker may sleep, unless `changes` notifies: until something that failed there is due.
   * `lookedMs`: the moment before the worker looked, so that it does not sleep over what became due since.
   */
  idleMs(backend: string, lookedMs: number): number {
    const { placements, nowMs, reading } = this.#tables;
    return reading('look when a copy is due', () => sleepUntil(placements.nextAttemptMs(backend, lookedMs), nowMs()));
  }

  /** Whether the rule of this backend takes the blob. */
  takes(backend: string, blob: JudgedBlob): boolean {
    return this.#tables.placements.takes(backend, blob);
  }

  /** The rule of this backend in a sentence; null: it takes every blob. */
  ruleOf(backend: string): string | null {
    return this.#tables.placements.ruleOf(backend);
  }

  /** Backends that are not to get the blob, for their rules leave it out. */
  leftOutAt(blob: JudgedBlob): string[] {
    return this.#tables.placements.leftOutAt(blob);
  }

  at(sequence: number): ContentEntry | null {
    return this.#tables.reading('look a content up', () => this.#tables.content.at(sequence));
  }

  queued(backend: string): number {
    return this.#tables.reading('measure a queue', () => this.#tables.placements.queued(backend));
  }

  recordFailures(backend: string, failures: readonly PlacementFailure[]): void {
    this.#tables.transaction('record why a backend has not got it', () => {
      for (const failure of failures) this.#tables.placements.fail(backend, failure.sequence, failure);
    });
  }

  /**
   * Verified bytes of these were read there: found by a rebuild or a listing, or written through because here was no
   * room.
   */
  recordFound(backend: string, contents: readonly SpooledContent[]): void {
    const { placements, content, seen, nowMs, transaction, recount } = this.#tables;
    transaction('record what a backend was found to hold', () => {
      // Elsewhere already: whether a block has it makes no difference any more.
      const arrivals = contents.map((found) => ({ content: found, isUnmined: false }));
      const put = content.putSpooled(arrivals, nowMs());
      const fresh = contents.flatMap((found, index) => {
        const given = put[index] ?? null;
        if (given === null) return [];
        this.#arrivals.recordElsewhere(found);
        const dueSeconds = found.dueSeconds ?? found.medianTimeSeconds ?? 0;
        if (given.isNew) return [{ ...given, dueSeconds }];
        // Before, no block may have had it, so that it was to stay here alone.
        placements.wantElsewhere(given.sequence, dueSeconds);
        return [];
      });
      placements.wantNew(fresh);
      // Content from elsewhere: it is missing here until it is brought back, and a cache need not have it.
      for (const { sequence } of fresh) this.#absentHere(sequence);
      for (const [index, found] of contents.entries()) {
        const sequence = put[index]?.sequence ?? this.#sequenceOf(found);
        if (sequence === null) continue;
        placements.put(backend, sequence, 'good', nowMs());
        recount({ sequence });
        seen.remove(found.versionHash);
      }
    });
  }

  /** null: it has no row. */
  #sequenceOf({ hashType, versionHash }: ContentName): number | null {
    return this.#tables.content.find(versionHash).find((entry) => entry.hashType === hashType)?.sequence ?? null;
  }

  /** The copies at this backend prove nothing any more, and are queued again. Each content is counted again. */
  recordUnproven(backend: string, entries: readonly ContentEntry[]): void {
    const { placements, transaction, recount } = this.#tables;
    transaction('record what a backend is not known to hold any more', () => {
      for (const entry of entries) {
        placements.set(backend, entry.sequence, 'wanted', null);
        recount(entry);
      }
    });
  }

  /** Contents that a listing names. `anyType`: the listing does not name the hash type. */
  known(backend: string, name: ContentName, anyType: boolean): KnownCopy[] {
    const id = this.#tables.placements.id(backend);
    const code = hashTypeCode(name.hashType);
    const rows = this.#known.all(id, hashKey(name.versionHash), anyType ? 1 : code, anyType ? 2 : code);
    return rows.map((row) => {
      const { sequence, size_bytes: sizeBytes, state } = listedRow.parse(row);
      return {
        sequence,
        sizeBytes,
        state: state === null ? null : ((['wanted', 'good', 'damaged'] as const)[state] ?? null),
      };
    });
  }

  /** Copies that this backend is believed to hold, in the order of arrival. */
  goodAfter(backend: string, after: number, limit: number): ContentEntry[] {
    return this.#tables.reading('read what a backend holds', () =>
      numbers
        .parse(this.#goodAfter.all(this.#tables.placements.id(backend), after, limit))
        .flatMap((sequence) => this.#tables.content.at(sequence) ?? []),
    );
  }

  /** Copies that the catalog believes to be there, proven or only written. */
  claimedAfter(backend: string, after: number, limit: number): ContentEntry[] {
    return this.#tables.reading('read what a backend is believed to hold', () =>
      numbers
        .parse(this.#claimedAfter.all(this.#tables.placements.id(backend), after, limit))
        .flatMap((sequence) => this.#tables.content.at(sequence) ?? []),
    );
  }

  /** Latest arrival among the copies that this backend is proven to hold; null: none. */
  newestGood(backend: string): ContentEntry | null {
    return this.#tables.reading('read what a backend holds', () => {
      const found = this.#newestGood.get(this.#tables.placements.id(backend));
      return found === undefined ? null : this.#tables.content.at(z.number().parse(found));
    });
  }

  /** `goodAfter`, numbers only. */
  goodSequences(backend: string, after: number, limit: number): number[] {
    return this.#tables.reading('read what a backend holds', () =>
      numbers.parse(this.#goodAfter.all(this.#tables.placements.id(backend), after, limit)),
    );
  }

  /** Copies that this backend should hold, and is known to lack or to have damaged. */
  damaged(backend: string, limit: number): ContentEntry[] {
    return this.#tables.reading('read what is damaged', () =>
      this.#tables.placements.damaged(backend, limit).flatMap((sequence) => this.#tables.content.at(sequence) ?? []),
    );
  }

  damagedCount(backend: string): number {
    return this.#tables.reading('count what is damaged', () => this.#tables.placements.damagedCount(backend));
  }

  /** A caller waits: rows that pause after failures are tried at once. */
  tryAgainNow(): void {
    this.#tables.transaction('end all rests', () =>
      this.#tables.database
        .prepare(
          `UPDATE copy INDEXED BY copy_failed SET next_attempt_ms = 0 WHERE kind = ${BLOB} AND state <> 1 AND attempts > 0 AND next_attempt_ms > 0`,
        )
        .run(),
    );
    this.#tables.placements.notifyAll();
  }

  goodCount(backend: string): number {
    return this.#tables.reading('count what a backend holds', () =>
      z
        .number()
        .parse(
          this.#tables.database
            .prepare(`SELECT COUNT(*) ${AT_ONE} AND state = 1`)
            .pluck()
            .get(this.#tables.placements.id(backend)),
        ),
    );
  }

  /** Number of good copies that make a blob `stored`. */
  get required(): number {
    return this.#tables.replicasRequired;
  }

  /**
   * Counts blobs after `after` and up to `to`, on chain and held anywhere, that have fewer good copies than required.
   * The given backends do not count.
   */
  shortCount(without: readonly string[], after: number, to: number): number {
    const good = `SELECT COUNT(*) FROM backend CROSS JOIN copy ON backend_id = id
      WHERE kind = ${BLOB} AND object = content.sequence AND configured = 1 AND counts = 1 AND copy.state = 1
        AND name NOT IN (SELECT value FROM json_each(@without))`;
    return this.#tables.reading('count what has too few copies', () =>
      z.number().parse(
        this.#tables.database
          .prepare(
            `SELECT COUNT(*) FROM content WHERE sequence > @after AND sequence <= @to AND state > 0 AND unmined = 0 AND (${good}) < @required`,
          )
          .pluck()
          .get({ without: JSON.stringify(without), after, to, required: this.required }),
      ),
    );
  }

  lastSequence(): number {
    return this.#tables.reading('find the last arrival', () =>
      z.number().parse(this.#tables.database.prepare('SELECT COALESCE(MAX(sequence), 0) FROM content').pluck().get()),
    );
  }

  /** Progress of a reading that continued within this time; 0: it begins. */
  progress(backend: string, purpose: string, withinMs = Number.POSITIVE_INFINITY): number {
    const { facts, nowMs, reading } = this.#tables;
    const found = reading('read how far a check has come', () => facts.get(this.#scrub(backend, purpose), PROGRESS));
    return found === null || nowMs() - found.changedMs > withinMs ? 0 : found.sequence;
  }

  /** @param sequence 0: the reading is over, and the next one starts over */
  recordProgress(backend: string, purpose: string, sequence: number): void {
    const { facts, nowMs, transaction } = this.#tables;
    const name = this.#scrub(backend, purpose);
    transaction('record how far a check has come', () => {
      if (sequence === 0) facts.forget(name);
      else facts.put(name, { sequence, changedMs: nowMs() });
    });
  }

  #scrub(backend: string, purpose: string): string {
    return `scrub/${this.#tables.placements.id(backend)}/${purpose}`;
  }

  /** The local store should hold it, and this has not been checked. The caller owns the transaction. */
  recordAbsentHere({ sequence }: ContentEntry): void {
    this.#absentHere(sequence);
  }

  #absentHere(sequence: number): void {
    const { placements } = this.#tables;
    if (placements.isSpoolACache) placements.remove(SPOOL, sequence);
    else if (placements.of(sequence).some(({ backend }) => backend === SPOOL))
      placements.set(SPOOL, sequence, 'damaged', null);
  }
}
