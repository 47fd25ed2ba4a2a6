import { z } from 'zod';
import { RETENTION_SECONDS } from '../core/blob/limits.ts';
import { COPIED } from './copy-table.ts';
import type { LeftOutLedger } from './left-out-ledger.ts';
import { SPOOL } from './placement-table.ts';
import type { RecordOutbox } from './record-outbox.ts';
import type { Tables } from './tables.ts';

export interface TableLimits {
  /** Number of names of evicted bytes that are kept, the newest first. */
  readonly evictedUnmined: number;
  /** Records that wait for one store each by itself. */
  readonly recordTasks: number;
  /** Reports of one kind, the newest: the data folder keeps all of them as files. */
  readonly reports: number;
  /** Rows that one statement deletes: everything else waits for it. */
  readonly atOnce: number;
}

export const TABLE_LIMITS: TableLimits = {
  evictedUnmined: 65_536,
  recordTasks: 10_000,
  reports: 1_000,
  atOnce: 50_000,
};

/** On the chain's clock. What no list names for so long is not mined any more: a node forgets it after 14 days. */
const DROPPED_SECONDS = 15 * 86_400;
/** The blob is listed no more and never came; when its bytes turn up, its records are queued again. */
const UNSAVED_SECONDS = 2 * RETENTION_SECONDS;
const REPORT_FOLDERS = ['audits', 'outages'] as const;

const FORGOTTEN = 'evicted-unmined-forgotten';
const forgotten = z.object({ count: z.number(), bytes: z.number(), newestMs: z.number() });
const gone = z.object({ count: z.number(), bytes: z.number().nullable(), newest: z.number().nullable() });

/**
 * Keeps within bounds what would grow for ever and is not the index of what is on chain: names of free spam, queues of a
 * store that is away for months, reports. Each kind in a transaction of its own.
 */
export class BoundedTables {
  readonly #tables: Tables;
  readonly #records: RecordOutbox;
  readonly #leftOut: Pick<LeftOutLedger, 'forgetUnmined'>;

  constructor(tables: Tables, records: RecordOutbox, leftOut: Pick<LeftOutLedger, 'forgetUnmined'>) {
    this.#tables = tables;
    this.#records = records;
    this.#leftOut = leftOut;
  }

  /** Gives how many rows went, by what they were. */
  enforce(limits: TableLimits = TABLE_LIMITS): Readonly<Record<string, number>> {
    const { transaction, seen } = this.#tables;
    const records = this.#records;
    const { atOnce } = limits;
    const tip = this.#tipMedianSeconds();
    return {
      evictedUnmined: transaction('forget unmined bytes that were evicted long ago', () =>
        this.#forgetEvictedUnmined(limits),
      ),
      recordTasks: transaction('give a stretch for single records', () => records.bound(limits.recordTasks)),
      recordTexts: transaction('leave texts of records to the data folder', () => records.forgetTexts(atOnce)),
      reports: transaction('leave old reports to the data folder', () => this.#leaveReports(limits)),
      dropped: transaction('forget what was dropped', () => seen.forgetDropped(tip - DROPPED_SECONDS, atOnce)),
      leftOutUnmined: transaction('forget what a rule left out and no block has', () =>
        this.#leftOut.forgetUnmined(tip - DROPPED_SECONDS, atOnce),
      ),
      unsavedRecords: transaction('forget records of what was not saved', () =>
        records.forgetUnsaved(tip - UNSAVED_SECONDS, atOnce),
      ),
    };
  }

  #tipMedianSeconds(): number {
    const newest = this.#tables.database.prepare('SELECT median_time_seconds FROM block ORDER BY height DESC LIMIT 1');
    return z.number().parse(newest.pluck().get() ?? 0);
  }

  /** The oldest arrivals go; that there were so many stays. The newest stays, whose number is never given again. */
  #forgetEvictedUnmined({ evictedUnmined, atOnce }: TableLimits): number {
    const last = this.#tables.database
      .prepare('SELECT sequence FROM evicted_unmined ORDER BY sequence DESC LIMIT 1 OFFSET ?')
      .pluck()
      .get(Math.max(1, evictedUnmined));
    if (last === undefined) return 0;
    const which = '(SELECT sequence FROM evicted_unmined WHERE sequence <= ? ORDER BY sequence LIMIT ?)';
    const { count, bytes, newest } = gone.parse(
      this.#tables.database
        .prepare(
          `SELECT COUNT(*) AS count, SUM(size_bytes) AS bytes, MAX(evicted_ms) AS newest FROM evicted_unmined WHERE sequence IN ${which}`,
        )
        .get(last, atOnce),
    );
    this.#tables.database.prepare(`DELETE FROM evicted_unmined WHERE sequence IN ${which}`).run(last, atOnce);
    const before = this.#tables.facts.get(FORGOTTEN, forgotten) ?? { count: 0, bytes: 0, newestMs: 0 };
    this.#tables.facts.put(FORGOTTEN, {
      count: before.count + count,
      bytes: before.bytes + (bytes ?? 0),
      newestMs: Math.max(before.newestMs, newest ?? 0),
    });
    return count;
  }

  /** A later report says all that an older one says of what is still so. Never before the data folder has it. */
  #leaveReports({ reports }: TableLimits): number {
    const leave = this.#tables.database.prepare(
      `DELETE FROM evidence WHERE path > @folder || '/'
       AND path <= (SELECT path FROM evidence WHERE path > @folder || '/' AND path < @folder || '0' ORDER BY path DESC LIMIT 1 OFFSET @reports)
       AND EXISTS (SELECT 1 FROM backend WHERE name = '${SPOOL}' AND gets_documents = 1 AND NOT EXISTS
         (SELECT 1 FROM copy WHERE backend_id = backend.id AND kind = ${COPIED.evidence} AND object = evidence.sequence))`,
    );
    return REPORT_FOLDERS.reduce((gone, folder) => gone + leave.run({ folder, reports }).changes, 0);
  }
}
