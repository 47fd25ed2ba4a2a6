import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { BlockHash, TxId } from '../core/blob/ids.ts';
import { SPOOL } from './placement-table.ts';
import { hashKey } from './wanted-table.ts';

/** Stands for a record that is to be made from its block once there is something to write it for. */
export const UNMADE_RECORD = '';

/** Records that no store waits for. */
const FORGET_UNASKED = `DELETE FROM unwritten_record WHERE NOT EXISTS (SELECT 1 FROM record_task
  WHERE record_task.height = unwritten_record.height AND record_task.transaction_index = unwritten_record.transaction_index)`;

/** SQL: the store is to lose an earlier record of this name. Looked up by height: few are withdrawn at one height. */
export function isToLose(storeId: string, height: string, txid: string, vout: string): string {
  return `SELECT 1 FROM withdrawn_occurrence AS earlier INDEXED BY withdrawn_by_height
    CROSS JOIN withdrawn_task AS task ON task.sequence = earlier.sequence AND task.store_id = ${storeId}
    WHERE earlier.height = ${height} AND earlier.txid = ${txid} AND earlier.vout = ${vout}`;
}

const placeRow = z.object({ height: z.number(), transaction_index: z.number() });
const numbered = z.array(z.object({ id: z.number(), name: z.string() }));

/** A record that a store has, and the block that it speaks of. */
export interface WrittenRecord {
  readonly height: number;
  readonly transactionIndex: number;
  readonly txid: TxId;
  readonly vout: number;
  readonly blockHash: BlockHash;
}

/** Which store with names has still to get, or to lose, which record. The caller owns the transactions. */
export class RecordTasks {
  readonly #database: Database.Database;
  readonly #queueRecord: Database.Statement;
  readonly #unqueueOthers: Database.Statement;
  readonly #queueTask: Database.Statement;
  readonly #isQueued: Database.Statement;
  readonly #written: Database.Statement;
  readonly #forgetTexts: Database.Statement;
  readonly #done: Database.Statement;
  readonly #taskAt: Database.Statement;
  readonly #highest: Database.Statement;
  readonly #unqueueAfter: Database.Statement;
  readonly #stretch: Database.Statement;
  readonly #filling: Database.Statement;
  readonly #filled: Database.Statement;
  readonly #deleted: Database.Statement;
  readonly #deletedEverywhere: Database.Statement;
  #ids: ReadonlyMap<string, number>;

