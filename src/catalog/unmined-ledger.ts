import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { ContentName, VersionHash } from '../core/blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import type { ContentEntry } from './content-table.ts';
import { BLOB } from './placement-state.ts';
import { SPOOL } from './placement-table.ts';
import { hashKey } from './seen-table.ts';
import type { Tables } from './tables.ts';

/** Reasons why unmined bytes were evicted: they were not mined in time, or mined content needed their room. */
export const UNMINED_EVICTION_REASONS = ['expired', 'no-room'] as const;
export type UnminedEvictionReason = (typeof UNMINED_EVICTION_REASONS)[number];

/** Evicted bytes of a transaction that no block had. */
export interface UnminedEviction {
  readonly hashType: ContentName['hashType'];
  readonly reason: UnminedEvictionReason;
  readonly sizeBytes: number;
  readonly evictedMs: number;
  /** When they came again; null: they have not. */
  readonly returnedMs: number | null;
}

/**
 * Content that a node listed when the walk began may be in a block below. A dialect without times uses the tip's. That
 * is little more than the retention above the block where the walk begins by itself.
 */
const WALK_MARGIN_SECONDS = 28_800;

const numbers = z.array(z.number());
const evictionRow = z.object({
  hash_type: z.number(),
  reason: z.enum(UNMINED_EVICTION_REASONS),
  size_bytes: z.number(),
  evicted_ms: z.number(),
  returned_ms: z.number().nullable(),
});

/** Content that a list named and no block has: here alone, until it is mined or evicted. */
export class UnminedLedger {
  readonly #tables: Tables;
  readonly #mined: Database.Statement;
  readonly #isOnChain: Database.Statement;
  readonly #before: Database.Statement;
  readonly #here: Database.Statement;
  readonly #recordEviction: Database.Statement;
  readonly #find: Database.Statement;
  readonly #isAnyEvicted: Database.Statement;
  readonly #returned: Database.Statement;
  readonly #startMedian: Database.Statement;

