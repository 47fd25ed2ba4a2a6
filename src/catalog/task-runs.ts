import type Database from 'better-sqlite3';
import { z } from 'zod';

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

interface RunParts {
  readonly reading: <T>(operation: string, work: () => T) => T;
  readonly transaction: <T>(operation: string, work: () => T) => T;
}

/** When scheduled tasks last ran; each row is one durable transaction. */
export class TaskRuns {
  readonly #parts: RunParts;
  readonly #find: Database.Statement;
  readonly #put: Database.Statement;

  constructor(database: Database.Database, parts: RunParts) {
    this.#parts = parts;
    this.#find = database.prepare('SELECT begun_ms, succeeded_ms, outcome FROM task_run WHERE task = ?');
    this.#put = database.prepare(
      `INSERT INTO task_run (task, begun_ms, succeeded_ms, outcome) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
       begun_ms = excluded.begun_ms, succeeded_ms = excluded.succeeded_ms, outcome = excluded.outcome`,
    );
  }

  find(task: string): RecordedRun | null {
    return this.#parts.reading('read when a task last ran', () => {
      const found = this.#find.get(task);
      if (found === undefined) return null;
      const { begun_ms: begunMs, succeeded_ms: succeededMs, outcome } = row.parse(found);
      return { begunMs, succeededMs, outcome };
    });
  }

  put(task: string, { begunMs, succeededMs, outcome }: RecordedRun): void {
    this.#parts.transaction('record a run of a task', () => this.#put.run(task, begunMs, succeededMs, outcome));
  }
}
