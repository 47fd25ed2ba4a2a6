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
import { COPIED, type CopyTable, dueCopies, waitsNowhere } from './copy-table.ts';
import {
  type ChainPlace,
  decodeOccurrence,
  type OccurrenceRow,
  occurrenceRow,
  type PlacedOccurrence,
} from './occurrence-table.ts';
import { SPOOL } from './placement-table.ts';
import { hashKey } from './seen-table.ts';
import type { Tables } from './tables.ts';

/** Stands for a record that is to be made from its block once there is something to write it for. */
export const UNMADE_RECORD = '';

/** A height and a place in its block as one number: the order of the chain. A block has far fewer transactions than 2^20. */
const PLACES = 2 ** 20;

/** An occurrence record that is to be written: final, and its content is here. */
export interface DueRecord extends OccurrenceRow {
  /** The record from the block, without the size; or `UNMADE_RECORD`. */
  readonly record: string;
  readonly sizeBytes: number;
  /** Height of its block: another block may have this height when the record is written. */
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
const fillingRow = z.object({ fill_after: z.number(), fill_until: z.number() });
const withdrawnRow = occurrenceRow
  .omit({ transaction_index: true })
  .extend({ sequence: z.number(), block_hash: z.instanceof(Buffer) });

const HELD =
  'CROSS JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type';

const NUMBER = '(height << 20) + transaction_index';

/** SQL: the backend is to lose an earlier record of this name. Looked up by height: few are withdrawn at one height. */
function isToLose(backend: string, height: string, txid: string, vout: string): string {
  return `SELECT 1 FROM withdrawn_occurrence AS earlier INDEXED BY withdrawn_by_height
    CROSS JOIN copy AS unwanted ON unwanted.backend_id = ${backend} AND unwanted.kind = ${COPIED.withdrawn} AND unwanted.object = earlier.sequence
    WHERE earlier.height = ${height} AND earlier.txid = ${txid} AND earlier.vout = ${vout}`;
}

const latelyRow = z.object({
  count: z.number(),
  seconds: z.number().nullable(),
  version_hash: z.instanceof(Buffer).nullable(),
  hash_type: z.number().nullable(),
  txid: z.instanceof(Buffer).nullable(),
  height: z.number().nullable(),
});

/** Occurrences that had been called final, and were taken back lately. */
export interface WithdrawnLately {
  readonly count: number;
  /** When the last of them was, by the time of the chain. */
  readonly atSeconds: number;
  readonly last: ContentName & { readonly txid: TxId; readonly height: number };
}

/** Occurrence records between the walk, which can make them, and the backends, each of which gets them at its own pace. */
export class RecordOutbox {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #tables: Tables;
  readonly #copies: CopyTable;

  constructor(tables: Tables, copies: CopyTable) {
    this.#tables = tables;
    this.#copies = copies;
    this.#sql = prepare(tables.database);
  }

  /** Within the walk's transaction. */
  add(place: ChainPlace, record: string): void {
    this.#sql.add.run(place.height, place.transactionIndex, record);
    this.#copies.wantEverywhere(COPIED.record, recordNumber(place));
  }

  /** Reports whether a block of the branch has it. Content in no block has no records: most arrivals. */
  isOnChain({ hashType, versionHash }: ContentName): boolean {
    return this.#sql.isOnChain.get(hashKey(versionHash), hashTypeCode(hashType)) !== undefined;
  }

  /** Within the transaction that says that its bytes are here: its first occurrences are to be written, if they are not. */
  queueFirst({ hashType, versionHash }: ContentName, most: number): void {
    const key = hashKey(versionHash);
    const code = hashTypeCode(hashType);
    this.#sql.queueFirst.run(key, code, most);
    // Blocks walked before a store was configured wait for the other stores alone: this store was filled with the
    // holdings of that time.
    this.#sql.queueFirstEverywhere.run(key, code, most);
    this.#copies.changes(COPIED.record).notify();
  }

