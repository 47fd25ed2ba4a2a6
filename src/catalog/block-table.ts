import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type BlockHash, parseBlockHash } from '../core/blob/ids.ts';
import { hashKey } from './seen-table.ts';

/** A block of the branch that was walked. */
export interface BlockRow {
  readonly height: number;
  readonly hash: BlockHash;
  readonly previousHash: BlockHash;
  readonly timeSeconds: number;
  /** Median of its time and the ten before it: the chain's clock. */
  readonly medianTimeSeconds: number;
}

const row = z.object({
  height: z.number(),
  hash: z.instanceof(Buffer),
  previous_hash: z.instanceof(Buffer),
  time_seconds: z.number(),
  median_time_seconds: z.number(),
});

const COLUMNS = 'height, hash, previous_hash, time_seconds, median_time_seconds';

/** One block a height, each the parent of the next. The caller owns the transactions. */
export class BlockTable {
  readonly #insert: Database.Statement;
  readonly #deleteAbove: Database.Statement;
  readonly #at: Database.Statement;
  readonly #heightOf: Database.Statement;
  readonly #highest: Database.Statement;
  readonly #lowest: Database.Statement;
  readonly #last: Database.Statement;

  constructor(database: Database.Database) {
    this.#insert = database.prepare(`INSERT INTO block (${COLUMNS}) VALUES (?, ?, ?, ?, ?)`);
    this.#deleteAbove = database.prepare('DELETE FROM block WHERE height > ?');
    this.#at = database.prepare(`SELECT ${COLUMNS} FROM block WHERE height = ?`);
    this.#heightOf = database.prepare('SELECT height FROM block WHERE hash = ?').pluck();
    this.#highest = database.prepare(`SELECT ${COLUMNS} FROM block ORDER BY height DESC LIMIT 1`);
    this.#lowest = database.prepare(`SELECT ${COLUMNS} FROM block ORDER BY height LIMIT 1`);
    this.#last = database
      .prepare('SELECT time_seconds FROM block WHERE height <= ? ORDER BY height DESC LIMIT ?')
      .pluck();
  }

  insert(block: BlockRow): void {
    const { height, hash, previousHash, timeSeconds, medianTimeSeconds } = block;
    this.#insert.run(height, hashKey(hash), hashKey(previousHash), timeSeconds, medianTimeSeconds);
  }

  deleteAbove(height: number): number {
    return this.#deleteAbove.run(height).changes;
  }

  at(height: number): BlockRow | null {
    return decode(this.#at.get(height));
  }

  /** null: it is not on the branch that was walked. */
  heightOf(hash: BlockHash): number | null {
    const found = this.#heightOf.get(hashKey(hash));
    return found === undefined ? null : z.number().parse(found);
  }

  highest(): BlockRow | null {
    return decode(this.#highest.get());
  }

  lowest(): BlockRow | null {
    return decode(this.#lowest.get());
  }

  /** Times of the blocks up to this height, newest first. */
  timesUpTo(height: number, count: number): number[] {
    return z.array(z.number()).parse(this.#last.all(height, count));
  }
}

function decode(value: unknown): BlockRow | null {
  return value === undefined ? null : decodeBlock(value);
}

export function decodeBlock(value: unknown): BlockRow {
  const found = row.parse(value);
  return {
    height: found.height,
    hash: parseBlockHash(found.hash.toString('hex')),
    previousHash: parseBlockHash(found.previous_hash.toString('hex')),
    timeSeconds: found.time_seconds,
    medianTimeSeconds: found.median_time_seconds,
  };
}
