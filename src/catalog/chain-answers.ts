import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type ContentName, parseTxId, parseVersionHash, type TxId } from '../core/blob/ids.ts';
import { hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import { FirstUnsaved, MAX_LOOK_UPS } from './first-unsaved.ts';
import { decodeOccurrence, type OccurrenceRow, occurrenceRow } from './occurrence-table.ts';
import { UNMADE_RECORD } from './record-outbox.ts';

/** A content that is held, and was listed or mined lately. */
export interface HeldLately extends ContentName {
  readonly sizeBytes: number;
  readonly medianTimeSeconds: number;
  readonly txid: TxId | null;
}

const heldRow = z.object({
  version_hash: z.instanceof(Buffer),
  hash_type: z.number(),
  size_bytes: z.number(),
  median_time_seconds: z.number(),
  txid: z.instanceof(Buffer).nullable(),
});

type Reading = <T>(operation: string, work: () => T) => T;

/** Questions of clients to what was walked. Reads only. */
export class ChainAnswers {
  readonly #ofBlock: Database.Statement;
  readonly #unsaved: FirstUnsaved;
  readonly #minedLately: Database.Statement;
  readonly #arrivedLately: Database.Statement;
  readonly #lowestSince: Database.Statement;
  readonly #finality: Database.Statement;
  readonly #unwritten: Database.Statement;

  readonly #database: Database.Database;
  readonly #reading: Reading;

  constructor(database: Database.Database, reading: Reading) {
    this.#database = database;
    this.#reading = reading;
    this.#ofBlock = database.prepare(
      'SELECT height, transaction_index, version_hash, hash_type, txid, vout FROM occurrence WHERE height = ? ORDER BY transaction_index',
    );
    this.#unsaved = new FirstUnsaved(database);
    this.#minedLately = database.prepare(
      `SELECT content.version_hash, content.hash_type, size_bytes, occurrence.txid, block.median_time_seconds
       FROM occurrence JOIN block ON block.height = occurrence.height
       JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type
       WHERE occurrence.height >= ? AND content.state > 0 ORDER BY occurrence.height, transaction_index`,
    );
    this.#arrivedLately = database.prepare(
      `SELECT version_hash, hash_type, size_bytes, txid, COALESCE(median_time_seconds, 0) AS median_time_seconds FROM
         (SELECT * FROM content ORDER BY sequence DESC LIMIT ?) AS latest
       WHERE state > 0 AND median_time_seconds >= ? AND NOT EXISTS
         (SELECT 1 FROM occurrence WHERE occurrence.version_hash = latest.version_hash AND occurrence.hash_type = latest.hash_type)`,
    );
    // Median times never fall along a branch, so the walk down from the tip can stop at the first that is too old.
    this.#lowestSince = database
      .prepare('SELECT height FROM block WHERE height <= ? AND median_time_seconds < ? ORDER BY height DESC LIMIT 1')
      .pluck();
    this.#finality = database.prepare("SELECT value ->> 'finality' FROM fact WHERE name = 'walk'").pluck();
    this.#unwritten = database
      .prepare(
        `SELECT record FROM unwritten_record WHERE height = ? AND transaction_index = ? AND record <> '${UNMADE_RECORD}'`,
      )
      .pluck();
  }

  /** false: the catalog was closed, and there is nothing to be asked any more. */
  get isOpen(): boolean {
    return this.#database.open;
  }

  /** In the order of the block. */
  ofBlock(height: number): OccurrenceRow[] {
    return this.#reading('read a block', () =>
      this.#ofBlock.all(height).map((value) => decodeOccurrence(occurrenceRow.parse(value))),
    );
  }

  /**
   * From this height on: that of the first occurrence whose content is neither stored nor recorded as lost; null: there is
   * none. `too-many`: that takes longer than others may wait; `AuditSnapshot.unsaved` finds it in steps.
   */
  firstUnsavedHeight(since: number, maxLookUps = MAX_LOOK_UPS): number | null | 'too-many' {
    return this.#reading('look for what is not stored', () => this.#unsaved.since(since, maxLookUps));
  }

  /** Held, and mined in a block from this height on; a content once for each of its occurrences, in their order. */
  minedSince(height: number): HeldLately[] {
    return this.#reading('read the window', () => this.#minedLately.all(height).map(decodeHeld));
  }

  /** Held, in no block, listed with a median time from `sinceSeconds` on; looks at the latest arrivals only. */
  unminedSince(sinceSeconds: number, latest: number): HeldLately[] {
    return this.#reading('read the window', () => this.#arrivedLately.all(latest, sinceSeconds).map(decodeHeld));
  }

  /** The height above the highest block up to `tip` whose median time is less; null: all are younger. */
  lowestHeightSince(tip: number, sinceSeconds: number): number | null {
    return this.#reading('find the window', () => {
      const below = z.number().optional().parse(this.#lowestSince.get(tip, sinceSeconds));
      return below === undefined ? null : below + 1;
    });
  }

  /** The rule that the final height was found by. */
  finalityRule(): string | null {
    return this.#reading('read the rule of finality', () => z.string().nullish().parse(this.#finality.get()) ?? null);
  }

  /** The record of an occurrence that is not on every backend yet: JSON, lacking the size. */
  unwrittenRecord(height: number, transactionIndex: number): string | null {
    return this.#reading(
      'read an occurrence record',
      () => z.string().optional().parse(this.#unwritten.get(height, transactionIndex)) ?? null,
    );
  }
}

function decodeHeld(value: unknown): HeldLately {
  const found = heldRow.parse(value);
  return {
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    hashType: hashTypeFrom(found.hash_type),
    sizeBytes: found.size_bytes,
    medianTimeSeconds: found.median_time_seconds,
    txid: found.txid === null ? null : parseTxId(found.txid.toString('hex')),
  };
}