  /**
   * Number of records of held content at these heights that are not on every backend yet; for a backend that is given a
   * stretch of the chain, the records that it may lack.
   */
  dueBetween(from: number, to: number): number {
    return z.number().parse(this.#sql.dueBetween.get({ from, to }));
  }

  /**
   * Limits the records that wait for a store that is away. A store with more than twice `maxOfOne` waiting rows gets a
   * stretch of the chain in place of the later ones. When it is back, it gets every record of that stretch. Returns how
   * many rows were removed. Within a transaction.
   */
  bound(most: number): number {
    let gone = 0;
    for (const id of this.#copies.ids.values()) {
      if (this.#sql.queuedAt.get(id, 2 * most) === undefined) continue;
      const after = z.number().parse(this.#sql.queuedAt.get(id, most - 1));
      this.#sql.stretch.run({ id, after, until: z.number().parse(this.#sql.highest.get(id)) });
      gone += this.#sql.unqueueAfter.run(id, after).changes;
      this.#copies.forgetUnasked();
      this.#copies.changes(COPIED.record).notify();
    }
    return gone;
  }

  /**
   * Texts that the data folder has: for a store that is away they are read there. Within a transaction. Gives how many
   * went.
   */
  forgetTexts(limit: number): number {
    return this.#sql.forgetTexts.run(limit).changes;
  }

  /** Forgets content that never came, in blocks before this time. Within a transaction. */
  forgetUnsaved(medianTimeSeconds: number, limit: number): number {
    return this.#sql.forgetUnsaved.run({ medianTimeSeconds, limit }).changes;
  }

  /** Within the transaction that takes blocks back. */
  forgetAbove(height: number): void {
    this.#sql.forget.run(height);
  }

  /** Within the transaction that takes blocks back. */
  withdraw({ versionHash, hashType, txid, vout, height, blockHash }: PlacedOccurrence, chainSeconds: number): void {
    const [hash, code, tx] = [hashKey(versionHash), hashTypeCode(hashType), hashKey(txid)];
    const nowMs = this.#tables.nowMs();
    const sequence = this.#sql.withdraw.get(hash, code, tx, vout, height, hashKey(blockHash), nowMs, chainSeconds);
    this.#copies.wantEverywhere(COPIED.withdrawn, z.number().parse(sequence));
  }

  /**
   * Records that this store should get now: of blocks up to the final height, after `after`, in chain order. A record
   * that the store has still to lose under the same name is left out: the late deletion would remove the new one.
   */
  due(store: string, after: ChainPlace, finalHeight: number, limit: number): DueRecord[] {
    const which = this.#copies.due(store, recordNumber(after));
    return this.#sql.due.all({ ...which, finalHeight, limit }).map((value) => {
      const found = dueRow.parse(value);
      const blockHash = parseBlockHash(found.block_hash.toString('hex'));
      return { ...decodeOccurrence(found), record: found.record, sizeBytes: found.size_bytes, blockHash };
    });
  }

  /**
   * Records that the store has these. A row that was made again meanwhile, for another block, stays. A row whose store
   * has still to lose an earlier record stays as well: both have one name, so it is written again after the deletion.
   */
  recordWritten(store: string, written: readonly DueRecord[]): void {
    const backend = this.#copies.id(store);
    this.#tables.transaction('record which records a backend has', () => {
      for (const one of written) {
        const { height, transactionIndex: index, txid, vout, blockHash } = one;
        const object = recordNumber(one);
        this.#sql.written.run({ backend, object, height, txid: hashKey(txid), vout, blockHash: hashKey(blockHash) });
        this.#sql.writtenEverywhere.run({ height, index, object });
      }
    });
  }

