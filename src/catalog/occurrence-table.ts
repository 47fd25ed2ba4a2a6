import type Database from 'better-sqlite3';
import { z } from 'zod';
import {
  type BlockHash,
  type ContentName,
  parseBlockHash,
  parseTxId,
  parseVersionHash,
  type TxId,
} from '../core/blob/ids.ts';
import { parseSenderScript, type SenderScript, type Senders } from '../core/blob/sender.ts';
import { hashTypeCode, hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import { hashKey } from './seen-table.ts';

/** Place of an occurrence in chain order. */
export interface ChainPlace {
  readonly height: number;
  readonly transactionIndex: number;
}

/** One output, in a block of the branch that was walked, that commits to content. */
export interface OccurrenceRow extends ContentName, ChainPlace {
  readonly txid: TxId;
  readonly vout: number;
}

/** With what its block says. */
export interface PlacedOccurrence extends OccurrenceRow {
  readonly blockHash: BlockHash;
  readonly medianTimeSeconds: number;
  /** Scripts that its transaction spends from, where they are known. */
  readonly senders?: readonly SenderScript[];
}

export const occurrenceRow = z.object({
  height: z.number(),
  transaction_index: z.number(),
  version_hash: z.instanceof(Buffer),
  hash_type: z.number(),
  txid: z.instanceof(Buffer),
  vout: z.number(),
});
const number = z.number();
const numberOrNull = number.nullable();
const placedRow = occurrenceRow.extend({
  hash: z.instanceof(Buffer),
  median_time_seconds: z.number(),
  senders: z.string().nullable(),
});

const COLUMNS = 'occurrence.height, transaction_index, version_hash, hash_type, txid, vout';
const PLACED = `${COLUMNS}, senders, block.hash, block.median_time_seconds`;
const JOINED = `SELECT ${PLACED} FROM occurrence CROSS JOIN block ON block.height = occurrence.height`;

/** The caller owns the transactions. No count over the occurrences of a content is ever taken: there can be very many. */
export class OccurrenceTable {
  readonly #insert: Database.Statement;
  readonly #unclear: Database.Statement;
  readonly #above: Database.Statement;
  readonly #deleteAbove: Database.Statement;
  readonly #deleteUnclearAbove: Database.Statement;
  readonly #page: Database.Statement;
  readonly #byTxid: Database.Statement;
  readonly #first: Database.Statement;
  readonly #last: Database.Statement;
  readonly #some: Database.Statement;
  readonly #between: Database.Statement;
  readonly #highest: Database.Statement;
  readonly #countUnclear: Database.Statement;

  constructor(database: Database.Database) {
    this.#insert = database.prepare(
      'INSERT INTO occurrence (height, transaction_index, version_hash, hash_type, txid, vout, senders) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#unclear = database.prepare(
      'INSERT INTO unclear_transaction (height, transaction_index, txid, candidates) VALUES (?, ?, ?, ?)',
    );
    this.#above = database.prepare(
      `${JOINED} WHERE occurrence.height > ? ORDER BY occurrence.height, transaction_index`,
    );
    this.#deleteAbove = database.prepare('DELETE FROM occurrence WHERE height > ?');
    this.#deleteUnclearAbove = database.prepare('DELETE FROM unclear_transaction WHERE height > ?');
    this.#page = database.prepare(
      `${JOINED} WHERE version_hash = ? AND hash_type = ? AND (occurrence.height, transaction_index) > (?, ?)
       ORDER BY occurrence.height, transaction_index LIMIT ?`,
    );
    // One stretch of the index after the other, newest first: see its migration.
    this.#byTxid = database.prepare(
      `WITH RECURSIVE stretch (number) AS (SELECT (SELECT MAX(height) FROM block) >> 12 UNION ALL
         SELECT number - 1 FROM stretch WHERE number > (SELECT MIN(height) FROM block) >> 12)
       SELECT ${PLACED} FROM stretch
       CROSS JOIN occurrence INDEXED BY occurrence_by_txid ON occurrence.height >> 12 = stretch.number
         AND substr(txid, 1, 8) = substr(@key, 1, 8) AND txid = @key
       CROSS JOIN block ON block.height = occurrence.height LIMIT 1`,
    );
    this.#first = database
      .prepare('SELECT MIN(height) FROM occurrence WHERE version_hash = ? AND hash_type = ?')
      .pluck();
    this.#last = database
      .prepare('SELECT MAX(height) FROM occurrence WHERE version_hash = ? AND hash_type = ?')
      .pluck();
    this.#some = database
      .prepare('SELECT COUNT(*) FROM (SELECT 1 FROM occurrence WHERE version_hash = ? AND hash_type = ? LIMIT ?)')
      .pluck();
    this.#between = database
      .prepare(
        'SELECT COUNT(*) FROM (SELECT 1 FROM occurrence WHERE version_hash = ? AND hash_type = ? AND height BETWEEN ? AND ? LIMIT ?)',
      )
      .pluck();
    this.#highest = database.prepare('SELECT MAX(height) FROM occurrence').pluck();
    this.#countUnclear = database.prepare('SELECT COUNT(*) FROM unclear_transaction').pluck();
  }

  insert(
    { height, transactionIndex, versionHash, hashType, txid, vout }: OccurrenceRow,
    senders: Senders = null,
  ): void {
    const [key, code] = [hashKey(versionHash), hashTypeCode(hashType)];
    this.#insert.run(height, transactionIndex, key, code, hashKey(txid), vout, senders?.join() ?? null);
  }

  insertUnclear({ height, transactionIndex }: ChainPlace, txid: TxId, candidates: number): void {
    this.#unclear.run(height, transactionIndex, hashKey(txid), candidates);
  }

  *above(height: number): Generator<PlacedOccurrence> {
    for (const value of this.#above.iterate(height)) yield decodePlaced(value);
  }

  deleteAbove(height: number): void {
    this.#deleteAbove.run(height);
    this.#deleteUnclearAbove.run(height);
  }

  /** In the order of the chain. */
  page({ hashType, versionHash }: ContentName, after: ChainPlace | null, limit: number): PlacedOccurrence[] {
    const { height, transactionIndex } = after ?? { height: -1, transactionIndex: -1 };
    return this.#page
      .all(hashKey(versionHash), hashTypeCode(hashType), height, transactionIndex, limit)
      .map(decodePlaced);
  }

  ofTransaction(txid: TxId): PlacedOccurrence | null {
    const found = this.#byTxid.get({ key: hashKey(txid) });
    return found === undefined ? null : decodePlaced(found);
  }

  /** null: none on our branch. */
  firstHeight({ hashType, versionHash }: ContentName): number | null {
    return numberOrNull.parse(this.#first.get(hashKey(versionHash), hashTypeCode(hashType)));
  }

  lastHeight({ hashType, versionHash }: ContentName): number | null {
    return numberOrNull.parse(this.#last.get(hashKey(versionHash), hashTypeCode(hashType)));
  }

  /** Counts occurrences, no further than `most`. */
  countUpTo({ hashType, versionHash }: ContentName, most: number): number {
    return number.parse(this.#some.get(hashKey(versionHash), hashTypeCode(hashType), most));
  }

  /** The same, of those at these heights. */
  countBetween({ hashType, versionHash }: ContentName, from: number, to: number, most: number): number {
    return number.parse(this.#between.get(hashKey(versionHash), hashTypeCode(hashType), from, to, most));
  }

  /** Latest occurrence on the branch, whatever it names. */
  highest(): number | null {
    return numberOrNull.parse(this.#highest.get());
  }

  unclearCount(): number {
    return number.parse(this.#countUnclear.get());
  }
}

export function decodeOccurrence(found: z.infer<typeof occurrenceRow>): OccurrenceRow {
  return {
    height: found.height,
    transactionIndex: found.transaction_index,
    versionHash: parseVersionHash(found.version_hash.toString('hex')),
    hashType: hashTypeFrom(found.hash_type),
    txid: parseTxId(found.txid.toString('hex')),
    vout: found.vout,
  };
}

/** Scripts as the column `senders` holds them. */
export function decodeSenders(column: string | null): Senders {
  return column === null ? null : column.split(',').map(parseSenderScript);
}

function decodePlaced(value: unknown): PlacedOccurrence {
  const found = placedRow.parse(value);
  const senders = decodeSenders(found.senders);
  return {
    ...decodeOccurrence(found),
    ...(senders === null ? {} : { senders }),
    blockHash: parseBlockHash(found.hash.toString('hex')),
    medianTimeSeconds: found.median_time_seconds,
  };
}
