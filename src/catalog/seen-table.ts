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
} from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES, RETENTION_SECONDS } from '../core/blob/limits.ts';
import { Notifier } from '../core/notifier.ts';
import { hashTypeCode, hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import { BACKOFF, longestBackoffMs } from '../core/time/backoff.ts';
import { sleepUntil } from '../core/time/run-loop.ts';
import { IS_NOT_CUSTOM, LISTED_DUE, MINED_DUE, ofMined, RESTING, WAS_KNOWN_IN_TIME } from './queue-parts.ts';

/** A list's entry for a blob that is not here yet. */
export interface Sighting {
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  readonly txid: TxId | null;
  /** Seconds on the chain's clock. */
  readonly medianTimeSeconds: number;
  /** The dialect tells no time: this one is of the tip, and moves no deadline. */
  readonly isTimeGuessed?: boolean;
  /** Most of its window is ahead, so that it may be asked for after its block was walked. Default: false. */
  readonly mayWait?: boolean;
}

/** A blob in the fetch queue. */
export interface QueuedBlob extends Sighting {
  /** Hash type from an output in a block of the branch; null: in no walked block. */
  readonly hashType: HashType | null;
  /** No list has named it yet: `sizeBytes` is the most that it can be. */
  readonly sizeIsBound: boolean;
  readonly firstSeenMs: number;
  readonly attempts: number;
  readonly lastErrorCode: string | null;
  readonly lastError: string | null;
}

/** A block's entry for a blob. */
export interface MinedBlob {
  readonly txid: TxId;
  /** Mediantime of its block. */
  readonly medianTimeSeconds: number;
  readonly isPast: boolean;
  /** When it may be asked for, unless a list names it before. Default: at once. */
  readonly askAfterMs?: number;
}

export interface FetchFailure {
  readonly versionHash: VersionHash;
  readonly code: string;
  readonly message: string;
  /** null: the blob rests until a list names it again. */
  readonly nextAttemptMs: number | null;
}

/** All that is past its deadline, or what was known before its deadline. */
export type OverdueKind = 'all' | 'known-in-time';

/** Whether it was asked for in vain before. */
export type QueueKind = 'all' | 'fresh' | 'failed';

/** Conditions in SQL. Failed rows have an index of their own. */
const KINDS = { all: 'true', fresh: 'attempts = 0' } as const satisfies Record<Exclude<QueueKind, 'failed'>, string>;

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

/** Summary of the queue; `earliest` is the lowest mediantime. */
export interface QueueSummary extends z.output<typeof summaryRow> {
  readonly count: number;
}

const earliest = (part: string) => `SELECT MIN(median_time_seconds) AS median FROM ${part}`;

/** Each part by an index of its own, for it is asked for several times a second. */
export const SUMMARY_SQL = `SELECT (SELECT COUNT(*) FROM seen WHERE attempts > 0) AS failing,
  (SELECT MIN(median) FROM (${[MINED_DUE, LISTED_DUE, RESTING].map(earliest).join(' UNION ALL ')})) AS earliest`;

const number = z.number();
const numberOrNull = number.nullable();
const summaryRow = z.object({ earliest: z.number().nullable(), failing: z.number() });

/** A failed blob that is listed again is tried again within this time. */
const RELISTED_DELAY_MS = 60_000;

const COLUMNS =
  'version_hash, size_bytes, txid, median_time_seconds, first_seen_ms, attempts, last_error_code, last_error, hash_type, size_known';

export function hashKey(hash: VersionHash | TxId | BlockHash): Buffer {
  return Buffer.from(hash, 'hex');
}

/** Farther ahead than any failure rests: written before the clock stepped back. */
const IS_TOO_FAR = `next_attempt_ms > @nowMs + ${longestBackoffMs(BACKOFF.blob)}`;

/** The fetch queue: listed or on chain, bytes not here yet. The caller owns the transactions. */
export class SeenTable {
  readonly #insert: Database.Statement;
  readonly #move: Database.Statement;
  readonly #addMined: Database.Statement;
  readonly #hasten: Database.Statement;
  readonly #leftBranch: Database.Statement;
  readonly #lastMined: Database.Statement;
  readonly #forgetUnlisted: Database.Statement;
  /** Statements by parts of the queue, the more urgent part first. */
  readonly #next: Readonly<Record<QueueKind, readonly Database.Statement[]>>;
  readonly #past: Database.Statement;
  readonly #forgetDropped: Database.Statement;
  readonly #find: Database.Statement;
  readonly #fail: Database.Statement;
  readonly #remove: Database.Statement;
  readonly #summary: Database.Statement;
  readonly #count: Database.Statement;
  /** Number of rows; null: to be counted. Kept beside the table, for it is read several times a second. */
  #rows: number | null = null;
  readonly #nextAttempt: Database.Statement;
  /** Notifies within the transaction that makes something due. A loop that waits runs after it has ended. */
  readonly changes = new Notifier();

  /** Rows of a process whose clock was ahead are taken for older than now, and rest for no longer than a failure may. */
  constructor(database: Database.Database, nowMs: number) {
    database
      .prepare(
        `UPDATE seen SET first_seen_ms = MIN(first_seen_ms, @nowMs - 1), next_attempt_ms = CASE WHEN ${IS_TOO_FAR} THEN 0 ELSE next_attempt_ms END
         WHERE first_seen_ms >= @nowMs OR (${IS_TOO_FAR})`,
      )
      .run({ nowMs });
    // The trigger `queued_on_chain` adds what the chain says of it.
    this.#insert = database.prepare(
      `INSERT INTO seen (version_hash, size_bytes, txid, median_time_seconds, first_seen_ms, next_attempt_ms) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    );
    // A resubmission gives the entry a newer time, and with it a later deadline: a node can give content that it lists
    // again.
    this.#move = database.prepare(
      `UPDATE seen SET median_time_seconds = COALESCE(@median, median_time_seconds), txid = @txid, size_bytes = @sizeBytes, size_known = 1,
       next_attempt_ms = CASE WHEN attempts = 0 THEN MIN(COALESCE(next_attempt_ms, @askAfterMs), @askAfterMs) ELSE MIN(COALESCE(next_attempt_ms, @again), @again) END WHERE version_hash = @key`,
    );
    this.#addMined = database.prepare(
      `INSERT INTO seen (version_hash, size_bytes, txid, median_time_seconds, first_seen_ms, hash_type, next_attempt_ms, size_known)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`,
    );
    // A blob that waited for this block is asked for now, unless its size is to decide and no list has told it. A blob that
    // rested is due again with the window of this block.
    this.#hasten = database.prepare(
      `UPDATE seen SET next_attempt_ms = @next * (1 - size_known)
       WHERE version_hash = @key AND (next_attempt_ms IS NULL OR (attempts = 0 AND next_attempt_ms > @next * (1 - size_known)))`,
    );
    const mayBeTried = `(next_attempt_ms <= @nowMs OR (${IS_TOO_FAR}))`;
    const next = (kind: keyof typeof KINDS) =>
      [MINED_DUE, LISTED_DUE].map((part) =>
        database.prepare(
          `SELECT ${COLUMNS} FROM ${part} AND ${mayBeTried} AND ${KINDS[kind]} ORDER BY median_time_seconds LIMIT @limit`,
        ),
      );
    // Blobs past their deadline come last: there may be very many that a node lacks, and no hurry is left for them.
    const failed = ['>=', '<'].flatMap((age) =>
      [0, 1].map((isUnmined) =>
        database.prepare(
          `SELECT ${COLUMNS} FROM seen INDEXED BY seen_failing WHERE attempts > 0 AND (hash_type IS NULL) = ${isUnmined}
           AND median_time_seconds ${age} @until AND ${mayBeTried} ORDER BY median_time_seconds LIMIT @limit`,
        ),
      ),
    );
    this.#nextAttempt = database
      .prepare(
        'SELECT MIN(next_attempt_ms) FROM seen INDEXED BY seen_again WHERE next_attempt_ms > 0 AND next_attempt_ms > ?',
      )
      .pluck();
    this.#next = { all: next('all'), fresh: next('fresh'), failed };
    this.#past = database.prepare(
      `${ofMined(COLUMNS, `median_time_seconds < @until AND (median_time_seconds, version_hash) > (@seconds, @hash) AND ${WAS_KNOWN_IN_TIME} AND ${IS_NOT_CUSTOM}`)}
       ORDER BY median_time_seconds, version_hash LIMIT @limit`,
    );
    this.#leftBranch = database.prepare(
      'UPDATE seen SET hash_type = NULL WHERE version_hash = @key AND NOT EXISTS (SELECT 1 FROM occurrence WHERE version_hash = @key)',
    );
    // Content that earlier blocks have as well gets their deadline back.
    this.#lastMined = database.prepare(
      `UPDATE seen SET median_time_seconds = (SELECT median_time_seconds FROM block WHERE height = (SELECT MAX(height) FROM occurrence
         WHERE occurrence.version_hash = @key AND occurrence.hash_type = seen.hash_type))
       WHERE version_hash = @key AND EXISTS (SELECT 1 FROM occurrence WHERE occurrence.version_hash = @key AND occurrence.hash_type = seen.hash_type)`,
    );
    this.#forgetUnlisted = database.prepare(
      'DELETE FROM seen WHERE version_hash = ? AND hash_type IS NULL AND size_known = 0',
    );
    this.#forgetDropped = database.prepare(
      `DELETE FROM seen WHERE version_hash IN
         (SELECT version_hash FROM ${RESTING} AND hash_type IS NULL AND median_time_seconds < ? LIMIT ?)`,
    );
    this.#find = database.prepare(`SELECT ${COLUMNS} FROM seen WHERE version_hash = ?`);
    this.#fail = database.prepare(
      'UPDATE seen SET attempts = attempts + 1, next_attempt_ms = ?, last_error_code = ?, last_error = ? WHERE version_hash = ?',
    );
    this.#remove = database.prepare('DELETE FROM seen WHERE version_hash = ?');
    this.#summary = database.prepare(SUMMARY_SQL);
    this.#count = database.prepare('SELECT COUNT(*) FROM seen').pluck();
  }

  /** `askAfterMs`: when it may be asked for. true when it was not in the queue before. */
  add(sighting: Sighting, nowMs: number, askAfterMs = 0): boolean {
    const key = hashKey(sighting.versionHash);
    const txid = sighting.txid === null ? null : hashKey(sighting.txid);
    const { sizeBytes, medianTimeSeconds } = sighting;
    if (this.#added(this.#insert.run(key, sizeBytes, txid, medianTimeSeconds, nowMs, askAfterMs))) return true;
    const median = sighting.isTimeGuessed === true ? null : medianTimeSeconds;
    if (this.#move.run({ median, txid, sizeBytes, again: nowMs + RELISTED_DELAY_MS, askAfterMs, key }).changes > 0)
      this.changes.notify();
    return false;
  }

  /**
   * A block of our branch holds it. `isPast`: its deadline had passed before anybody looked. true when it was not in the
   * queue before; what was there has the time of the block by the trigger `mined_while_queued`.
   */
  addMined({ hashType, versionHash }: ContentName, mined: MinedBlob, nowMs: number): boolean {
    const key = hashKey(versionHash);
    const code = hashTypeCode(hashType);
    const time = mined.medianTimeSeconds;
    const next = mined.isPast ? null : (mined.askAfterMs ?? 0);
    const isNew = this.#added(this.#addMined.run(key, MAX_BLOB_BYTES, hashKey(mined.txid), time, nowMs, code, next));
    if (!isNew && next !== null && this.#hasten.run({ key, next }).changes > 0) this.changes.notify();
    return isNew;
  }

  /** Contents to try now: on chain by deadline, then unmined ones. Failed ones past their deadline come after both. */
  next(nowMs: number, limit: number, which: QueueKind, tipMedianSeconds: number): QueuedBlob[] {
    const found: QueuedBlob[] = [];
    const until = tipMedianSeconds - RETENTION_SECONDS;
    for (const part of this.#next[which]) {
      if (found.length < limit) found.push(...part.all({ nowMs, until, limit: limit - found.length }).map(decode));
    }
    return found;
  }

  /** On chain, not kept as a custom commitment, and the chain's clock has passed its deadline: after this row, or from the first. */
  pastDeadline(tipMedianSeconds: number, limit: number, after: QueuedBlob | null, which: OverdueKind): QueuedBlob[] {
    const from = {
      seconds: after?.medianTimeSeconds ?? -1,
      hash: after === null ? Buffer.alloc(0) : hashKey(after.versionHash),
    };
    const isAny = which === 'all' ? 1 : 0;
    return this.#past.all({ until: tipMedianSeconds - RETENTION_SECONDS, limit, isAny, ...from }).map(decode);
  }

  /**
   * The time that the fetching loop may sleep, unless `changes` notifies: until something that failed or waits is due. `lookedMs`: the
   * moment before the loop looked, so that it does not sleep over what became due since.
   */
  idleMs(nowMs: number, lookedMs: number): number {
    return sleepUntil(numberOrNull.parse(this.#nextAttempt.get(lookedMs)), nowMs);
  }

  find(versionHash: VersionHash): QueuedBlob | null {
    const found = this.#find.get(hashKey(versionHash));
    return found === undefined ? null : decode(found);
  }

  fail(failure: FetchFailure): void {
    this.#fail.run(failure.nextAttemptMs, failure.code, failure.message, hashKey(failure.versionHash));
  }

  remove(versionHash: VersionHash): void {
    this.#removed(this.#remove.run(hashKey(versionHash)));
  }

  /** Blocks that had it were taken back: unless another one has it, it is only listed, or not even that. */
  leaveBlock(versionHash: VersionHash): void {
    const key = hashKey(versionHash);
    this.#leftBranch.run({ key });
    this.#lastMined.run({ key });
    this.#removed(this.#forgetUnlisted.run(key));
  }

  /** Dropped before it came: in no block, named by no list since, and of before this time. Gives how many rows went. */
  forgetDropped(medianTimeSeconds: number, limit: number): number {
    const run = this.#forgetDropped.run(medianTimeSeconds, limit);
    this.#removed(run);
    return run.changes;
  }

  summary(): QueueSummary {
    return { ...summaryRow.parse(this.#summary.get()), count: this.#counted() };
  }

  /** Gives what puts the count back to what it is now: for a transaction that is rolled back. */
  remember(): () => void {
    const before = this.#rows;
    return () => {
      this.#rows = before;
    };
  }

  #counted(): number {
    this.#rows ??= number.parse(this.#count.get());
    return this.#rows;
  }

  #added({ changes }: Database.RunResult): boolean {
    if (this.#rows !== null) this.#rows += changes;
    if (changes > 0) this.changes.notify();
    return changes === 1;
  }

  #removed({ changes }: Database.RunResult): void {
    if (this.#rows !== null) this.#rows -= changes;
  }
}

function decode(value: unknown): QueuedBlob {
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