  /** Held content of one hash type, in the order of version hashes, behind `after`: its first occurrences have records. */
  recorded(hashType: HashType, after: VersionHash | null, limit: number): VersionHash[] {
    const key = after === null ? Buffer.alloc(0) : hashKey(after);
    return z
      .array(z.instanceof(Buffer))
      .parse(this.#sql.recorded.all(key, hashTypeCode(hashType), limit))
      .map((hash) => parseVersionHash(hash.toString('hex')));
  }

  /**
   * A record that has left this store is written there again, unless its occurrence has left the branch. The other stores are
   * queued already.
   */
  requeue(store: string, places: readonly ChainPlace[]): void {
    this.#tables.transaction('record which records have left a backend', () => {
      for (const place of places) {
        if (this.#sql.isPlace.get(place.height, place.transactionIndex) !== undefined) this.#queue(store, place);
      }
    });
  }

  #queue(store: string, place: ChainPlace): void {
    this.#sql.addUnmade.run(place.height, place.transactionIndex);
    this.#copies.want(COPIED.record, recordNumber(place), store);
  }

  /** Reports whether it still has to get the record of this occurrence. */
  isQueued(store: string, place: ChainPlace): boolean {
    return this.#copies.isQueued(COPIED.record, recordNumber(place), store);
  }

  /**
   * Queues some more of what was written before this store was configured: of each held content the first so many
   * occurrences. false: it has been given all.
   */
  fillSome(store: string, maxOfOne: number, limit: number): boolean {
    const id = this.#copies.id(store);
    return this.#tables.transaction('queue some of a stretch of the chain', () => {
      const filling = fillingRow.safeParse(this.#sql.filling.get(id)).data;
      if (filling === undefined) return false;
      const height = Math.floor(filling.fill_after / PLACES);
      const index = filling.fill_after - height * PLACES;
      const which = { height, index, until: filling.fill_until, most: maxOfOne, limit };
      const rows = z.array(fillRow).parse(this.#sql.earlier.all(which));
      const places = rows.map((row) => ({ ...row, transactionIndex: row.transaction_index }));
      for (const place of places) if (place.is_recorded === 1) this.#queue(store, place);
      const last = places.at(-1);
      this.#sql.filled.run({ id, after: last === undefined ? null : recordNumber(last) });
      return true;
    });
  }

  /** Occurrences called final that were taken back since that time of the chain; null: none. */
  withdrawnSince(chainSeconds: number): WithdrawnLately | null {
    const found = latelyRow.parse(this.#sql.lately.get(chainSeconds));
    const { count, seconds, version_hash: hash, hash_type: code, txid, height } = found;
    if (seconds === null || hash === null || code === null || txid === null || height === null) return null;
    const name = { versionHash: parseVersionHash(hash.toString('hex')), hashType: hashTypeFrom(code) };
    return { count, atSeconds: seconds, last: { ...name, txid: parseTxId(txid.toString('hex')), height } };
  }

  /** Records that this store should lose, in the order of withdrawal, after the sequence `after`. */
  undeleted(store: string, after: number, limit: number): WithdrawnOccurrence[] {
    return this.#sql.withdrawn.all({ ...this.#copies.due(store, after), limit }).map((value) => {
      const found = withdrawnRow.parse(value);
      const { transactionIndex: _, ...occurrence } = decodeOccurrence({ ...found, transaction_index: 0 });
      return { ...occurrence, sequence: found.sequence, blockHash: parseBlockHash(found.block_hash.toString('hex')) };
    });
  }

  recordDeleted(store: string, sequences: readonly number[]): void {
    this.#copies.recordDone(COPIED.withdrawn, sequences, store);
  }
}

/** Key of an occurrence's record in `copy`. */
export function recordNumber({ height, transactionIndex }: ChainPlace): number {
  return height * PLACES + transactionIndex;
}