  constructor(database: Database.Database) {
    this.#database = database;
    this.#queueRecord = database.prepare(
      `INSERT INTO unwritten_record (height, transaction_index, record) VALUES (?, ?, '${UNMADE_RECORD}') ON CONFLICT DO NOTHING`,
    );
    this.#unqueueOthers = database.prepare(
      'DELETE FROM record_task WHERE height = ? AND transaction_index = ? AND store_id <> ?',
    );
    this.#queueTask = database.prepare(
      'INSERT INTO record_task (height, transaction_index, store_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#isQueued = database.prepare(
      'SELECT 1 FROM record_task WHERE height = ? AND transaction_index = ? AND store_id = ?',
    );
    this.#written = database.prepare(
      `DELETE FROM record_task WHERE height = @height AND transaction_index = @index AND store_id = @id
         AND EXISTS (SELECT 1 FROM block WHERE height = @height AND hash = @blockHash)
         AND NOT EXISTS (${isToLose('@id', '@height', '@txid', '@vout')})`,
    );
    this.#forgetTexts = database.prepare(
      `UPDATE unwritten_record SET record = '${UNMADE_RECORD}' WHERE (height, transaction_index) IN
         (SELECT height, transaction_index FROM record_store CROSS JOIN unwritten_record AS waiting
          WHERE record_store.id = ? AND record <> '${UNMADE_RECORD}' AND NOT EXISTS (SELECT 1 FROM record_task
            WHERE record_task.height = waiting.height AND record_task.transaction_index = waiting.transaction_index
              AND store_id = record_store.id) LIMIT ?)`,
    );
    this.#done = database.prepare(
      `DELETE FROM unwritten_record WHERE height = @height AND transaction_index = @index AND NOT EXISTS
         (SELECT 1 FROM record_task WHERE height = @height AND transaction_index = @index)`,
    );
    this.#taskAt = database.prepare(
      'SELECT height, transaction_index FROM record_task WHERE store_id = ? ORDER BY height, transaction_index LIMIT 1 OFFSET ?',
    );
    this.#highest = database.prepare('SELECT MAX(height) FROM record_task WHERE store_id = ?').pluck();
    this.#unqueueAfter = database.prepare(
      'DELETE FROM record_task WHERE store_id = ? AND (height, transaction_index) > (?, ?)',
    );
    const isBehind = 'fill_until IS NULL OR (fill_height, fill_index) > (@height, @index)';
    this.#stretch = database.prepare(
      `UPDATE record_store SET fill_height = CASE WHEN ${isBehind} THEN @height ELSE fill_height END,
       fill_index = CASE WHEN ${isBehind} THEN @index ELSE fill_index END,
       fill_until = MAX(COALESCE(fill_until, @until), @until) WHERE id = @id`,
    );
    this.#filling = database.prepare(
      'SELECT fill_height, fill_index, fill_until FROM record_store WHERE id = ? AND fill_until IS NOT NULL',
    );
    this.#filled = database.prepare(
      'UPDATE record_store SET fill_height = @height, fill_index = @index, fill_until = CASE WHEN @height IS NULL THEN NULL ELSE fill_until END WHERE id = @id',
    );
    this.#deleted = database.prepare('DELETE FROM withdrawn_task WHERE store_id = ? AND sequence = ?');
    this.#deletedEverywhere = database.prepare(
      'UPDATE withdrawn_occurrence SET deleted_ms = ? WHERE sequence = ? AND NOT EXISTS (SELECT 1 FROM withdrawn_task WHERE sequence = ?)',
    );
    this.#ids = this.#known();
  }

  useStores(names: readonly string[]): void {
    const database = this.#database;
    const now = JSON.stringify(names);
    const gone = 'SELECT id FROM record_store WHERE name NOT IN (SELECT value FROM json_each(@now))';
    database.prepare(`DELETE FROM record_task WHERE store_id IN (${gone})`).run({ now });
    database.prepare(`DELETE FROM withdrawn_task WHERE store_id IN (${gone})`).run({ now });
    const isLeft = database.prepare(`DELETE FROM record_store WHERE id IN (${gone})`).run({ now }).changes > 0;
    if (isLeft) database.exec(FORGET_UNASKED);
    const add = database.prepare(
      `INSERT INTO record_store (name, fill_height, fill_index, fill_until)
       VALUES (?, -1, -1, (SELECT COALESCE(MAX(height), -1) FROM occurrence)) ON CONFLICT DO NOTHING RETURNING id`,
    );
    // What was withdrawn may still lie where somebody was away, or not configured, when it was.
    const withdraw = database.prepare(
      'INSERT INTO withdrawn_task (store_id, sequence) SELECT ?, sequence FROM withdrawn_occurrence',
    );
    for (const name of names) {
      const id = add.pluck().get(name);
      if (id !== undefined) withdraw.run(id);
    }
    this.#ids = this.#known();
  }

  id(store: string): number {
    const id = this.#ids.get(store);
    if (id === undefined) throw new RangeError(`store ${store} gets no records`);
    return id;
  }

  /** To this store alone: whoever else is to get it was told before. */
  queue(id: number, height: number, index: number): void {
    if (this.#queueRecord.run(height, index).changes === 1) this.#unqueueOthers.run(height, index, id);
    this.#queueTask.run(height, index, id);
  }

  isQueued(id: number, height: number, index: number): boolean {
    return this.#isQueued.get(height, index, id) !== undefined;
  }

  written(id: number, { height, transactionIndex: index, txid, vout, blockHash }: WrittenRecord): void {
    this.#written.run({ id, height, index, txid: hashKey(txid), vout, blockHash: hashKey(blockHash) });
    this.#done.run({ height, index });
  }

  /** What the data folder has is read there for a store that is away: its text need not be held. Gives how many went. */
  forgetTexts(limit: number): number {
    return this.#forgetTexts.run(this.#ids.get(SPOOL) ?? null, limit).changes;
  }

  /**
   * Behind the first so many of a store that has more than twice as many, a stretch of the chain stands for them. Gives
   * how many went.
   */
  bound(tasks: number): number {
    let gone = 0;
    for (const id of this.#ids.values()) {
      const after = (offset: number) => this.#taskAt.get(id, offset);
      if (after(2 * tasks) === undefined) continue;
      const from = placeRow.parse(after(tasks - 1));
      const until = z.number().parse(this.#highest.get(id));
      this.#stretch.run({ id, height: from.height, index: from.transaction_index, until });
      gone += this.#unqueueAfter.run(id, from.height, from.transaction_index).changes;
      this.#database.exec(FORGET_UNASKED);
    }
    return gone;
  }

  /** undefined: there is nothing more to give it from before. */
  filling(id: number): unknown {
    return this.#filling.get(id);
  }

  /** null: to the end. */
  filled(id: number, height: number | null, index: number | null): void {
    this.#filled.run({ id, height, index });
  }

  deleted(id: number, sequence: number, nowMs: number): void {
    this.#deleted.run(id, sequence);
    this.#deletedEverywhere.run(nowMs, sequence, sequence);
  }

  #known(): ReadonlyMap<string, number> {
    const rows = numbered.parse(this.#database.prepare('SELECT id, name FROM record_store').all());
    return new Map(rows.map(({ id, name }) => [name, id]));
  }
}
