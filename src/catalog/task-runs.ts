import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { Tables } from './tables.ts';

const row = z.object({
  begun_ms: z.number(),
  succeeded_ms: z.number().nullable(),
  outcome: z.enum(['never', 'running', 'succeeded', 'failed', 'interrupted']),
});

export interface RecordedRun {
  readonly begunMs: number;
  readonly succeededMs: number | null;
  readonly outcome: z.output<typeof row>['outcome'];
}

/** When scheduled tasks last ran; each row is one durable transaction. */
export class TaskRuns {
  readonly #tables: Tables;
  readonly #find: Database.Statement;
  readonly #put: Database.Statement;

  constructor(tables: Tables) {
    const { database } = tables;
    this.#tables = tables;
    this.#find = database.prepare('SELECT begun_ms, succeeded_ms, outcome FROM task_run WHERE task = ?');
    this.#put = database.prepare(
      `INSERT INTO task_run (task, begun_ms, succeeded_ms, outcome) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
       begun_ms = excluded.begun_ms, succeeded_ms = excluded.succeeded_ms, outcome = excluded.outcome`,
    );
  }

  find(task: string): RecordedRun | null {
    return this.#tables.reading('read when a task last ran', () => {
      const found = this.#find.get(task);
      if (found === undefined) return null;
      const { begun_ms: begunMs, succeeded_ms: succeededMs, outcome } = row.parse(found);
      return { begunMs, succeededMs, outcome };
    });
  }

  put(task: string, { begunMs, succeededMs, outcome }: RecordedRun): void {
    this.#tables.transaction('record a run of a task', () => this.#put.run(task, begunMs, succeededMs, outcome));
  }
}
