import type Database from 'better-sqlite3';
import { z } from 'zod';
import {
  type BlockHash,
  type ContentName,
  type HashType,
  parseBlockHash,
  parseTxId,
  parseVersionHash,
  type TxId,
  type VersionHash,
} from '../core/blob/ids.ts';
import { hashTypeCode, hashTypeFrom } from '../core/sqlite/hash-type-code.ts';
import {
  type ChainPlace,
  decodeOccurrence,
  type OccurrenceRow,
  occurrenceRow,
  type PlacedOccurrence,
} from './occurrence-table.ts';
import { isToLose, RecordTasks, UNMADE_RECORD } from './record-tasks.ts';
import { hashKey } from './wanted-table.ts';

export { UNMADE_RECORD } from './record-tasks.ts';
/** An occurrence record that is to be written: final, and its content is here. */
export interface DueRecord extends OccurrenceRow {
  /** As it was made from the block, lacking the size; or `UNMADE_RECORD`. */
  readonly record: string;
  readonly sizeBytes: number;
  /** That it speaks of: another one may have this height by the time when it is written. */
  readonly blockHash: BlockHash;
}

export interface WithdrawnOccurrence extends Omit<OccurrenceRow, 'transactionIndex'> {
  readonly sequence: number;
  readonly blockHash: BlockHash;
}

const dueRow = occurrenceRow.extend({
  record: z.string(),
  size_bytes: z.number(),
  block_hash: z.instanceof(Buffer),
});
const fillRow = z.object({ height: z.number(), transaction_index: z.number(), is_recorded: z.number() });
const fillingRow = z.object({ fill_height: z.number(), fill_index: z.number(), fill_until: z.number() });
const withdrawnRow = occurrenceRow
  .omit({ transaction_index: true })
  .extend({ sequence: z.number(), block_hash: z.instanceof(Buffer) });

const HELD =
  'CROSS JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type';

const latelyRow = z.object({
  count: z.number(),
  seconds: z.number().nullable(),
  version_hash: z.instanceof(Buffer).nullable(),
  hash_type: z.number().nullable(),
  txid: z.instanceof(Buffer).nullable(),
  height: z.number().nullable(),
});

/** What had been called final, and was taken back lately. */
export interface WithdrawnLately {
  readonly count: number;
  /** When the last of them was, by the time of the chain. */
  readonly atSeconds: number;
  readonly last: ContentName & { readonly txid: TxId; readonly height: number };
}

/** Occurrence records between the walk, which can make them, and the backends, each of which gets them at its own pace. */
export class RecordOutbox {
  readonly #database: Database.Database;
  readonly #nowMs: () => number;
  readonly #tasks: RecordTasks;
  readonly #add: Database.Statement;
  readonly #queueFirst: Database.Statement;
  readonly #isOnChain: Database.Statement;
  readonly #queueFirstEverywhere: Database.Statement;
  readonly #dueBetween: Database.Statement;
  readonly #forget: Database.Statement;
  readonly #forgetUnsaved: Database.Statement;
  readonly #withdraw: Database.Statement;
  readonly #due: Database.Statement;
  readonly #withdrawn: Database.Statement;
  readonly #lately: Database.Statement;
  readonly #earlier: Database.Statement;
  readonly #recorded: Database.Statement;

