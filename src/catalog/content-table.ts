import type Database from 'better-sqlite3';
import { z } from 'zod';
import {
  type ContentName,
  type HashType,
  parseTxId,
  parseVersionHash,
  type TxId,
  type VersionHash,
} from '../core/blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import { RowsInsert } from '../core/sqlite/rows-insert.ts';
import { hashKey } from './seen-table.ts';

/** 0 seen, 1 spooled, 2 stored: as the column spells them. */
export const CONTENT_STATES = ['seen', 'spooled', 'stored'] as const;
export type StoredState = (typeof CONTENT_STATES)[number];

export interface ContentEntry extends ContentName {
  readonly sequence: number;
  readonly state: StoredState;
  readonly sizeBytes: number;
  /** A list named it, and no block that was walked ever had it: it stays here alone. */
  readonly isUnmined: boolean;
  readonly txid: TxId | null;
  readonly medianTimeSeconds: number | null;
  readonly firstSeenMs: number;
  readonly spooledMs: number | null;
  readonly storedMs: number | null;
  /**
   * The peer that gave the bytes because the nodes lacked them; null: a node or a backend of this archive gave them.
   */
  readonly givenBy: string | null;
}

/** Due behind everything that arrives now, far beyond any median time: history goes to the backends last. */
export const AFTER_ALL_SECONDS = 2 ** 40;

/** Content that is durable here as of now. */
export interface SpooledContent extends ContentName {
  readonly sizeBytes: number;
  readonly txid: TxId | null;
  readonly medianTimeSeconds: number | null;
  readonly firstSeenMs: number;
  /** Goes to the backends in the place that this time has among median times; absent: its own. */
  readonly dueSeconds?: number;
  /** A list named it and no block did, as far as was walked when it was asked for. Absent: mined, or not known. */
  readonly isUnmined?: boolean;
}

/** Bytes that are durable somewhere. `isUnmined`: nothing but a list knows it, whatever the content says. */
export interface Arrival {
  readonly content: SpooledContent;
  readonly isUnmined: boolean;
}

export interface PutContent {
  readonly sequence: number;
  /** Whether it had no row before. */
  readonly isNew: boolean;
  readonly isUnmined: boolean;
}

const row = z.object({
  version_hash: z.instanceof(Buffer),
  hash_type: z.number(),
  sequence: z.number(),
  state: z.number(),
  size_bytes: z.number(),
  txid: z.instanceof(Buffer).nullable(),
  median_time_seconds: z.number().nullable(),
  first_seen_ms: z.number(),
  spooled_ms: z.number().nullable(),
  stored_ms: z.number().nullable(),
  unmined: z.number(),
  given_by: z.string().nullable(),
});
const standingRow = z.object({ state: z.number(), unmined: z.number() });
const numbers = z.array(z.number());
const putRow = z.object({ sequence: z.number(), unmined: z.number() });

const COLUMNS =
  'version_hash, hash_type, sequence, state, size_bytes, txid, median_time_seconds, first_seen_ms, spooled_ms, stored_ms, unmined, given_by';

/** Content whose bytes were verified once. The caller owns the transactions. */
export class ContentTable {
  readonly #byHash: Database.Statement;
  readonly #bySequence: Database.Statement;
  readonly #held: Database.Statement;
  readonly #heldAs: Database.Statement;
  readonly #standing: Database.Statement;
  readonly #insert: RowsInsert;
  readonly #sequencesFrom: Database.Statement;
  readonly #return: Database.Statement;
  readonly #setState: Database.Statement;
  readonly #setGiver: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #oldest: Database.Statement;
  readonly #newest: Database.Statement;
  readonly #newestBelow: Database.Statement;
  #lastSequence: number;

