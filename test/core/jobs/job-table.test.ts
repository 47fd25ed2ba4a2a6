import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JobContext, JobKind, JobOutcome } from '../../../src/core/jobs/job-kind.ts';
import { JobTable } from '../../../src/core/jobs/job-table.ts';

const log = pino({ level: 'silent' });
const never = new AbortController().signal;

/** A kind whose end and events the test controls. */
class HeldKind implements JobKind<{ size: number }> {
  readonly kind = 'held';
  readonly parameters = z.strictObject({ size: z.int('must be whole').default(1) });
  readonly sizes: number[] = [];
  context: JobContext | null = null;
  #end = Promise.withResolvers<JobOutcome>();

  async run({ size }: { size: number }, context: JobContext): Promise<JobOutcome> {
    this.sizes.push(size);
    this.context = context;
    this.#end = Promise.withResolvers();
    const stop = () => this.#end.reject(new Error('a fault that comes of being stopped'));
    context.signal.addEventListener('abort', stop, { once: true });
    return await this.#end.promise;
  }

  end(outcome: JobOutcome): void {
    this.#end.resolve(outcome);
  }

  fail(error: Error): void {
    this.#end.reject(error);
  }
}

function tableWith(...more: JobKind[]) {
  const held = new HeldKind();
  return { held, table: new JobTable([held, ...more], { log, nowMs: () => 1_767_225_600_000 }) };
}

async function linesOf(table: JobTable, id: string): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  for await (const line of table.follow(id, never)) {
    lines.push(z.record(z.string(), z.unknown()).parse(JSON.parse(line)));
  }
  return lines;
}

describe('a job', () => {
  test('every watcher sees the job’s events from the start and its outcome last', async () => {
    const { held, table } = tableWith();
    const id = table.start('held', { size: 3 });
    held.context?.report({ event: 'progress', done: 1 });
    const early = linesOf(table, id);
    held.context?.report({ event: 'progress', done: 2 });
    held.end({ exitCode: 3, missing: ['a'] });
    const told = [
      { event: 'started', job: id, kind: 'held' },
      { event: 'progress', done: 1 },
      { event: 'progress', done: 2 },
      {
        event: 'ended',
        id,
        kind: 'held',
        state: 'done',
        startedAt: '2026-01-01T00:00:00.000Z',
        endedAt: '2026-01-01T00:00:00.000Z',
        outcome: { exitCode: 3, missing: ['a'] },
        failure: null,
      },
    ];
    expect(await early).toEqual(told);
    expect(await linesOf(table, id)).toEqual(told);
    expect(held.sizes).toEqual([3]);
  });

  test('a job that throws has failed with its message, and a cancelled one is cancelled whatever it throws', async () => {
    const { held, table } = tableWith();
    const failing = table.start('held', {});
    held.fail(new Error('no room'));
    expect((await linesOf(table, failing)).at(-1)).toMatchObject({ state: 'failed', failure: { message: 'no room' } });
    const second = table.start('held', {});
    expect(table.cancel(second).state).toBe('running');
    expect((await linesOf(table, second)).at(-1)).toMatchObject({
      state: 'cancelled',
      failure: { code: 'jobs/cancelled', message: 'It was cancelled.' },
    });
    expect(table.cancel(second).state).toBe('cancelled');
    expect(table.list().map(({ state }) => state)).toEqual(['failed', 'cancelled']);
  });

  test('a job that throws before its first await has failed', async () => {
    const broken: JobKind = {
      kind: 'broken',
      parameters: z.strictObject({}),
      run: () => {
        throw new Error('broken');
      },
    };
    const { table } = tableWith(broken);
    expect((await linesOf(table, table.start('broken', {}))).at(-1)).toMatchObject({ state: 'failed' });
  });

  test('a job with an event that is no JSON has failed', async () => {
    const wrong: JobKind = {
      kind: 'wrong',
      parameters: z.strictObject({}),
      async run(_parameters, { report }) {
        report({ event: 'progress', done: 1n });
        return { exitCode: 0 };
      },
    };
    const { table } = tableWith(wrong);
    expect((await linesOf(table, table.start('wrong', {}))).at(-1)).toMatchObject({
      state: 'failed',
      failure: { code: 'jobs/bad-event' },
    });
  });

  test('the log keeps the newest of many events and counts the dropped ones', async () => {
    const { held, table } = tableWith();
    const id = table.start('held', {});
    for (let done = 1; done <= 2_000; done += 1) held.context?.report({ event: 'progress', done });
    held.end({ exitCode: 0 });
    const lines = await linesOf(table, id);
    expect(lines[0]).toEqual({ event: 'skipped', count: 1_001 });
    expect(lines[1]).toEqual({ event: 'progress', done: 1_001 });
    expect(lines).toHaveLength(1_002);
  });

  test('the log keeps as many long events as fit', async () => {
    const { held, table } = tableWith();
    const id = table.start('held', {});
    for (let done = 1; done <= 30; done += 1) held.context?.report({ event: 'progress', text: 'x'.repeat(100_000) });
    held.end({ exitCode: 0 });
    const chars = (await linesOf(table, id)).reduce((sum, line) => sum + JSON.stringify(line).length, 0);
    expect(chars).toBeGreaterThan(900_000);
    expect(chars).toBeLessThan(1_100_000);
  });

  test('an aborted watcher ends alone, and the job goes on', async () => {
    const { held, table } = tableWith();
    const id = table.start('held', {});
    const leaving = new AbortController();
    const watching = Array.fromAsync(table.follow(id, leaving.signal));
    leaving.abort();
    expect(await watching).toHaveLength(1);
    expect(table.find(id).state).toBe('running');
    held.end({ exitCode: 0 });
    expect((await linesOf(table, id)).at(-1)).toMatchObject({ state: 'done' });
  });
});