  constructor(database: Database.Database, nowMs: () => number) {
    this.#database = database;
    this.#nowMs = nowMs;
    this.#tasks = new RecordTasks(database);
    this.#add = database.prepare('INSERT INTO unwritten_record (height, transaction_index, record) VALUES (?, ?, ?)');
    this.#queueFirst = database.prepare(
      `INSERT INTO unwritten_record (height, transaction_index, record)
       SELECT height, transaction_index, '${UNMADE_RECORD}' FROM occurrence WHERE version_hash = ? AND hash_type = ?
       ORDER BY height, transaction_index LIMIT ? ON CONFLICT DO NOTHING`,
    );
    this.#isOnChain = database.prepare('SELECT 1 FROM occurrence WHERE version_hash = ? AND hash_type = ? LIMIT 1');
    this.#queueFirstEverywhere = database.prepare(
      `INSERT INTO record_task (height, transaction_index, store_id)
       SELECT height, transaction_index, id FROM (SELECT height, transaction_index FROM occurrence WHERE version_hash = ? AND hash_type = ?
       ORDER BY height, transaction_index LIMIT ?) CROSS JOIN record_store WHERE true ON CONFLICT DO NOTHING`,
    );
    this.#dueBetween = database
      .prepare(
        `SELECT (SELECT COUNT(*) FROM unwritten_record CROSS JOIN occurrence USING (height, transaction_index) ${HELD}
         WHERE unwritten_record.height BETWEEN @from AND @to AND content.state > 0)
       + (SELECT COUNT(*) FROM record_store CROSS JOIN occurrence NOT INDEXED ${HELD}
         WHERE fill_until IS NOT NULL AND occurrence.height BETWEEN MAX(@from, fill_height) AND MIN(@to, fill_until)
           AND (occurrence.height, occurrence.transaction_index) > (fill_height, fill_index) AND content.state > 0)`,
      )
      .pluck();
    this.#forget = database.prepare('DELETE FROM unwritten_record WHERE height > ?');
    this.#forgetUnsaved = database.prepare(
      `DELETE FROM unwritten_record WHERE (height, transaction_index) IN
         (SELECT height, transaction_index FROM unwritten_record AS waiting CROSS JOIN occurrence USING (height, transaction_index)
          WHERE height <= (SELECT height FROM block WHERE median_time_seconds < @medianTimeSeconds ORDER BY height DESC LIMIT 1)
            AND NOT EXISTS (SELECT 1 FROM content WHERE content.version_hash = occurrence.version_hash
              AND content.hash_type = occurrence.hash_type) LIMIT @limit)`,
    );
    this.#withdraw = database.prepare(
      'INSERT INTO withdrawn_occurrence (version_hash, hash_type, txid, vout, height, block_hash, withdrawn_ms, withdrawn_seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
    // CROSS: in this order. The outbox is small, and the planner cannot know it.
    this.#due = database.prepare(
      `SELECT occurrence.height, occurrence.transaction_index, occurrence.version_hash, occurrence.hash_type, occurrence.txid,
         occurrence.vout, record, size_bytes, block.hash AS block_hash
       FROM record_task INDEXED BY record_task_by_store CROSS JOIN unwritten_record USING (height, transaction_index)
       CROSS JOIN occurrence USING (height, transaction_index)
       CROSS JOIN block ON block.height = occurrence.height
       CROSS JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type
       WHERE store_id = ? AND (record_task.height, record_task.transaction_index) > (?, ?) AND record_task.height <= ?
         AND content.state > 0 AND NOT EXISTS (${isToLose('record_task.store_id', 'occurrence.height', 'occurrence.txid', 'occurrence.vout')})
       ORDER BY record_task.height, record_task.transaction_index LIMIT ?`,
    );
    this.#withdrawn = database.prepare(
      `SELECT sequence, height, version_hash, hash_type, txid, vout, block_hash
       FROM withdrawn_task CROSS JOIN withdrawn_occurrence USING (sequence) WHERE store_id = ? AND sequence > ? ORDER BY sequence LIMIT ?`,
    );
    // The columns besides MAX are those of the row that was withdrawn last.
    this.#lately = database.prepare(
      `SELECT COUNT(*) AS count, MAX(withdrawn_seconds) AS seconds, version_hash, hash_type, txid, height
       FROM withdrawn_occurrence WHERE withdrawn_seconds > ?`,
    );
    this.#recorded = database
      .prepare(
        'SELECT version_hash FROM content WHERE version_hash > ? AND hash_type = ? AND state > 0 ORDER BY version_hash LIMIT ?',
      )
      .pluck();
    const before = `SELECT 1 FROM occurrence AS earlier WHERE earlier.version_hash = occurrence.version_hash
      AND earlier.hash_type = occurrence.hash_type
      AND (earlier.height, earlier.transaction_index) < (occurrence.height, occurrence.transaction_index) LIMIT @most`;
    this.#earlier = database.prepare(
      `SELECT height, transaction_index, (SELECT COUNT(*) FROM (${before})) < @most AND EXISTS (SELECT 1 FROM content
         WHERE content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type AND state > 0) AS is_recorded
       FROM occurrence WHERE (height, transaction_index) > (@height, @index) AND height <= @until
       ORDER BY height, transaction_index LIMIT @limit`,
    );
  }

  /** The stores that are configured now. One that was not is to get what was written before; of others nothing is kept. */
  useStores(names: readonly string[]): void {
    this.#database.transaction(() => this.#tasks.useStores(names)).immediate();
  }

  /** Within the walk's transaction. */
  add({ height, transactionIndex }: ChainPlace, record: string): void {
    this.#add.run(height, transactionIndex, record);
  }

  /** Does a block of our branch have it? What none has, has no records: most of what arrives. */
  isOnChain({ hashType, versionHash }: ContentName): boolean {
    return this.#isOnChain.get(hashKey(versionHash), hashTypeCode(hashType)) !== undefined;
  }

  /** Within the transaction that says that its bytes are here: its first occurrences are to be written, if they are not. */
  queueFirst({ hashType, versionHash }: ContentName, most: number): void {
    const key = hashKey(versionHash);
    const code = hashTypeCode(hashType);
    this.#queueFirst.run(key, code, most);
    // What was walked before a store was configured waits for the others alone, and that store was filled with what was
    // held by then.
    this.#queueFirstEverywhere.run(key, code, most);
  }

  /**
   * How many records of held content, of occurrences at these heights, are not on every backend yet; of a backend that is
   * given a stretch of the chain, those that it may not have.
   */
  dueBetween(from: number, to: number): number {
    return z.number().parse(this.#dueBetween.get({ from, to }));
  }

  /**
   * Records that wait for a store that is away stay few: behind the first so many the store is given a stretch of the
   * chain instead, of which it gets everything when it is back. Within a transaction. Gives how many rows went.
   */
  bound(tasks: number): number {
    return this.#tasks.bound(tasks);
  }

  /** Texts that the data folder has. Within a transaction. */
  forgetTexts(limit: number): number {
    return this.#tasks.forgetTexts(limit);
  }

  /** Of content that never came, in blocks of before this time. Within a transaction. */
  forgetUnsaved(medianTimeSeconds: number, limit: number): number {
    return this.#forgetUnsaved.run({ medianTimeSeconds, limit }).changes;
  }

  /** Within the transaction that takes blocks back. */
  forgetAbove(height: number): void {
    this.#forget.run(height);
  }

  /** Within the transaction that takes blocks back. */
  withdraw({ versionHash, hashType, txid, vout, height, blockHash }: PlacedOccurrence, chainSeconds: number): void {
    const [hash, code, tx] = [hashKey(versionHash), hashTypeCode(hashType), hashKey(txid)];
    this.#withdraw.run(hash, code, tx, vout, height, hashKey(blockHash), this.#nowMs(), chainSeconds);
  }

  /**
   * What this store is to get now: of blocks up to the final height, behind `after`, in the order of the chain. A record
   * that the store has still to lose under the same name is not among it: the late deletion would take the new one.
   */
  due(store: string, after: ChainPlace, finalHeight: number, limit: number): DueRecord[] {
    const id = this.#tasks.id(store);
    return this.#due.all(id, after.height, after.transactionIndex, finalHeight, limit).map((value) => {
      const found = dueRow.parse(value);
      const blockHash = parseBlockHash(found.block_hash.toString('hex'));
      return { ...decodeOccurrence(found), record: found.record, sizeBytes: found.size_bytes, blockHash };
    });
  }

  /**
   * The store has these. A row that was made anew meanwhile, for another block, stays; as does one of which the store is
   * still to lose an earlier record: both have one name, so that it is written again after that.
   */
  recordWritten(store: string, written: readonly DueRecord[]): void {
    const id = this.#tasks.id(store);
    this.#database
      .transaction(() => {
        for (const one of written) this.#tasks.written(id, one);
      })
      .immediate();
  }

  /** Held content of one hash type, in the order of version hashes, behind `after`: its first occurrences have records. */
  recorded(hashType: HashType, after: VersionHash | null, limit: number): VersionHash[] {
    const key = after === null ? Buffer.alloc(0) : hashKey(after);
    return z
      .array(z.instanceof(Buffer))
      .parse(this.#recorded.all(key, hashTypeCode(hashType), limit))
      .map((hash) => parseVersionHash(hash.toString('hex')));
  }

  /** Found to have left this store: written there again. */
  requeue(store: string, places: readonly ChainPlace[]): void {
    const id = this.#tasks.id(store);
    this.#database
      .transaction(() => {
        for (const { height, transactionIndex } of places) this.#tasks.queue(id, height, transactionIndex);
      })
      .immediate();
  }

  /** Is it still to get the record of this occurrence? */
  isQueued(store: string, { height, transactionIndex }: ChainPlace): boolean {
    return this.#tasks.isQueued(this.#tasks.id(store), height, transactionIndex);
  }

  /**
   * Queues some more of what was written before this store was configured: of each held content the first so many
   * occurrences. false: it has been given all.
   */
  fillSome(store: string, mostOfOne: number, limit: number): boolean {
    const id = this.#tasks.id(store);
    return this.#database
      .transaction(() => {
        const filling = fillingRow.safeParse(this.#tasks.filling(id)).data;
        if (filling === undefined) return false;
        const { fill_height: height, fill_index: index, fill_until: until } = filling;
        const rows = z.array(fillRow).parse(this.#earlier.all({ height, index, until, most: mostOfOne, limit }));
        for (const row of rows) if (row.is_recorded === 1) this.#tasks.queue(id, row.height, row.transaction_index);
        const last = rows.at(-1);
        this.#tasks.filled(id, last?.height ?? null, last?.transaction_index ?? null);
        return true;
      })
      .immediate();
  }

  /** What had been called final and was taken back since then, by the time of the chain; null: nothing was. */
  withdrawnSince(chainSeconds: number): WithdrawnLately | null {
    const found = latelyRow.parse(this.#lately.get(chainSeconds));
    const { count, seconds, version_hash: hash, hash_type: code, txid, height } = found;
    if (seconds === null || hash === null || code === null || txid === null || height === null) return null;
    const name = { versionHash: parseVersionHash(hash.toString('hex')), hashType: hashTypeFrom(code) };
    return { count, atSeconds: seconds, last: { ...name, txid: parseTxId(txid.toString('hex')), height } };
  }

  /** Whose records this store is to lose, in the order in which they were withdrawn, behind the sequence `after`. */
  undeleted(store: string, after: number, limit: number): WithdrawnOccurrence[] {
    return this.#withdrawn.all(this.#tasks.id(store), after, limit).map((value) => {
      const found = withdrawnRow.parse(value);
      const { transactionIndex: _, ...occurrence } = decodeOccurrence({ ...found, transaction_index: 0 });
      return { ...occurrence, sequence: found.sequence, blockHash: parseBlockHash(found.block_hash.toString('hex')) };
    });
  }

  recordDeleted(store: string, sequences: readonly number[]): void {
    const id = this.#tasks.id(store);
    this.#database
      .transaction(() => {
        for (const sequence of sequences) this.#tasks.deleted(id, sequence, this.#nowMs());
      })
      .immediate();
  }
}
