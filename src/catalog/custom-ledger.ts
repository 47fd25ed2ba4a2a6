import type Database from 'better-sqlite3';
import { z } from 'zod';
import { parseVersionHash, type VersionHash } from '../core/blob/ids.ts';
import type { Tables } from './tables.ts';
import { hashKey } from './wanted-table.ts';

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
  /** Is some other place that is configured proven to hold it? */
  readonly elsewhere: boolean;
}

const entryRow = z.object({ version_hash: z.instanceof(Buffer), keccak: z.instanceof(Buffer) });
const keptRow = entryRow.extend({ sequence: z.number(), size_bytes: z.number() });
const damagedRow = entryRow.extend({ elsewhere: z.number() });
const count = z.number();

const KEPT = 'custom.sequence, version_hash, keccak, size_bytes';
const COPY = 'SELECT 1 FROM custom_copy WHERE custom_copy.sequence = custom.sequence';
/**
 * Content of which bytes that match neither hash are all that there is, each once, whatever number of them is kept. Every
 * look-up goes to an index, so that the rows come one after the other and nothing is sorted.
 */
export const CUSTOM_NAMES = `FROM custom CROSS JOIN (SELECT 1 AS hash_type UNION ALL SELECT 2) AS type WHERE is_held = 1
  AND NOT EXISTS (SELECT 1 FROM custom AS before WHERE before.version_hash = custom.version_hash AND before.keccak < custom.keccak AND before.is_held = 1)
  AND EXISTS (SELECT 1 FROM occurrence WHERE occurrence.version_hash = custom.version_hash AND occurrence.hash_type = type.hash_type)
  AND NOT EXISTS (SELECT 1 FROM content WHERE content.version_hash = custom.version_hash AND content.hash_type = type.hash_type AND state > 0)`;
const HELD = `EXISTS (${COPY} AND state = 1)`;
const GOOD = 'custom JOIN custom_copy ON custom_copy.sequence = custom.sequence AND backend = ? AND state = 1';

/** What is kept of custom commitments, and where. It makes nothing held, and nothing stored. */
export class CustomLedger {
  readonly #tables: Tables;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(tables: Tables, places: readonly string[]) {
    const { database } = tables;
    this.#tables = tables;
    this.#statements = prepare(database);
    // A place that is configured no more proves nothing; when it is again, it is looked at again.
    tables.transaction('forget copies at places of before', () => {
      const names = JSON.stringify(places);
      const away = 'backend NOT IN (SELECT value FROM json_each(?))';
      const isAway = database.prepare(`SELECT 1 FROM custom_copy WHERE ${away} LIMIT 1`).get(names) !== undefined;
      if (!isAway) return;
      database.prepare(`DELETE FROM custom_copy WHERE ${away}`).run(names);
      database.exec(`UPDATE custom SET is_held = ${HELD}`);
    });
  }

  /** The place gave these back whole. */
  record(name: CustomEntry, sizeBytes: number, place: string): void {
    const { nowMs, transaction } = this.#tables;
    transaction('record custom bytes', () => {
      const { put, revoke } = this.#statements;
      put.run(...keyOf(name), sizeBytes, nowMs());
      this.#set(name, place, 1, nowMs());
      // Something is there for it after all.
      if (this.has(name.versionHash)) revoke.run(nowMs(), hashKey(name.versionHash));
    });
  }

  /** What the place holds under this name is not it, or nothing: it said so twice. With no other, the node is asked again. */
  recordDamaged(name: CustomEntry, place: string): void {
    this.#tables.transaction('record damaged custom bytes', () => {
      this.#set(name, place, 2, null);
      if (!this.has(name.versionHash)) this.#statements.fetchAgain.run(hashKey(name.versionHash));
    });
  }

  /** They are nobody's to hold any more. Within a transaction of the caller. */
  forget(versionHash: VersionHash): void {
    const { forgetCopies, forget } = this.#statements;
    forgetCopies.run(hashKey(versionHash));
    forget.run(hashKey(versionHash));
  }

  /** Is some such content held anywhere? */
  has(versionHash: VersionHash): boolean {
    return this.#look(() => this.#statements.has.get(hashKey(versionHash)) !== undefined);
  }

  /** Is it known, held or not? */
  isKnown(name: CustomEntry): boolean {
    return this.#look(() => this.#statements.isKnown.get(...keyOf(name)) !== undefined);
  }

  isGoodAt(place: string, name: CustomEntry): boolean {
    return this.#look(() => this.#statements.isGoodAt.get(...keyOf(name), place) !== undefined);
  }

  /** Version hashes of some contents on chain of which such bytes are all that there is. */
  someNames(limit: number): VersionHash[] {
    return this.#look(() =>
      z
        .array(z.instanceof(Buffer))
        .parse(this.#statements.someNames.all(limit))
        .map((hash) => parseVersionHash(hash.toString('hex'))),
    );
  }

  /** Counts contents on chain of which such bytes are all that there is; not further than to `most`. */
  countNames(most: number): number {
    return this.#look(() => count.parse(this.#statements.countNames.get(most)));
  }

  /** What a place is to hold and is not proven to; `held`: as far as some other place is. */
  unproven(place: string, which: 'all' | 'held', after: number, limit: number): KeptCustom[] {
    return this.#look(() => this.#statements.unproven.all(after, which === 'held' ? 1 : 0, place, limit).map(decode));
  }

  goodAfter(place: string, after: number, limit: number): KeptCustom[] {
    return this.#look(() => this.#statements.goodAfter.all(place, after, limit).map(decode));
  }

  /** What a place is proven to hold, in the order of names; null: from the beginning. */
  goodByName(place: string, after: CustomEntry | null, limit: number): KeptCustom[] {
    const [versionHash, keccak] = after === null ? [Buffer.alloc(0), Buffer.alloc(0)] : keyOf(after);
    return this.#look(() => this.#statements.goodByName.all(place, versionHash, keccak, limit).map(decode));
  }

  goodCount(place: string): number {
    return this.#look(() => count.parse(this.#statements.goodCount.get(place)));
  }

  damagedCount(place: string): number {
    return this.#look(() => count.parse(this.#statements.damagedCount.get(place)));
  }

  /** Known, and neither good nor known to be damaged there. */
  waitingCount(place: string): number {
    return this.#look(() => count.parse(this.#statements.waitingCount.get(place)));
  }

  damaged(place: string, limit: number): DamagedCustom[] {
    return this.#look(() =>
      this.#statements.damaged.all(place, limit).map((value) => {
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
    const { set, recount } = this.#statements;
    set.run(place, state, verifiedMs, ...keyOf(name));
    recount.run(...keyOf(name));
  }

  #look<T>(work: () => T): T {
    return this.#tables.reading('read what is kept of custom commitments', work);
  }
}

