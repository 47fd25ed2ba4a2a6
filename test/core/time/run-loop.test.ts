import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConditionBoard } from '../../../src/core/conditions/condition-board.ts';
import { Notifier } from '../../../src/core/notifier.ts';
import { createLogger } from '../../../src/core/observability/logger.ts';
import { BACKOFF, backoffMs, longestBackoffMs } from '../../../src/core/time/backoff.ts';
import { LONGEST_SLEEP_MS, type Next, pause, pollUntil, retryUntil, runLoop } from '../../../src/core/time/run-loop.ts';

const AT_ONCE = { firstMs: 1, maxMs: 1 };

function board(): ConditionBoard {
  return new ConditionBoard(createLogger('silent', { write: () => {} }), () => 0);
}

/** Notes every pause and ends it at once. */
class NotedPauses extends Notifier {
  readonly pauses: number[] = [];

  override async wait(ms: number): Promise<void> {
    this.pauses.push(ms);
  }
}

describe('backoffMs', () => {
  test('doubles with each failure in a row up to the cap', () => {
    const pauses = [1, 2, 3, 4, 40].map((failures) => backoffMs({ firstMs: 100, maxMs: 500 }, failures, () => 0.5));
    expect(pauses).toEqual([100, 200, 400, 500, 500]);
  });

  test('spreads each pause by a quarter to either side', () => {
    const policy = { firstMs: 1_000, maxMs: 1_000 };
    expect([0, 1].map((random) => backoffMs(policy, 1, () => random))).toEqual([750, 1_250]);
    expect(longestBackoffMs(policy)).toBe(1_250);
  });

  test.each(Object.entries(BACKOFF))('the policy %s begins below its cap', (_name, { firstMs, maxMs }) => {
    expect(firstMs).toBeGreaterThan(0);
    expect(firstMs).toBeLessThanOrEqual(maxMs);
  });
});

describe('runLoop', () => {
  test('reports a step that throws an unexpected error, and goes on', async () => {
    const conditions = board();
    const raised: (string | undefined)[] = [];
    let steps = 0;
    const step = (): Next => {
      raised.push(conditions.all()[0]?.code);
      steps += 1;
      if (steps === 1) throw new TypeError('nobody expected this');
      return steps === 3 ? 'done' : 0;
    };
    await runLoop('fetch', step, { signal: new AbortController().signal, backoff: AT_ONCE, conditions });
    expect(raised).toEqual([undefined, 'archive/unexpected', undefined]);
    expect(conditions.all()).toEqual([]);
  });

  test('pauses longer after each failure in a row, and starts over after a success', async () => {
    const wake = new NotedPauses();
    const fates = ['fail', 'fail', 'fail', 'well', 'fail', 'end'];
    const step = (): Next => {
      const fate = fates.shift();
      if (fate === 'fail') throw new Error(fate);
      return fate === 'end' ? 'done' : 7;
    };
    const policy = { signal: new AbortController().signal, backoff: { firstMs: 1_000, maxMs: 3_000 }, wake };
    await runLoop('fetch', step, { ...policy, tell: () => {} });
    const [first = 0, second = 0, third = 0, idle, again = 0] = wake.pauses;
    expect(idle).toBe(7);
    for (const [is, about] of [
      [first, 1_000],
      [second, 2_000],
      [third, 3_000],
      [again, 1_000],
    ] as const)
      expect(Math.abs(is - about)).toBeLessThanOrEqual(about / 4);
  });

  test('loses no ring that comes during a step', async () => {
    const wake = new NotedPauses();
    let steps = 0;
    const step = (): Next => {
      steps += 1;
      if (steps === 1) wake.notify();
      return steps === 3 ? 'done' : 60_000;
    };
    await runLoop('fetch', step, { signal: new AbortController().signal, backoff: AT_ONCE, wake, tell: () => {} });
    expect(wake.pauses).toEqual([60_000]);
  });

  test('rests after a step that failed though it rang', async () => {
    const wake = new NotedPauses();
    let steps = 0;
    const step = (): Next => {
      steps += 1;
      wake.notify();
      if (steps === 1) throw new Error('it failed');
      return 'done';
    };
    await runLoop('fetch', step, { signal: new AbortController().signal, backoff: AT_ONCE, wake, tell: () => {} });
    expect(wake.pauses).toHaveLength(1);
  });

  test.each(['step', 'pause'])('ends with its signal in the midst of a %s', async (where) => {
    const stopping = new AbortController();
    const { signal } = stopping;
    const told: unknown[] = [];
    const step = async (): Promise<Next> => {
      setImmediate(() => stopping.abort());
      if (where === 'step') await pause(60_000, signal);
      return 60_000;
    };
    await runLoop('fetch', step, { signal, backoff: AT_ONCE, tell: (error) => told.push(error) });
    expect(told.filter((error) => error !== null)).toEqual([]);
  });
});

describe('retryUntil', () => {
  test('gives the result of the first try that succeeds', async () => {
    let tries = 0;
    const work = async () => {
      tries += 1;
      if (tries < 3) throw new Error('not yet');
      return tries;
    };
    const policy = { signal: new AbortController().signal, backoff: AT_ONCE, conditions: board() };
    expect(await retryUntil('store', work, policy)).toBe(3);
  });

  test('rejects with a final error at once, and with the reason of its signal', async () => {
    const final = new Error('it will never be');
    const fails = () => Promise.reject(final);
    const stopping = new AbortController();
    const policy = { signal: stopping.signal, backoff: AT_ONCE, conditions: board() };
    await expect(retryUntil('store', fails, { ...policy, isFinal: () => true })).rejects.toBe(final);
    const waiting = retryUntil('store', fails, policy);
    const reason = new Error('stopped');
    stopping.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});

describe('pollUntil', () => {
  test('looks until there is an answer', async () => {
    let looks = 0;
    const look = () => {
      looks += 1;
      return looks === 3 ? 'here' : null;
    };
    expect(await pollUntil(look, () => 1, new AbortController().signal)).toBe('here');
  });
});

describe('a notifier that follows others', () => {
  test('notifies with each of them, and none of them with it', () => {
    const [one, other] = [new Notifier(), new Notifier()];
    const both = Notifier.following(one, other);
    const last = Notifier.following(both);
    one.notify();
    other.notify();
    both.notify();
    expect([one, other, both, last].map(({ notifications }) => notifications)).toEqual([1, 1, 3, 3]);
  });

  test('loses no work that is queued at any turn of a step, though the loop never looks by itself', async () => {
    const turns = fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(turns, turns, fc.nat({ max: 4 }), async (arrivals, works, gap) => {
        const queued = new Notifier();
        const wake = Notifier.following(queued);
        const queue: number[] = [];
        const done: number[] = [];
        const stopping = new AbortController();
        const { signal } = stopping;
        const step = async (): Promise<Next> => {
          await turnsPass(works[done.length % works.length] ?? 0);
          const next = queue.shift();
          await turnsPass(gap);
          if (next === undefined) return LONGEST_SLEEP_MS;
          done.push(next);
          if (done.length === arrivals.length) stopping.abort();
          return queue.length > 0 ? 0 : LONGEST_SLEEP_MS;
        };
        const running = runLoop('fetch', step, { signal, backoff: AT_ONCE, wake, conditions: board() });
        for (const [index, pauses] of arrivals.entries()) {
          await turnsPass(pauses);
          queue.push(index);
          queued.notify();
        }
        await running;
        expect(done).toEqual(arrivals.map((_, index) => index));
      }),
      { numRuns: 200 },
    );
  });
});

/** Turns of the queue of promises. */
async function turnsPass(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
}
