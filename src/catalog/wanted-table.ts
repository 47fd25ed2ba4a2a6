import type Database from 'better-sqlite3';
import { z } from 'zod';
import {
  type BlockHash,
  type ContentName,
  type HashType,
  parseTxId,
  parseVersionHash,
  type TxId,
  type VersionHash,
} from '../blob/ids.ts';
import { MAX_BLOB_BYTES, RETENTION_SECONDS } from '../blob/limits.ts';
import { hashTypeCode, hashTypeFrom } from '../sqlite/hash-type-code.ts';

/** What a list said of a blob that is not here yet. */
export interface Sighting {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  readonly txid: TxId | null;
  /** Seconds on the chain's clock. */
  readonly medianTimeSeconds: number;
  /** The dialect tells no time: this one is of the tip, and moves no deadline. */
  readonly isTimeGuessed?: boolean;
}

/** A blob in the fetch queue. */
export interface WantedBlob extends Sighting {
  /** By an output in a block of our branch; null: in none, as far as we walked. */
  readonly hashType: HashType | null;
  /** No list has named it yet: `sizeBytes` is the most that it can be. */
  readonly sizeIsBound: boolean;
  readonly firstSeenMs: number;
  readonly attempts: number;
  readonly lastErrorCode: string | null;
  readonly lastError: string | null;
}

/** What a block says of a blob. */
export interface MinedBlob {
  readonly txid: TxId;
  /** Of its block. */
  readonly medianTimeSeconds: number;
  readonly isPast: boolean;
}

export interface FetchFailure {
  readonly versionHash: VersionHash;
  readonly code: string;
  readonly message: string;
  readonly nextAttemptMs: number;
}

/** Whether it was asked for in vain before. */
export type WantedKind = 'all' | 'fresh' | 'failed';

/** Of what is past its deadline on the chain, and listed nowhere: nobody fetches it until a list names it. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;

/** As SQL: each index serves only what says so in its words, and what rests for good is in neither. */
const KINDS = {
  all: `AND next_attempt_ms <> ${NEVER_MS}`,
  fresh: `AND next_attempt_ms <> ${NEVER_MS} AND attempts = 0`,
  failed: 'AND attempts > 0',
} as const satisfies Record<WantedKind, string>;

const row = z.object({
  version_hash: z.instanceof(Buffer),
  size_bytes: z.number(),
  txid: z.instanceof(Buffer).nullable(),
  median_time_seconds: z.number(),
  first_seen_ms: z.number(),
  attempts: z.number(),
  last_error_code: z.string().nullable(),
  last_error: z.string().nullable(),
  hash_type: z.number().nullable(),
  size_known: z.number(),
});

/** What is in the queue; `earliest` is the lowest median time. */
export type QueueSummary = z.output<typeof summaryRow>;

const earliest = (isUnmined: 0 | 1) =>
  `(SELECT MIN(median_time_seconds) FROM seen WHERE (hash_type IS NULL) = ${isUnmined})`;

/** Each part by an index of its own, for it is asked for several times a second. */
export const SUMMARY_SQL = `SELECT (SELECT COUNT(*) FROM seen) AS count, (SELECT COUNT(*) FROM seen WHERE attempts > 0) AS failing,
  MIN(COALESCE(${earliest(0)}, ${earliest(1)}), COALESCE(${earliest(1)}, ${earliest(0)})) AS earliest`;

const summaryRow = z.object({ count: z.number(), earliest: z.number().nullable(), failing: z.number() });

/** A blob that failed and is listed anew is tried again after this at the latest. */
const RELISTED_DELAY_MS = 60_000;

const COLUMNS =
  'version_hash, size_bytes, txid, median_time_seconds, first_seen_ms, attempts, last_error_code, last_error, hash_type, size_known';

export function hashKey(hash: VersionHash | TxId | BlockHash): Buffer {
  return Buffer.from(hash, 'hex');
}

/** Farther ahead than any failure rests (ten minutes and a quarter): written before the clock stepped back. */
const IS_TOO_FAR = `next_attempt_ms > @nowMs + 780000 AND next_attempt_ms < ${NEVER_MS}`;

/** The fetch queue: listed or on chain, bytes not here yet. The caller owns the transactions. */
export class WantedTable {
  readonly #insert: Database.Statement;
  readonly #move: Database.Statement;
  readonly #addMined: Database.Statement;
  readonly #moveMined: Database.Statement;
  readonly #next: Readonly<Record<WantedKind, Database.Statement>>;
  readonly #past: Database.Statement;
  readonly #find: Database.Statement;
  readonly #fail: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #summary: Database.Statement;