function prepare(database: Database.Database) {
  const named = 'version_hash = ? AND keccak = ?';
  return {
    put: database.prepare(
      'INSERT INTO custom (version_hash, keccak, size_bytes, kept_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    set: database.prepare(
      `INSERT INTO custom_copy (sequence, backend, state, verified_ms) SELECT sequence, ?, ?, ? FROM custom WHERE ${named}
       ON CONFLICT DO UPDATE SET state = excluded.state, verified_ms = excluded.verified_ms`,
    ),
    recount: database.prepare(`UPDATE custom SET is_held = ${HELD} WHERE ${named}`),
    revoke: database.prepare(
      "UPDATE lost SET revoked_ms = ?, revoked_because = 'bytes-turned-up' WHERE version_hash = ? AND revoked_ms IS NULL",
    ),
    fetchAgain: database.prepare(
      'UPDATE seen SET next_attempt_ms = 0 WHERE version_hash = ? AND hash_type IS NOT NULL',
    ),
    forgetCopies: database.prepare(
      'DELETE FROM custom_copy WHERE sequence IN (SELECT sequence FROM custom WHERE version_hash = ?)',
    ),
    forget: database.prepare('DELETE FROM custom WHERE version_hash = ?'),
    has: database.prepare('SELECT 1 FROM custom WHERE version_hash = ? AND is_held = 1 LIMIT 1'),
    isKnown: database.prepare(`SELECT 1 FROM custom WHERE ${named}`),
    isGoodAt: database.prepare(
      `SELECT 1 FROM custom WHERE ${named} AND EXISTS (${COPY} AND backend = ? AND state = 1)`,
    ),
    someNames: database.prepare(`SELECT custom.version_hash ${CUSTOM_NAMES} LIMIT ?`).pluck(),
    countNames: database.prepare(`SELECT COUNT(*) FROM (SELECT 1 ${CUSTOM_NAMES} LIMIT ?)`).pluck(),
    unproven: database.prepare(
      `SELECT ${KEPT} FROM custom WHERE sequence > ? AND is_held >= ? AND NOT EXISTS (${COPY} AND backend = ? AND state = 1) ORDER BY sequence LIMIT ?`,
    ),
    goodAfter: database.prepare(
      `SELECT ${KEPT} FROM ${GOOD} WHERE custom.sequence > ? ORDER BY custom.sequence LIMIT ?`,
    ),
    goodByName: database.prepare(
      `SELECT ${KEPT} FROM ${GOOD} WHERE (version_hash, keccak) > (?, ?) ORDER BY version_hash, keccak LIMIT ?`,
    ),
    goodCount: database.prepare('SELECT COUNT(*) FROM custom_copy WHERE backend = ? AND state = 1').pluck(),
    damagedCount: database.prepare('SELECT COUNT(*) FROM custom_copy WHERE backend = ? AND state = 2').pluck(),
    waitingCount: database.prepare(`SELECT COUNT(*) FROM custom WHERE NOT EXISTS (${COPY} AND backend = ?)`).pluck(),
    damaged: database.prepare(
      `SELECT version_hash, keccak, is_held AS elsewhere FROM custom_copy JOIN custom USING (sequence)
       WHERE backend = ? AND state = 2 ORDER BY sequence LIMIT ?`,
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
