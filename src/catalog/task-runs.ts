import { z } from 'zod';
import type { Tables } from './tables.ts';

const run = z
  .object({
    // A catalog of an earlier build does not say it.
    scheduledMs: z.number().optional(),
    begunMs: z.number(),
    succeededMs: z.number().nullable(),
    outcome: z.enum(['never', 'running', 'succeeded', 'failed', 'interrupted']),
    // Neither this.
    hasFailed: z.boolean().optional(),
  })
  .transform(({ scheduledMs, hasFailed, ...known }) => ({
    scheduledMs: scheduledMs ?? known.begunMs,
    hasFailed: hasFailed ?? known.outcome === 'failed',
    ...known,
  }));

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

  put(task: string, { scheduledMs, begunMs, succeededMs, outcome, hasFailed }: RecordedRun): void {
    const { facts, transaction } = this.#tables;
    transaction('record a run of a task', () =>
      facts.put(`task/${task}`, { scheduledMs, begunMs, succeededMs, outcome, hasFailed }),
    );
  }
}
