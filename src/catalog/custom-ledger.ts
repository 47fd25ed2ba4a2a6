import type Database from 'better-sqlite3';
import { z } from 'zod';
import { parseVersionHash, type VersionHash } from '../core/blob/ids.ts';
import { COPIED, type CopyTable, dueCopies, isGoodSomewhere } from './copy-table.ts';
import { hashKey } from './seen-table.ts';
import type { Tables } from './tables.ts';

/** Bytes that match neither hash, by the keccak256 that they do have. */
export interface CustomEntry {
  readonly versionHash: VersionHash;
  readonly keccak: VersionHash;
}

/** In the order of arrival. */
export interface KeptCustom extends CustomEntry {
  readonly sequence: number;
  readonly sizeBytes: number;
}

export interface DamagedCustom extends CustomEntry {
  /** Whether another configured place is proven to hold it. */
  readonly elsewhere: boolean;
}

const entryRow = z.object({ version_hash: z.instanceof(Buffer), keccak: z.instanceof(Buffer) });
const keptRow = entryRow.extend({ sequence: z.number(), size_bytes: z.number() });
const damagedRow = entryRow.extend({ elsewhere: z.number() });
const count = z.number();
const hashes = z.array(z.instanceof(Buffer));

const KEPT = 'custom.sequence, version_hash, keccak, size_bytes';
/**
 * Content of which bytes that match neither hash are all that there is, each once, whatever number of them is kept. Every
 * look-up goes to an index, so that the rows come one after the other and nothing is sorted.
 */
export const CUSTOM_NAMES = `FROM custom CROSS JOIN (SELECT 1 AS hash_type UNION ALL SELECT 2) AS type WHERE is_held = 1
  AND NOT EXISTS (SELECT 1 FROM custom AS before WHERE before.version_hash = custom.version_hash AND before.keccak < custom.keccak AND before.is_held = 1)
  AND EXISTS (SELECT 1 FROM occurrence WHERE occurrence.version_hash = custom.version_hash AND occurrence.hash_type = type.hash_type)
  AND NOT EXISTS (SELECT 1 FROM content WHERE content.version_hash = custom.version_hash AND content.hash_type = type.hash_type AND state > 0)`;
/** SQL: what @backend is proven to hold. */
const GOOD = `copy.backend_id = @backend AND copy.kind = ${COPIED.custom} AND copy.state = 1`;
/** SQL: what @backend is not proven to hold, each in the index of these. */
const NOT_GOOD = `copy INDEXED BY copy_custom WHERE copy.backend_id = @backend AND copy.kind = ${COPIED.custom} AND copy.state <> 1`;