  constructor(tables: Tables) {
    const { database } = tables;
    this.#tables = tables;
    this.#mined = database
      .prepare(
        'UPDATE content SET unmined = 0 WHERE version_hash = ? AND hash_type = ? AND unmined = 1 RETURNING sequence',
      )
      .pluck();
    this.#isOnChain = database
      .prepare('SELECT 1 FROM occurrence WHERE version_hash = ? AND hash_type = ? LIMIT 1')
      .pluck();
    this.#before = database
      .prepare(
        'SELECT sequence FROM content WHERE unmined = 1 AND median_time_seconds < ? ORDER BY median_time_seconds LIMIT ? OFFSET ?',
      )
      .pluck();
    this.#here = database
      .prepare(
        `SELECT sequence FROM content WHERE unmined = 1 AND EXISTS
           (SELECT 1 FROM copy WHERE backend_id = (SELECT id FROM backend WHERE name = '${SPOOL}') AND kind = ${BLOB} AND object = content.sequence AND copy.state < 2)
         ORDER BY median_time_seconds LIMIT ?`,
      )
      .pluck();
    this.#recordEviction = database.prepare(
      `INSERT INTO evicted_unmined (version_hash, hash_type, sequence, size_bytes, txid, median_time_seconds, evicted_ms, reason)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET sequence = excluded.sequence, evicted_ms = excluded.evicted_ms,
       reason = excluded.reason, returned_ms = NULL`,
    );
    this.#find = database.prepare(
      'SELECT hash_type, reason, size_bytes, evicted_ms, returned_ms FROM evicted_unmined WHERE version_hash = ? ORDER BY hash_type',
    );
    this.#isAnyEvicted = database.prepare('SELECT 1 FROM evicted_unmined LIMIT 1');
    this.#startMedian = database
      .prepare(
        "SELECT median_time_seconds FROM block WHERE height = (SELECT value ->> 'startHeight' FROM fact WHERE name = 'walk')",
      )
      .pluck();
    this.#returned = database.prepare(
      'UPDATE evicted_unmined SET returned_ms = ? WHERE version_hash = ? AND hash_type = ? AND returned_ms IS NULL',
    );
  }

  /** Within the walk's transaction: a block has it, so every backend is to get it. */
  recordMined(name: ContentName, medianTimeSeconds: number): void {
    const sequence = this.#mined.get(hashKey(name.versionHash), hashTypeCode(name.hashType));
    if (sequence !== undefined) this.#tables.placements.wantElsewhere(z.number().parse(sequence), medianTimeSeconds);
  }

  /**
   * Whether no block has it is known only of what was listed after this time of the chain's clock, seconds; null: of
   * nothing yet.
   */
  knownAfterSeconds(): number | null {
    const start = this.#startMedian.get();
    return start === undefined ? null : z.number().parse(start) + WALK_MARGIN_SECONDS;
  }

  /** Within the transaction that says that its bytes are here. */
  recordReturned(name: ContentName): void {
    // Mostly no row exists: this look costs a third of an UPDATE that finds nothing.
    if (this.#isAnyEvicted.get() === undefined) return;
    this.#returned.run(this.#tables.nowMs(), hashKey(name.versionHash), hashTypeCode(name.hashType));
  }

  /** Seen before this time of the chain's clock, oldest first; `skip` of them are passed over. */
  before(medianTimeSeconds: number, limit: number, skip: number): ContentEntry[] {
    return this.#entries('find unmined content', () => this.#before.all(medianTimeSeconds, limit, skip));
  }

  /** Contents in the local store, oldest first. */
  here(limit: number): ContentEntry[] {
    return this.#entries('find unmined content', () => this.#here.all(limit));
  }

  /**
   * Takes these out of the books, before their bytes are deleted, and records it. Gives those that were: one that a block
   * has, that another place holds, or that is arriving again, stays.
   */
  recordEvicted(entries: readonly ContentEntry[], reason: UnminedEvictionReason): ContentEntry[] {
    const { content, placements, arriving, nowMs, transaction } = this.#tables;
    return transaction('record unmined evictions', () =>
      entries.filter(({ sequence }) => {
        const entry = content.at(sequence);
        if (
          entry?.isUnmined !== true ||
          arriving.has(entry) ||
          this.#isMined(entry) ||
          placements.goodElsewhere(sequence) > 0
        )
          return false;
        const { versionHash, hashType, sizeBytes, txid, medianTimeSeconds } = entry;
        const names = [hashKey(versionHash), hashTypeCode(hashType)] as const;
        const transactionId = txid === null ? null : hashKey(txid);
        this.#recordEviction.run(...names, sequence, sizeBytes, transactionId, medianTimeSeconds, nowMs(), reason);
        placements.forget(sequence);
        content.remove(sequence);
        return true;
      }),
    );
  }

  /** Evicted contents under this name, of either hash type. */
  evictions(versionHash: VersionHash): UnminedEviction[] {
    return this.#tables.reading('look up unmined evictions', () =>
      this.#find.all(hashKey(versionHash)).map((value) => {
        const found = evictionRow.parse(value);
        return {
          hashType: hashTypeFrom(found.hash_type),
          reason: found.reason,
          sizeBytes: found.size_bytes,
          evictedMs: found.evicted_ms,
          returnedMs: found.returned_ms,
        };
      }),
    );
  }

  #isMined({ versionHash, hashType }: ContentName): boolean {
    return this.#isOnChain.get(hashKey(versionHash), hashTypeCode(hashType)) !== undefined;
  }

  #entries(operation: string, sequences: () => unknown[]): ContentEntry[] {
    return this.#tables.reading(operation, () =>
      numbers.parse(sequences()).flatMap((sequence) => this.#tables.content.at(sequence) ?? []),
    );
  }
}
