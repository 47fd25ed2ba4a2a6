import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { AlertLedger, ToldCondition } from '../core/alerts/alert-ledger.ts';
import type { Tables } from './tables.ts';

const row = z.object({
  subject: z.string(),
  code: z.string(),
  severity: z.enum(['critical', 'error', 'warning']),
  amount: z.number().nullable(),
  since: z.string(),
});

/** What the receiver of alerts was told last, a row for each subject; each change is one durable transaction. */
export class ToldAlerts implements AlertLedger {
  readonly #tables: Tables;
  readonly #all: Database.Statement;
  readonly #put: Database.Statement;
  readonly #remove: Database.Statement;

  constructor(tables: Tables) {
    const { database } = tables;
    this.#tables = tables;
    this.#all = database.prepare('SELECT subject, code, severity, amount, since FROM told_alert');
    this.#put = database.prepare(
      `INSERT INTO told_alert (subject, code, severity, amount, since) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
       code = excluded.code, severity = excluded.severity, amount = excluded.amount, since = excluded.since`,
    );
    this.#remove = database.prepare('DELETE FROM told_alert WHERE subject = ?');
  }

  all(): Map<string, ToldCondition> {
    return this.#tables.reading('read what alerts were delivered', () => {
      const rows = this.#all.all().map((found) => row.parse(found));
      return new Map(rows.map(({ subject, ...told }) => [subject, told]));
    });
  }

  put(subject: string, { code, severity, amount, since }: ToldCondition): void {
    this.#tables.transaction('record a delivered alert', () => this.#put.run(subject, code, severity, amount, since));
  }

  remove(subject: string): void {
    this.#tables.transaction('record a delivered alert', () => this.#remove.run(subject));
  }
}