  /** Rows of a process whose clock was ahead are taken for older than now, and rest for no longer than a failure may. */
  constructor(database: Database.Database, nowMs: number) {
    database
      .prepare(
        `UPDATE seen SET first_seen_ms = MIN(first_seen_ms, @nowMs - 1), next_attempt_ms = CASE WHEN ${IS_TOO_FAR} THEN 0 ELSE next_attempt_ms END
         WHERE first_seen_ms >= @nowMs OR (${IS_TOO_FAR})`,
      )
      .run({ nowMs });
    // What was on chain before it was queued again (a damaged copy) keeps what the chain said of it.
    this.#insert = database.prepare(
      `INSERT INTO seen (version_hash, size_bytes, txid, median_time_seconds, first_seen_ms, hash_type)
       VALUES (?, ?, ?, ?, ?, (SELECT hash_type FROM occurrence WHERE version_hash = ? LIMIT 1)) ON CONFLICT DO NOTHING`,
    );
    // A resubmission gives the entry a newer time, and with it a later deadline; what a node lists anew it can give.
    this.#move = database.prepare(
      `UPDATE seen SET median_time_seconds = COALESCE(?, median_time_seconds), txid = ?, size_bytes = ?, size_known = 1,
       next_attempt_ms = CASE WHEN attempts = 0 THEN 0 ELSE MIN(next_attempt_ms, ?) END WHERE version_hash = ?`,
    );
    this.#addMined = database.prepare(
      `INSERT INTO seen (version_hash, size_bytes, txid, median_time_seconds, first_seen_ms, hash_type, next_attempt_ms, size_known)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
    );
    this.#moveMined = database.prepare(
      'UPDATE seen SET hash_type = ?, median_time_seconds = CASE WHEN hash_type IS NULL THEN ? ELSE MAX(median_time_seconds, ?) END WHERE version_hash = ?',
    );
    const next = (kind: WantedKind) =>
      database.prepare(
        `SELECT ${COLUMNS} FROM seen WHERE (next_attempt_ms <= @nowMs OR (${IS_TOO_FAR})) ${KINDS[kind]} ORDER BY (hash_type IS NULL), median_time_seconds LIMIT @limit`,
      );
    this.#next = { all: next('all'), fresh: next('fresh'), failed: next('failed') };
    this.#past = database.prepare(
      `SELECT ${COLUMNS} FROM seen WHERE (hash_type IS NULL) = 0 AND median_time_seconds < ? ORDER BY median_time_seconds LIMIT ?`,
    );
    this.#find = database.prepare(`SELECT ${COLUMNS} FROM seen WHERE version_hash = ?`);
    this.#fail = database.prepare(
      'UPDATE seen SET attempts = attempts + 1, next_attempt_ms = ?, last_error_code = ?, last_error = ? WHERE version_hash = ?',
    );
    this.#remove = database.prepare('DELETE FROM seen WHERE version_hash = ?');
    this.#summary = database.prepare(SUMMARY_SQL);
  }

  /** true when it was not in the queue before. */
  add(sighting: Sighting, nowMs: number): boolean {
    const key = hashKey(sighting.versionHash);
    const txid = sighting.txid === null ? null : hashKey(sighting.txid);
    const { sizeBytes, medianTimeSeconds } = sighting;
    if (this.#insert.run(key, sizeBytes, txid, medianTimeSeconds, nowMs, key).changes === 1) return true;
    this.#move.run(
      sighting.isTimeGuessed === true ? null : medianTimeSeconds,
      txid,
      sizeBytes,
      nowMs + RELISTED_DELAY_MS,
      key,
    );
    return false;
  }

  /**
   * A block of our branch holds it. `isPast`: its deadline had passed before anybody looked. true when it was not in the
   * queue before.
   */
  addMined({ hashType, versionHash }: ContentName, mined: MinedBlob, nowMs: number): boolean {
    const key = hashKey(versionHash);
    const code = hashTypeCode(hashType);
    const time = mined.medianTimeSeconds;
    const next = mined.isPast ? NEVER_MS : 0;
    if (this.#addMined.run(key, MAX_BLOB_BYTES, hashKey(mined.txid), time, nowMs, code, next).changes === 1)
      return true;
    this.#moveMined.run(code, time, time, key);
    return false;
  }

  /** What may be tried now: what is on chain by its deadline, then what waits for a block. */
  next(nowMs: number, limit: number, which: WantedKind): WantedBlob[] {
    return this.#next[which].all({ nowMs, limit }).map(decode);
  }

  /** On chain, and the chain's clock has passed its deadline. */
  pastDeadline(tipMedianSeconds: number, limit: number): WantedBlob[] {
    return this.#past.all(tipMedianSeconds - RETENTION_SECONDS, limit).map(decode);
  }

  find(versionHash: VersionHash): WantedBlob | null {
    const found = this.#find.get(hashKey(versionHash));
    return found === undefined ? null : decode(found);
  }

  fail(failure: FetchFailure): void {
    this.#fail.run(failure.nextAttemptMs, failure.code, failure.message, hashKey(failure.versionHash));
  }

  remove(versionHash: VersionHash): void {
    this.#remove.run(hashKey(versionHash));
  }

  summary(): QueueSummary {
    return summaryRow.parse(this.#summary.get());
  }
}

function decode(value: unknown): WantedBlob {
  const found = row.parse(value);
  return {
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    sizeBytes: found.size_bytes,
    txid: found.txid === null ? null : parseTxId(found.txid.toString('hex')),
    medianTimeSeconds: found.median_time_seconds,
    firstSeenMs: found.first_seen_ms,
    attempts: found.attempts,
    lastErrorCode: found.last_error_code,
    lastError: found.last_error,
    hashType: found.hash_type === null ? null : hashTypeFrom(found.hash_type),
    sizeIsBound: found.size_known === 0,
  };
}