/** Custom commitments and their places. They make no content held or stored. */
export class CustomLedger {
  readonly #tables: Tables;
  readonly #copies: CopyTable;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(tables: Tables, copies: CopyTable) {
    this.#tables = tables;
    this.#copies = copies;
    this.#statements = prepare(tables.database);
  }

  /** The place gave these back whole. */
  record(name: CustomEntry, sizeBytes: number, place: string): void {
    const { nowMs, transaction } = this.#tables;
    transaction('record custom bytes', () => {
      const { put, revoke } = this.#statements;
      const sequence = z
        .number()
        .optional()
        .parse(put.get(...keyOf(name), sizeBytes, nowMs()));
      if (sequence !== undefined) this.#copies.wantEverywhere(COPIED.custom, sequence);
      this.#set(name, place, 1, nowMs());
      // Something is there for it after all.
      if (this.has(name.versionHash)) revoke.run(nowMs(), hashKey(name.versionHash));
    });
  }

  /**
   * The place answered twice that it has wrong bytes under this name, or none. When no other place has them, the node
   * is asked again.
   */
  recordDamaged(name: CustomEntry, place: string): void {
    this.#tables.transaction('record damaged custom bytes', () => {
      this.#set(name, place, 2, null);
      if (this.has(name.versionHash)) return;
      this.#statements.fetchAgain.run(hashKey(name.versionHash));
      this.#tables.seen.changes.notify();
    });
  }

  /** Forgets custom commitments that the archive no longer holds. The caller owns the transaction. */
  forget(versionHash: VersionHash): void {
    this.#statements.forget.run(hashKey(versionHash));
    this.#copies.changes(COPIED.custom).notify();
  }

  /** Reports whether any such content is held. */
  has(versionHash: VersionHash): boolean {
    return this.#look(() => this.#statements.has.get(hashKey(versionHash)) !== undefined);
  }

  /** Reports whether it is known, held or not. */
  isKnown(name: CustomEntry): boolean {
    return this.#look(() => this.#statements.isKnown.get(...keyOf(name)) !== undefined);
  }

  isGoodAt(place: string, name: CustomEntry): boolean {
    return this.#look(() => this.#statements.isGoodAt.get(this.#copies.id(place), ...keyOf(name)) !== undefined);
  }

  /** Version hashes of some contents on chain of which such bytes are all that there is. */
  someNames(limit: number): VersionHash[] {
    return this.#look(() =>
      hashes.parse(this.#statements.someNames.all(limit)).map((hash) => parseVersionHash(hash.toString('hex'))),
    );
  }

  /** Counts contents on chain of which such bytes are all that there is; not further than to `most`. */
  countNames(most: number): number {
    return this.#look(() => count.parse(this.#statements.countNames.get(most)));
  }

  /**
   * Copies that a place should get now (`isAsked`: at all), after this number; `held`: those that another place has.
   */
  due(place: string, which: 'all' | 'held', after: number, limit: number, isAsked: boolean): KeptCustom[] {
    const part = { ...this.#copies.due(place, after, isAsked), held: which === 'held' ? 1 : 0, limit };
    return this.#look(() => this.#statements.due.all(part).map(decode));
  }

  goodAfter(place: string, after: number, limit: number): KeptCustom[] {
    return this.#look(() => this.#statements.goodAfter.all({ ...this.#at(place), after, limit }).map(decode));
  }

  /** The copy that arrived last of those that a place is proven to hold; null: it holds none. */
  newestGood(place: string): KeptCustom | null {
    return this.#look(() => this.#statements.newestGood.all(this.#at(place)).map(decode)[0] ?? null);
  }

  /** Copies that a place is proven to hold, in the order of names; null: from the beginning. */
  goodByName(place: string, after: CustomEntry | null, limit: number): KeptCustom[] {
    const [versionHash, keccak] = after === null ? [Buffer.alloc(0), Buffer.alloc(0)] : keyOf(after);
    const which = { ...this.#at(place), versionHash, keccak, limit };
    return this.#look(() => this.#statements.goodByName.all(which).map(decode));
  }

  goodCount(place: string): number {
    return this.#look(() => count.parse(this.#statements.goodCount.get(this.#at(place))));
  }

  damagedCount(place: string): number {
    return this.#look(() => count.parse(this.#statements.damagedCount.get(this.#at(place))));
  }

  /** Known, and neither good nor known to be damaged there. */
  waitingCount(place: string): number {
    return this.#look(() => count.parse(this.#statements.waitingCount.get(this.#at(place))));
  }

  damaged(place: string, limit: number): DamagedCustom[] {
    return this.#look(() =>
      this.#statements.damaged.all({ ...this.#at(place), limit }).map((value) => {
        const row = damagedRow.parse(value);
        return { ...nameOf(row), elsewhere: row.elsewhere === 1 };
      }),
    );
  }

  /** Known, and held at no place that is configured. */
  lostCount(): number {
    return this.#look(() => count.parse(this.#statements.lostCount.get()));
  }

  #set(name: CustomEntry, place: string, state: 1 | 2, verifiedMs: number | null): void {
    const [versionHash, keccak] = keyOf(name);
    this.#statements.set.run({ ...this.#at(place), state, verifiedMs, versionHash, keccak });
    this.#statements.recount.run(versionHash, keccak);
    this.#copies.changes(COPIED.custom).notify();
  }

  #at(place: string): { readonly backend: number } {
    return { backend: this.#copies.id(place) };
  }

  #look<T>(work: () => T): T {
    return this.#tables.reading('read what is kept of custom commitments', work);
  }
}