function prepare(database: Database.Database) {
  const hasIt = `NOT EXISTS (SELECT 1 FROM copy WHERE copy.backend_id = backend.id AND copy.kind = ${COPIED.record}
    AND copy.object = (waiting.height << 20) + waiting.transaction_index)`;
  const queued = `copy WHERE backend_id = ? AND kind = ${COPIED.record}`;
  const before = `SELECT 1 FROM occurrence AS earlier WHERE earlier.version_hash = occurrence.version_hash
    AND earlier.hash_type = occurrence.hash_type
    AND (earlier.height, earlier.transaction_index) < (occurrence.height, occurrence.transaction_index) LIMIT @most`;
  return {
    add: database.prepare(
      `INSERT INTO unwritten_record (height, transaction_index, record) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET record = excluded.record`,
    ),
    isPlace: database.prepare('SELECT 1 FROM occurrence WHERE height = ? AND transaction_index = ?'),
    addUnmade: database.prepare(
      `INSERT INTO unwritten_record (height, transaction_index, record) VALUES (?, ?, '${UNMADE_RECORD}') ON CONFLICT DO NOTHING`,
    ),
    queueFirst: database.prepare(
      `INSERT INTO unwritten_record (height, transaction_index, record)
       SELECT height, transaction_index, '${UNMADE_RECORD}' FROM occurrence WHERE version_hash = ? AND hash_type = ?
       ORDER BY height, transaction_index LIMIT ? ON CONFLICT DO NOTHING`,
    ),
    isOnChain: database.prepare('SELECT 1 FROM occurrence WHERE version_hash = ? AND hash_type = ? LIMIT 1'),
    queueFirstEverywhere: database.prepare(
      `INSERT INTO copy (backend_id, kind, object, state)
       SELECT id, ${COPIED.record}, ${NUMBER}, 0 FROM (SELECT height, transaction_index FROM occurrence WHERE version_hash = ? AND hash_type = ?
       ORDER BY height, transaction_index LIMIT ?) CROSS JOIN backend WHERE gets_documents = 1 ON CONFLICT DO NOTHING`,
    ),
    dueBetween: database
      .prepare(
        `SELECT (SELECT COUNT(*) FROM unwritten_record CROSS JOIN occurrence USING (height, transaction_index) ${HELD}
         WHERE unwritten_record.height BETWEEN @from AND @to AND content.state > 0)
       + (SELECT COUNT(*) FROM backend CROSS JOIN occurrence NOT INDEXED ${HELD}
         WHERE fill_until IS NOT NULL AND occurrence.height BETWEEN MAX(@from, fill_after >> 20) AND MIN(@to, fill_until)
           AND (occurrence.height << 20) + occurrence.transaction_index > fill_after AND content.state > 0)`,
      )
      .pluck(),
    forget: database.prepare('DELETE FROM unwritten_record WHERE height > ?'),
    forgetUnsaved: database.prepare(
      `DELETE FROM unwritten_record WHERE (height, transaction_index) IN
         (SELECT height, transaction_index FROM unwritten_record AS waiting CROSS JOIN occurrence USING (height, transaction_index)
          WHERE height <= (SELECT height FROM block WHERE median_time_seconds < @medianTimeSeconds ORDER BY height DESC LIMIT 1)
            AND NOT EXISTS (SELECT 1 FROM content WHERE content.version_hash = occurrence.version_hash
              AND content.hash_type = occurrence.hash_type) LIMIT @limit)`,
    ),
    forgetTexts: database.prepare(
      `UPDATE unwritten_record SET record = '${UNMADE_RECORD}' WHERE (height, transaction_index) IN
         (SELECT height, transaction_index FROM backend CROSS JOIN unwritten_record AS waiting
          WHERE backend.name = '${SPOOL}' AND gets_documents = 1 AND record <> '${UNMADE_RECORD}' AND ${hasIt} LIMIT ?)`,
    ),
    withdraw: database
      .prepare(
        `INSERT INTO withdrawn_occurrence (version_hash, hash_type, txid, vout, height, block_hash, withdrawn_ms, withdrawn_seconds)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING sequence`,
      )
      .pluck(),
    // CROSS: in this order. The outbox is small, and the planner cannot know it.
    due: database.prepare(
      `SELECT occurrence.height, occurrence.transaction_index, occurrence.version_hash, occurrence.hash_type, occurrence.txid,
         occurrence.vout, record, size_bytes, block.hash AS block_hash
       FROM copy CROSS JOIN unwritten_record ON unwritten_record.height = copy.object >> 20
         AND unwritten_record.transaction_index = copy.object & ${PLACES - 1}
       CROSS JOIN occurrence USING (height, transaction_index)
       CROSS JOIN block ON block.height = occurrence.height
       CROSS JOIN content ON content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type
       WHERE ${dueCopies(COPIED.record)} AND copy.object < (@finalHeight + 1) << 20
         AND content.state > 0 AND NOT EXISTS (${isToLose('copy.backend_id', 'occurrence.height', 'occurrence.txid', 'occurrence.vout')})
       ORDER BY copy.object LIMIT @limit`,
    ),
    written: database.prepare(
      `DELETE FROM copy WHERE backend_id = @backend AND kind = ${COPIED.record} AND object = @object
         AND EXISTS (SELECT 1 FROM block WHERE height = @height AND hash = @blockHash)
         AND NOT EXISTS (${isToLose('@backend', '@height', '@txid', '@vout')})`,
    ),
    writtenEverywhere: database.prepare(
      `DELETE FROM unwritten_record WHERE height = @height AND transaction_index = @index AND ${waitsNowhere(COPIED.record, '@object')}`,
    ),
    withdrawn: database.prepare(
      `SELECT sequence, height, version_hash, hash_type, txid, vout, block_hash
       FROM copy CROSS JOIN withdrawn_occurrence ON sequence = copy.object
       WHERE ${dueCopies(COPIED.withdrawn)} ORDER BY copy.object LIMIT @limit`,
    ),
    queuedAt: database.prepare(`SELECT object FROM ${queued} ORDER BY object LIMIT 1 OFFSET ?`).pluck(),
    highest: database.prepare(`SELECT MAX(object) >> 20 FROM ${queued}`).pluck(),
    unqueueAfter: database.prepare(`DELETE FROM ${queued} AND object > ?`),
    stretch: database.prepare(
      `UPDATE backend SET fill_after = MIN(COALESCE(fill_after, @after), @after),
         fill_until = MAX(COALESCE(fill_until, @until), @until) WHERE id = @id`,
    ),
    filling: database.prepare('SELECT fill_after, fill_until FROM backend WHERE id = ? AND fill_until IS NOT NULL'),
    filled: database.prepare(
      'UPDATE backend SET fill_after = @after, fill_until = CASE WHEN @after IS NULL THEN NULL ELSE fill_until END WHERE id = @id',
    ),
    // The columns besides MAX are those of the row that was withdrawn last.
    lately: database.prepare(
      `SELECT COUNT(*) AS count, MAX(withdrawn_seconds) AS seconds, version_hash, hash_type, txid, height
       FROM withdrawn_occurrence WHERE withdrawn_seconds > ?`,
    ),
    recorded: database
      .prepare(
        'SELECT version_hash FROM content WHERE version_hash > ? AND hash_type = ? AND state > 0 ORDER BY version_hash LIMIT ?',
      )
      .pluck(),
    earlier: database.prepare(
      `SELECT height, transaction_index, (SELECT COUNT(*) FROM (${before})) < @most AND EXISTS (SELECT 1 FROM content
         WHERE content.version_hash = occurrence.version_hash AND content.hash_type = occurrence.hash_type AND state > 0) AS is_recorded
       FROM occurrence WHERE (height, transaction_index) > (@height, @index) AND height <= @until
       ORDER BY height, transaction_index LIMIT @limit`,
    ),
  };
}