  constructor(database: Database.Database) {
    this.#byHash = database.prepare(`SELECT ${COLUMNS} FROM content WHERE version_hash = ? ORDER BY hash_type`);
    this.#bySequence = database.prepare(`SELECT ${COLUMNS} FROM content WHERE sequence = ?`);
    this.#held = database.prepare('SELECT 1 FROM content WHERE version_hash = ? AND state > 0').pluck();
    this.#heldAs = database
      .prepare('SELECT 1 FROM content WHERE version_hash = ? AND hash_type = ? AND state > 0')
      .pluck();
    this.#standing = database.prepare('SELECT state, unmined FROM content WHERE version_hash = ? AND hash_type = ?');
    // Plain, for it is most of what a small blob costs here: with RETURNING, and the UPDATE in it, it took twice its time.
    this.#insert = new RowsInsert(
      database,
      `content (${COLUMNS})`,
      '(?, ?, ?, 1, ?, ?, ?, ?, ?, NULL, ?, NULL)',
      'ON CONFLICT (version_hash, hash_type) DO NOTHING',
    );
    this.#sequencesFrom = database.prepare('SELECT sequence FROM content WHERE sequence >= ?').pluck();
    this.#return = database.prepare(
      `UPDATE content SET state = 1, spooled_ms = @nowMs, stored_ms = NULL, unmined = MIN(unmined, @unmined)
       WHERE version_hash = @key AND hash_type = @code AND state = 0
         AND NOT EXISTS (SELECT 1 FROM withheld WHERE version_hash = @key AND hash_type = @code) RETURNING sequence, unmined`,
    );
    this.#remove = database.prepare('DELETE FROM content WHERE sequence = ?');
    this.#setGiver = database.prepare('UPDATE content SET given_by = ? WHERE version_hash = ? AND hash_type = ?');
    this.#setState = database.prepare('UPDATE content SET state = ?, stored_ms = ? WHERE sequence = ?');
    this.#oldest = database.prepare(`SELECT ${COLUMNS} FROM content WHERE sequence > ? ORDER BY sequence LIMIT ?`);
    this.#newest = database.prepare(`SELECT ${COLUMNS} FROM content ORDER BY sequence DESC LIMIT ?`);
    this.#newestBelow = database.prepare(
      `SELECT ${COLUMNS} FROM content WHERE sequence < ? ORDER BY sequence DESC LIMIT ?`,
    );
    const evicted = database.prepare('SELECT COALESCE(MAX(sequence), 0) FROM evicted_unmined').pluck().get();
    // The newest row is read, and not its number alone: a table that is damaged as a whole is refused at the start.
    const [newest] = this.page('newest', null, 1);
    this.#lastSequence = Math.max(newest?.sequence ?? 0, z.number().parse(evicted));
  }

  /** One version hash can name content of either hash type. */
  find(versionHash: VersionHash): ContentEntry[] {
    return this.#byHash.all(hashKey(versionHash)).map(decode);
  }

  at(sequence: number): ContentEntry | null {
    const found = this.#bySequence.get(sequence);
    return found === undefined ? null : decode(found);
  }

  /** Reports whether it is spooled or stored, under either hash type. */
  isHeld(versionHash: VersionHash): boolean {
    return this.#held.get(hashKey(versionHash)) !== undefined;
  }

  isHeldAs({ hashType, versionHash }: ContentName): boolean {
    return this.#heldAs.get(hashKey(versionHash), hashTypeCode(hashType)) !== undefined;
  }

  /** null: its bytes never were here. */
  standing({ hashType, versionHash }: ContentName): { readonly isHeld: boolean; readonly isUnmined: boolean } | null {
    const found = this.#standing.get(hashKey(versionHash), hashTypeCode(hashType));
    if (found === undefined) return null;
    const { state, unmined } = standingRow.parse(found);
    return { isHeld: state > 0, isUnmined: unmined === 1 };
  }

  /** In their order; null: it was held already, or is withheld. */
  putSpooled(arrivals: readonly Arrival[], nowMs: number): (PutContent | null)[] {
    const first = this.#lastSequence + 1;
    const rows = arrivals.map((arrival, index) => newRow(arrival, first + index, nowMs));
    const isAllNew = this.#insert.run(rows) === rows.length;
    const given = isAllNew ? null : new Set(numbers.parse(this.#sequencesFrom.all(first)));
    this.#lastSequence = given === null ? first + rows.length - 1 : Math.max(first - 1, ...given);
    return arrivals.map((arrival, index): PutContent | null => {
      const sequence = first + index;
      const { isUnmined } = arrival;
      return given?.has(sequence) === false ? this.#returned(arrival, nowMs) : { sequence, isNew: true, isUnmined };
    });
  }

  /** Handles content that had a row before. */
  #returned({ content, isUnmined }: Arrival, nowMs: number): PutContent | null {
    const [key, code] = [hashKey(content.versionHash), hashTypeCode(content.hashType)];
    const returned = this.#return.get({ nowMs, unmined: isUnmined ? 1 : 0, key, code });
    if (returned === undefined) return null;
    const found = putRow.parse(returned);
    return { sequence: found.sequence, isNew: false, isUnmined: found.unmined === 1 };
  }

  setState(sequence: number, state: StoredState, storedMs: number | null): void {
    this.#setState.run(CONTENT_STATES.indexOf(state), storedMs, sequence);
  }

  setGiver({ hashType, versionHash }: ContentName, peer: string): void {
    this.#setGiver.run(peer, hashKey(versionHash), hashTypeCode(hashType));
  }

  remove(sequence: number): void {
    this.#remove.run(sequence);
  }

  page(order: 'oldest' | 'newest', after: number | null, limit: number): ContentEntry[] {
    if (order === 'oldest') return this.#oldest.all(after ?? 0, limit).map(decode);
    const rows = after === null ? this.#newest.all(limit) : this.#newestBelow.all(after, limit);
    return rows.map(decode);
  }
}

function newRow({ content, isUnmined }: Arrival, sequence: number, nowMs: number): readonly unknown[] {
  const { versionHash, hashType, sizeBytes, medianTimeSeconds, firstSeenMs } = content;
  const names = [hashKey(versionHash), hashTypeCode(hashType), sequence, sizeBytes] as const;
  const txid = content.txid === null ? null : hashKey(content.txid);
  return [...names, txid, medianTimeSeconds, firstSeenMs, nowMs, isUnmined ? 1 : 0];
}

function stateFrom(code: number): StoredState {
  const state = CONTENT_STATES[code];
  if (state === undefined) throw new RangeError(`a row names state ${code}, which no version of this program wrote`);
  return state;
}

function decode(value: unknown): ContentEntry {
  const found = row.parse(value);
  const hashType: HashType = hashTypeFrom(found.hash_type);
  return {
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    hashType,
    sequence: found.sequence,
    state: stateFrom(found.state),
    sizeBytes: found.size_bytes,
    isUnmined: found.unmined === 1,
    txid: found.txid === null ? null : parseTxId(found.txid.toString('hex')),
    medianTimeSeconds: found.median_time_seconds,
    firstSeenMs: found.first_seen_ms,
    spooledMs: found.spooled_ms,
    storedMs: found.stored_ms,
    givenBy: found.given_by,
  };
}
