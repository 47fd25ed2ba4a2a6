import { z } from 'zod';
import type { Tables } from './tables.ts';

const run = z.object({
  begunMs: z.number(),
  succeededMs: z.number().nullable(),
  outcome: z.enum(['never', 'running', 'succeeded', 'failed', 'interrupted']),
});

export type RecordedRun = Readonly<z.output<typeof run>>;

/** When scheduled tasks last ran; each record is one durable transaction. */
export class TaskRuns {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  find(task: string): RecordedRun | null {
    const { facts, reading } = this.#tables;
    return reading('read when a task last ran', () => facts.get(`task/${task}`, run));
  }

  put(task: string, { begunMs, succeededMs, outcome }: RecordedRun): void {
    const { facts, transaction } = this.#tables;
    transaction('record a run of a task', () => facts.put(`task/${task}`, { begunMs, succeededMs, outcome }));
  }
}