function prepare(database: Database.Database) {
  const named = 'version_hash = ? AND keccak = ?';
  return {
    put: database
      .prepare(
        'INSERT INTO custom (version_hash, keccak, size_bytes, kept_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING sequence',
      )
      .pluck(),
    set: database.prepare(
      `INSERT INTO copy (backend_id, kind, object, state, verified_ms)
       SELECT @backend, ${COPIED.custom}, sequence, @state, @verifiedMs FROM custom WHERE version_hash = @versionHash AND keccak = @keccak
       ON CONFLICT DO UPDATE SET state = excluded.state, verified_ms = excluded.verified_ms, attempts = 0, next_attempt_ms = 0,
         last_error_code = NULL, last_error = NULL`,
    ),
    recount: database.prepare(
      `UPDATE custom SET is_held = ${isGoodSomewhere(COPIED.custom, 'custom.sequence')} WHERE ${named}`,
    ),
    revoke: database.prepare(
      "UPDATE lost SET revoked_ms = ?, revoked_because = 'bytes-turned-up' WHERE version_hash = ? AND revoked_ms IS NULL",
    ),
    fetchAgain: database.prepare(
      'UPDATE seen SET next_attempt_ms = 0 WHERE version_hash = ? AND hash_type IS NOT NULL',
    ),
    forget: database.prepare('DELETE FROM custom WHERE version_hash = ?'),
    has: database.prepare('SELECT 1 FROM custom WHERE version_hash = ? AND is_held = 1 LIMIT 1'),
    isKnown: database.prepare(`SELECT 1 FROM custom WHERE ${named}`),
    isGoodAt: database.prepare(
      `SELECT 1 FROM custom CROSS JOIN copy ON copy.backend_id = ? AND copy.kind = ${COPIED.custom} AND copy.object = sequence
       WHERE ${named} AND copy.state = 1`,
    ),
    someNames: database.prepare(`SELECT custom.version_hash ${CUSTOM_NAMES} LIMIT ?`).pluck(),
    countNames: database.prepare(`SELECT COUNT(*) FROM (SELECT 1 ${CUSTOM_NAMES} LIMIT ?)`).pluck(),
    due: database.prepare(
      `SELECT ${KEPT} FROM copy INDEXED BY copy_custom CROSS JOIN custom ON sequence = copy.object
       WHERE ${dueCopies(COPIED.custom)} AND copy.state <> 1 AND is_held >= @held ORDER BY copy.object LIMIT @limit`,
    ),
    goodAfter: database.prepare(
      `SELECT ${KEPT} FROM copy CROSS JOIN custom ON sequence = copy.object WHERE ${GOOD} AND copy.object > @after
       ORDER BY copy.object LIMIT @limit`,
    ),
    newestGood: database.prepare(
      `SELECT ${KEPT} FROM copy CROSS JOIN custom ON sequence = copy.object WHERE ${GOOD} ORDER BY copy.object DESC LIMIT 1`,
    ),
    goodByName: database.prepare(
      `SELECT ${KEPT} FROM custom CROSS JOIN copy ON ${GOOD} AND copy.object = sequence
       WHERE (version_hash, keccak) > (@versionHash, @keccak) ORDER BY version_hash, keccak LIMIT @limit`,
    ),
    goodCount: database.prepare(`SELECT COUNT(*) FROM copy WHERE ${GOOD}`).pluck(),
    damagedCount: database.prepare(`SELECT COUNT(*) FROM ${NOT_GOOD} AND state = 2`).pluck(),
    waitingCount: database.prepare(`SELECT COUNT(*) FROM ${NOT_GOOD} AND state = 0`).pluck(),
    damaged: database.prepare(
      `SELECT version_hash, keccak, is_held AS elsewhere FROM copy INDEXED BY copy_custom CROSS JOIN custom ON sequence = copy.object
       WHERE copy.backend_id = @backend AND copy.kind = ${COPIED.custom} AND copy.state <> 1 AND copy.state = 2 ORDER BY copy.object LIMIT @limit`,
    ),
    lostCount: database.prepare('SELECT COUNT(*) FROM custom WHERE is_held = 0').pluck(),
  };
}

function keyOf({ versionHash, keccak }: CustomEntry): [Buffer, Buffer] {
  return [hashKey(versionHash), hashKey(keccak)];
}

function nameOf(row: z.infer<typeof entryRow>): CustomEntry {
  return {
    versionHash: parseVersionHash(row.version_hash.toString('hex')),
    keccak: parseVersionHash(row.keccak.toString('hex')),
  };
}

function decode(value: unknown): KeptCustom {
  const row = keptRow.parse(value);
  return { ...nameOf(row), sequence: row.sequence, sizeBytes: row.size_bytes };
}
