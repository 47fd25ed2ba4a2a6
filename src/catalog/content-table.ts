import type Database from 'better-sqlite3';
import { z } from 'zod';
import {
  type ContentName,
  type HashType,
  parseTxId,
  parseVersionHash,
  type TxId,
  type VersionHash,
} from '../blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../sqlite/hash-type-code.ts';
import { hashKey } from './wanted-table.ts';

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
}

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
});
const standingRow = z.object({ state: z.number(), unmined: z.number() });
const putRow = z.object({ sequence: z.number(), unmined: z.number() });

const COLUMNS =
  'version_hash, hash_type, sequence, state, size_bytes, txid, median_time_seconds, first_seen_ms, spooled_ms, stored_ms, unmined';

/**
 * Whether no block has it is known only of what was listed after the walk had begun: what a node listed then may lie in a
 * block below. A dialect that tells no times gets the tip's, which is at most the retention and some more above the
 * block where the walk begins by itself.
 */
const WALK_MARGIN_SECONDS = 28_800;
const IS_UNMINED = `? = 1 AND NOT EXISTS (SELECT 1 FROM occurrence WHERE version_hash = ? AND hash_type = ?)
  AND ? > ${WALK_MARGIN_SECONDS} + (SELECT median_time_seconds FROM block WHERE height = (SELECT start_height FROM walk))`;

/** Content whose bytes were verified once. The caller owns the transactions. */
export class ContentTable {
  readonly #byHash: Database.Statement;
  readonly #bySequence: Database.Statement;
  readonly #held: Database.Statement;
  readonly #heldAs: Database.Statement;
  readonly #standing: Database.Statement;
  readonly #upsert: Database.Statement;
  readonly #setState: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #oldest: Database.Statement;
  readonly #newest: Database.Statement;
  readonly #totals: Database.Statement;
  #lastSequence: number;

  constructor(database: Database.Database) {
    this.#byHash = database.prepare(`SELECT ${COLUMNS} FROM content WHERE version_hash = ? ORDER BY hash_type`);
    this.#bySequence = database.prepare(`SELECT ${COLUMNS} FROM content WHERE sequence = ?`);
    this.#held = database.prepare('SELECT 1 FROM content WHERE version_hash = ? AND state > 0').pluck();
    this.#heldAs = database
      .prepare('SELECT 1 FROM content WHERE version_hash = ? AND hash_type = ? AND state > 0')
      .pluck();
    this.#standing = database.prepare('SELECT state, unmined FROM content WHERE version_hash = ? AND hash_type = ?');
    // No row comes back when the content is held already: then nothing changes.
    this.#upsert = database.prepare(
      `INSERT INTO content (${COLUMNS}) VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, NULL, COALESCE(${IS_UNMINED}, 0))
       ON CONFLICT (version_hash, hash_type) DO UPDATE SET state = 1, spooled_ms = excluded.spooled_ms, stored_ms = NULL,
       unmined = MIN(unmined, excluded.unmined) WHERE state = 0 RETURNING sequence, unmined`,
    );
    this.#remove = database.prepare('DELETE FROM content WHERE sequence = ?');
    this.#setState = database.prepare('UPDATE content SET state = ?, stored_ms = ? WHERE sequence = ?');
    this.#oldest = database.prepare(`SELECT ${COLUMNS} FROM content WHERE sequence > ? ORDER BY sequence LIMIT ?`);
    this.#newest = database.prepare(`SELECT ${COLUMNS} FROM content WHERE sequence < ? ORDER BY sequence DESC LIMIT ?`);
    this.#totals = database.prepare(
      'SELECT state, COUNT(*) AS count, SUM(size_bytes) AS bytes FROM content GROUP BY state',
    );
    const last = database
      .prepare(
        'SELECT MAX(COALESCE((SELECT MAX(sequence) FROM content), 0), COALESCE((SELECT MAX(sequence) FROM let_go), 0))',
      )
      .pluck()
      .get();
    this.#lastSequence = z.number().parse(last);
  }

  /** One version hash can name content of either hash type. */
  find(versionHash: VersionHash): ContentEntry[] {
    return this.#byHash.all(hashKey(versionHash)).map(decode);
  }

  at(sequence: number): ContentEntry | null {
    const found = this.#bySequence.get(sequence);
    return found === undefined ? null : decode(found);
  }

  /** Is it spooled or stored, under either hash type? */
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

  /** null: it was held already. `isNew`: it had no row before. */
  putSpooled(content: SpooledContent, nowMs: number): { sequence: number; isNew: boolean; isUnmined: boolean } | null {
    const next = this.#lastSequence + 1;
    const key = hashKey(content.versionHash);
    const code = hashTypeCode(content.hashType);
    const given = this.#upsert.get(
      key,
      code,
      next,
      content.sizeBytes,
      content.txid === null ? null : hashKey(content.txid),
      content.medianTimeSeconds,
      content.firstSeenMs,
      nowMs,
      content.isUnmined === true ? 1 : 0,
      key,
      code,
      content.medianTimeSeconds,
    );
    if (given === undefined) return null;
    const { sequence, unmined } = putRow.parse(given);
    if (sequence === next) this.#lastSequence = next;
    return { sequence, isNew: sequence === next, isUnmined: unmined === 1 };
  }

  setState(sequence: number, state: StoredState, storedMs: number | null): void {
    this.#setState.run(CONTENT_STATES.indexOf(state), storedMs, sequence);
  }

  remove(sequence: number): void {
    this.#remove.run(sequence);
  }

  page(order: 'oldest' | 'newest', after: number | null, limit: number): ContentEntry[] {
    const rows =
      order === 'oldest'
        ? this.#oldest.all(after ?? 0, limit)
        : this.#newest.all(after ?? Number.MAX_SAFE_INTEGER, limit);
    return rows.map(decode);
  }

  /** Reads the whole table: once, at the start. */
  totals(): { state: StoredState; count: number; bytes: number }[] {
    return z
      .array(z.object({ state: z.number(), count: z.number(), bytes: z.number() }))
      .parse(this.#totals.all())
      .map((total) => ({ state: stateFrom(total.state), count: total.count, bytes: total.bytes }));
  }
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
  };
}