describe('the job table', () => {
  test('the table refuses unknown kinds, wrong parameters, and a second job of one kind', () => {
    const { held, table } = tableWith();
    const codeOf = (kind: string, parameters: unknown) => {
      try {
        table.start(kind, parameters);
      } catch (error) {
        return error;
      }
      return null;
    };
    expect(codeOf('other', {})).toMatchObject({ code: 'jobs/unknown-kind', details: { kinds: ['held'] } });
    expect(codeOf('held', { size: 1.5 })).toMatchObject({
      code: 'jobs/bad-parameters',
      message: 'The field size: must be whole.',
      details: { field: 'size' },
    });
    expect(codeOf('held', { siez: 1 })).toMatchObject({ code: 'jobs/bad-parameters', details: { field: 'siez' } });
    expect(codeOf('held', [])).toMatchObject({ code: 'jobs/bad-parameters', details: { field: '' } });
    expect(codeOf('__proto__', {})).toMatchObject({ code: 'jobs/unknown-kind' });
    const id = table.start('held', {});
    expect(codeOf('held', {})).toMatchObject({ code: 'jobs/busy', details: { job: id } });
    expect(held.sizes).toEqual([1]);
    expect(() => table.find('held-000000000000')).toThrow('no such job');
    expect(() => table.follow('held-000000000000', never)).toThrow('no such job');
  });

  test('the table keeps the newest report of a kind, and the exit code of older ones', async () => {
    const { held, table } = tableWith();
    const first = table.start('held', {});
    held.end({ exitCode: 3, report: 'long' });
    await linesOf(table, first);
    const second = table.start('held', {});
    expect(table.find(first).outcome).toEqual({ exitCode: 3 });
    held.end({ exitCode: 0, report: 'longer' });
    await linesOf(table, second);
    expect(table.find(second).outcome).toEqual({ exitCode: 0, report: 'longer' });
    expect((await linesOf(table, first)).map(({ event }) => event)).toEqual(['skipped', 'ended']);
  });

  test('a stopping table cancels the running jobs, waits for them, and starts no other', async () => {
    const { table } = tableWith();
    const id = table.start('held', {});
    await table.stop();
    expect(table.find(id)).toMatchObject({ state: 'cancelled', failure: { message: 'The daemon stopped.' } });
    expect(() => table.start('held', {})).toThrow('The daemon stops.');
  });

  test('a refusing table lets the running jobs continue', async () => {
    const { held, table } = tableWith();
    const id = table.start('held', {});
    table.refuse('It is drained.');
    expect(() => table.start('held', {})).toThrow('It is drained.');
    held.end({ exitCode: 0 });
    await linesOf(table, id);
    table.refuse(null);
    expect(table.start('held', {})).toMatch(/^held-[0-9a-f]{12}$/);
  });

  test('the table forgets the oldest of many jobs', async () => {
    const quick: JobKind = { kind: 'quick', parameters: z.strictObject({}), run: async () => ({ exitCode: 0 }) };
    const { table } = tableWith(quick);
    for (let run = 0; run < 80; run += 1) await linesOf(table, table.start('quick', {}));
    expect(table.list().length).toBeLessThanOrEqual(65);
  });
});
