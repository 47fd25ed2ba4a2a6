import type Database from 'better-sqlite3';
import { z } from 'zod';
import { parseTxId, parseVersionHash, type TxId, type VersionHash } from '../blob/ids.ts';

/** What a list said of a blob that is not here yet. */
export interface Sighting {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  readonly txid: TxId | null;
  /** Seconds on the chain's clock. */
  readonly medianTimeSeconds: number;
}

/** A blob in the fetch queue. */
export interface WantedBlob extends Sighting {
  readonly firstSeenMs: number;
  readonly attempts: number;
  readonly lastErrorCode: string | null;
  readonly lastError: string | null;
}

export interface FetchFailure {
  readonly versionHash: VersionHash;
  readonly code: string;
  readonly message: string;
  readonly nextAttemptMs: number;
}

const row = z.object({
  version_hash: z.instanceof(Buffer),
  size_bytes: z.number(),
  txid: z.instanceof(Buffer).nullable(),
  median_time_seconds: z.number(),
  first_seen_ms: z.number(),
  attempts: z.number(),
  last_error_code: z.string().nullable(),
  last_error: z.string().nullable(),
});

/** A blob that failed and is listed anew is tried again after this at the latest. */
const RELISTED_DELAY_MS = 60_000;

const COLUMNS =
  'version_hash, size_bytes, txid, median_time_seconds, first_seen_ms, attempts, last_error_code, last_error';

export function hashKey(hash: VersionHash | TxId): Buffer {
  return Buffer.from(hash, 'hex');
}

/** The fetch queue: listed, bytes not here yet. The caller owns the transactions. */
export class WantedTable {
  readonly #insert: Database.Statement;
  readonly #move: Database.Statement;
  readonly #next: Database.Statement;
  readonly #find: Database.Statement;
  readonly #fail: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #summary: Database.Statement;

  constructor(database: Database.Database) {
    this.#insert = database.prepare(
      'INSERT INTO seen (version_hash, size_bytes, txid, median_time_seconds, first_seen_ms) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    // A resubmission gives the entry a newer time, and with it a later deadline; what a node lists anew it can give.
    this.#move = database.prepare(
      'UPDATE seen SET median_time_seconds = ?, txid = ?, size_bytes = ?, next_attempt_ms = MIN(next_attempt_ms, ?) WHERE version_hash = ?',
    );
    this.#next = database.prepare(
      `SELECT ${COLUMNS} FROM seen WHERE next_attempt_ms <= ? ORDER BY median_time_seconds LIMIT ?`,
    );
    this.#find = database.prepare(`SELECT ${COLUMNS} FROM seen WHERE version_hash = ?`);
    this.#fail = database.prepare(
      'UPDATE seen SET attempts = attempts + 1, next_attempt_ms = ?, last_error_code = ?, last_error = ? WHERE version_hash = ?',
    );
    this.#remove = database.prepare('DELETE FROM seen WHERE version_hash = ?');
    this.#summary = database.prepare(
      'SELECT COUNT(*) AS count, MIN(median_time_seconds) AS earliest, COALESCE(SUM(attempts > 0), 0) AS failing, MIN(next_attempt_ms) AS next_attempt_ms FROM seen',
    );
  }

  /** true when it was not in the queue before. */
  add(sighting: Sighting, nowMs: number): boolean {
    const key = hashKey(sighting.versionHash);
    const txid = sighting.txid === null ? null : hashKey(sighting.txid);
    const { sizeBytes, medianTimeSeconds } = sighting;
    if (this.#insert.run(key, sizeBytes, txid, medianTimeSeconds, nowMs).changes === 1) return true;
    this.#move.run(medianTimeSeconds, txid, sizeBytes, nowMs + RELISTED_DELAY_MS, key);
    return false;
  }

  /** What may be tried now, nearest deadline first. */
  next(nowMs: number, limit: number): WantedBlob[] {
    return this.#next.all(nowMs, limit).map(decode);
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

  summary(): { count: number; earliest: number | null; failing: number; nextAttemptMs: number | null } {
    const found = z
      .object({
        count: z.number(),
        earliest: z.number().nullable(),
        failing: z.number(),
        next_attempt_ms: z.number().nullable(),
      })
      .parse(this.#summary.get());
    return {
      count: found.count,
      earliest: found.earliest,
      failing: found.failing,
      nextAttemptMs: found.next_attempt_ms,
    };
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
  };
}
