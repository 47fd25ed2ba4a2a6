import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type ContentName, parseVersionHash } from '../blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../sqlite/hash-type-code.ts';
import { hashKey, type WantedBlob, type WantedTable } from './wanted-table.ts';

/** Somebody who was asked for the bytes and answered that it has not got them. */
export interface AbsenceAnswer {
  /** `node http://…`, `backend s3`, … */
  readonly source: string;
  readonly answered: 'absent' | 'wrong-bytes';
  /** ISO 8601. */
  readonly at: string;
}

/** Content that nobody had when its deadline was over. */
export interface Loss extends ContentName {
  /** Said of its occurrences up to this height; a later one has a deadline of its own. */
  readonly upToHeight: number;
  readonly deadlineSeconds: number;
  readonly answers: readonly AbsenceAnswer[];
}

export interface RecordedLoss extends Loss {
  readonly recordedMs: number;
}

/** How many blobs that are on chain have less of their window left than each of these bounds. */
export interface Lateness {
  readonly unspooled: number;
  readonly unstored: number;
}

interface LossParts {
  readonly wanted: WantedTable;
  readonly nowMs: () => number;
  readonly reading: <T>(operation: string, work: () => T) => T;
  readonly transaction: <T>(operation: string, work: () => T) => T;
}

const answer = z.object({ source: z.string(), answered: z.enum(['absent', 'wrong-bytes']), at: z.string() });
const row = z.object({
  version_hash: z.instanceof(Buffer),
  hash_type: z.number(),
  up_to_height: z.number(),
  deadline_seconds: z.number(),
  recorded_ms: z.number(),
  answers: z.string(),
});
const COLUMNS = 'version_hash, hash_type, up_to_height, deadline_seconds, recorded_ms, answers';

/** What is late, and what is lost. Never a cache of an answer: a loss is evidence, and the bytes revoke it. */
export class LossLedger {
  readonly #parts: LossParts;
  readonly #put: Database.Statement;
  readonly #find: Database.Statement;
  readonly #count: Database.Statement;
  readonly #all: Database.Statement;
  readonly #revoked: Database.Statement;
  readonly #forget: Database.Statement;
  readonly #unspooled: Database.Statement;
  readonly #unstored: Database.Statement;

  constructor(database: Database.Database, parts: LossParts) {
    this.#parts = parts;
    this.#put = database.prepare(
      `INSERT INTO lost (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET up_to_height = excluded.up_to_height,
       deadline_seconds = excluded.deadline_seconds, recorded_ms = excluded.recorded_ms, answers = excluded.answers, revoked_ms = NULL`,
    );
    this.#find = database.prepare(
      `SELECT ${COLUMNS} FROM lost WHERE version_hash = ? AND hash_type = ? AND revoked_ms IS NULL`,
    );
    this.#count = database.prepare('SELECT COUNT(*) FROM lost WHERE revoked_ms IS NULL').pluck();
    this.#all = database.prepare(
      `SELECT ${COLUMNS} FROM lost WHERE revoked_ms IS NULL AND version_hash > ? ORDER BY version_hash LIMIT ?`,
    );
    this.#revoked = database.prepare(`SELECT ${COLUMNS} FROM lost WHERE revoked_ms IS NOT NULL`);
    this.#forget = database.prepare('DELETE FROM lost WHERE version_hash = ? AND hash_type = ?');
    this.#unspooled = database
      .prepare('SELECT COUNT(*) FROM seen WHERE (hash_type IS NULL) = 0 AND median_time_seconds BETWEEN ? AND ?')
      .pluck();
    this.#unstored = database
      .prepare('SELECT COUNT(*) FROM content WHERE state = 1 AND median_time_seconds < ?')
      .pluck();
  }

  /** On chain, not here, and its deadline is over: oldest first. */
  overdue(tipMedianSeconds: number, limit: number): WantedBlob[] {
    return this.#parts.reading('read what is overdue', () => this.#parts.wanted.pastDeadline(tipMedianSeconds, limit));
  }

  /** Every source has answered that it has not got these. They leave the queue until a list names them again. */
  record(losses: readonly Loss[]): void {
    const nowMs = this.#parts.nowMs();
    this.#parts.transaction('record what is lost', () => {
      for (const { versionHash, hashType, upToHeight, deadlineSeconds, answers } of losses) {
        const code = hashTypeCode(hashType);
        this.#put.run(hashKey(versionHash), code, upToHeight, deadlineSeconds, nowMs, JSON.stringify(answers));
        this.#parts.wanted.remove(versionHash);
      }
    });
  }

  find({ hashType, versionHash }: ContentName): RecordedLoss | null {
    return this.#parts.reading('look a loss up', () => {
      const found = this.#find.get(hashKey(versionHash), hashTypeCode(hashType));
      return found === undefined ? null : decode(found);
    });
  }

  count(): number {
    return this.#parts.reading('count losses', () => z.number().parse(this.#count.get()));
  }

  /** In the order of version hashes. */
  page(after: ContentName | null, limit: number): RecordedLoss[] {
    const key = after === null ? Buffer.alloc(0) : hashKey(after.versionHash);
    return this.#parts.reading('read losses', () => this.#all.all(key, limit).map(decode));
  }

  /** Losses whose bytes turned up since this was asked last. */
  takeRevoked(): RecordedLoss[] {
    return this.#parts.transaction('revoke losses', () => {
      const revoked = this.#revoked.all().map(decode);
      for (const { versionHash, hashType } of revoked) this.#forget.run(hashKey(versionHash), hashTypeCode(hashType));
      return revoked;
    });
  }

  /** Of what can still be saved: on chain, with a median time from `sinceSeconds` up to `untilSeconds`. */
  lateness(sinceSeconds: number, untilSeconds: number): Lateness {
    return this.#parts.reading('count what is late', () => ({
      unspooled: z.number().parse(this.#unspooled.get(sinceSeconds, untilSeconds)),
      unstored: z.number().parse(this.#unstored.get(untilSeconds)),
    }));
  }
}

function decode(value: unknown): RecordedLoss {
  const found = row.parse(value);
  return {
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    hashType: hashTypeFrom(found.hash_type),
    upToHeight: found.up_to_height,
    deadlineSeconds: found.deadline_seconds,
    recordedMs: found.recorded_ms,
    answers: z.array(answer).parse(JSON.parse(found.answers)),
  };
}
