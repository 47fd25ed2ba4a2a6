import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type BlockHash, type ContentName, parseBlockHash } from '../blob/ids.ts';
import { hashTypeCode } from '../sqlite/hash-type-code.ts';
import {
  type ChainPlace,
  decodeOccurrence,
  type OccurrenceRow,
  occurrenceRow,
  type PlacedOccurrence,
} from './occurrence-table.ts';
import { hashKey } from './wanted-table.ts';

/** Stands for a record that is to be made from its block once there is something to write it for. */
export const UNMADE_RECORD = '';

/** An occurrence record that is to be written: final, and its content is here. */
export interface DueRecord extends ChainPlace {
  /** As it was made from the block, lacking the size; or `UNMADE_RECORD`. */
  readonly record: string;
  readonly sizeBytes: number;
}

export interface WithdrawnOccurrence extends Omit<OccurrenceRow, 'transactionIndex'> {
  readonly sequence: number;
  readonly blockHash: BlockHash;
}

const dueRow = z.object({
  height: z.number(),
  transaction_index: z.number(),
  record: z.string(),
  size_bytes: z.number(),
});
const withdrawnRow = occurrenceRow
  .omit({ transaction_index: true })
  .extend({ sequence: z.number(), block_hash: z.instanceof(Buffer) });

/** Occurrence records between the walk, which can make them, and the backends, which are to have them. */
export class RecordOutbox {
  readonly #database: Database.Database;
  readonly #nowMs: () => number;
  readonly #add: Database.Statement;
  readonly #queueFirst: Database.Statement;
  readonly #dueBetween: Database.Statement;
  readonly #forget: Database.Statement;
  readonly #withdraw: Database.Statement;
  readonly #due: Database.Statement;
  readonly #written: Database.Statement;
  readonly #withdrawn: Database.Statement;
  readonly #deleted: Database.Statement;

  constructor(database: Database.Database, nowMs: () => number) {
    this.#database = database;
    this.#nowMs = nowMs;
    this.#add = database.prepare('INSERT INTO unwritten_record (height, transaction_index, record) VALUES (?, ?, ?)');
    this.#queueFirst = database.prepare(
      `INSERT INTO unwritten_record (height, transaction_index, record)
       SELECT height, transaction_index, '${UNMADE_RECORD}' FROM occurrence WHERE version_hash = ? AND hash_type = ?
       ORDER BY height, transaction_index LIMIT ? ON CONFLICT DO NOTHING`,
    );
    this.#dueBetween = database
      .prepare(
        `SELECT COUNT(*) FROM unwritten_record CROSS JOIN occurrence USING (height, transaction_index)
       CROSS JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type
       WHERE unwritten_record.height BETWEEN ? AND ? AND content.state > 0`,
      )
      .pluck();
    this.#forget = database.prepare('DELETE FROM unwritten_record WHERE height > ?');
    this.#withdraw = database.prepare(
      'INSERT INTO withdrawn_occurrence (version_hash, hash_type, txid, vout, height, block_hash, withdrawn_ms) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    // CROSS: in this order. The outbox is small, and the planner cannot know it.
    this.#due = database.prepare(
      `SELECT unwritten_record.height, unwritten_record.transaction_index, record, size_bytes
       FROM unwritten_record CROSS JOIN occurrence USING (height, transaction_index)
       CROSS JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type
       WHERE (unwritten_record.height, unwritten_record.transaction_index) > (?, ?) AND unwritten_record.height <= ? AND content.state > 0
       ORDER BY unwritten_record.height, unwritten_record.transaction_index LIMIT ?`,
    );
    this.#written = database.prepare(
      'DELETE FROM unwritten_record WHERE height = ? AND transaction_index = ? AND record = ?',
    );
    this.#withdrawn = database.prepare(
      `SELECT sequence, height, version_hash, hash_type, txid, vout, block_hash FROM withdrawn_occurrence
       WHERE deleted_ms IS NULL ORDER BY sequence LIMIT ?`,
    );
    this.#deleted = database.prepare('UPDATE withdrawn_occurrence SET deleted_ms = ? WHERE sequence = ?');
  }

  /** Within the walk's transaction. */
  add({ height, transactionIndex }: ChainPlace, record: string): void {
    this.#add.run(height, transactionIndex, record);
  }

  /** Within the transaction that says that its bytes are here: its first occurrences are to be written, if they are not. */
  queueFirst({ hashType, versionHash }: ContentName, most: number): void {
    this.#queueFirst.run(hashKey(versionHash), hashTypeCode(hashType), most);
  }

  /** How many records of held content, of occurrences at these heights, are not on every backend yet. */
  dueBetween(from: number, to: number): number {
    return z.number().parse(this.#dueBetween.get(from, to));
  }

  /** Within the transaction that takes blocks back. */
  forgetAbove(height: number): void {
    this.#forget.run(height);
  }

  /** Within the transaction that takes blocks back. */
  withdraw({ versionHash, hashType, txid, vout, height, blockHash }: PlacedOccurrence): void {
    const code = hashTypeCode(hashType);
    this.#withdraw.run(hashKey(versionHash), code, hashKey(txid), vout, height, hashKey(blockHash), this.#nowMs());
  }

  /** What may be written now: of blocks up to the final height, behind `after`, in the order of the chain. */
  due(after: ChainPlace, finalHeight: number, limit: number): DueRecord[] {
    return this.#due.all(after.height, after.transactionIndex, finalHeight, limit).map((value) => {
      const found = dueRow.parse(value);
      return {
        height: found.height,
        transactionIndex: found.transaction_index,
        record: found.record,
        sizeBytes: found.size_bytes,
      };
    });
  }

  /** Every backend has these. A row that was made anew meanwhile, for another block, stays. */
  recordWritten(written: readonly DueRecord[]): void {
    this.#database
      .transaction(() => {
        for (const { height, transactionIndex, record } of written) this.#written.run(height, transactionIndex, record);
      })
      .immediate();
  }

  /** Whose records are to be deleted, in the order in which they were withdrawn. */
  undeleted(limit: number): WithdrawnOccurrence[] {
    return this.#withdrawn.all(limit).map((value) => {
      const found = withdrawnRow.parse(value);
      const { transactionIndex: _, ...occurrence } = decodeOccurrence({ ...found, transaction_index: 0 });
      return { ...occurrence, sequence: found.sequence, blockHash: parseBlockHash(found.block_hash.toString('hex')) };
    });
  }

  recordDeleted(sequences: readonly number[]): void {
    this.#database
      .transaction(() => {
        for (const sequence of sequences) this.#deleted.run(this.#nowMs(), sequence);
      })
      .immediate();
  }
}
