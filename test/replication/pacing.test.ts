import { setTimeout as elapse } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { firstGood } from '../../src/core/first-good.ts';
import { Bandwidth } from '../../src/replication/bandwidth.ts';
import { BREAKER, CircuitBreaker } from '../../src/replication/circuit-breaker.ts';
import { NEVER } from '../sample-blobs.ts';

describe('the breaker', () => {
  const breaker = () => new CircuitBreaker({ ...BREAKER, random: () => 0.5 });

  test('opens after five failures in a row, and lets one try through after its pause', () => {
    const one = breaker();
    for (let failure = 0; failure < 4; failure += 1) one.failed(0);
    expect(one.admits(0)).toBe(true);
    one.failed(0);
    expect([one.admits(0), one.admits(999), one.isOpen(999)]).toEqual([false, false, true]);
    expect([one.admits(1_000), one.admits(1_000)]).toEqual([true, false]);
  });

  test('each failed try doubles the pause, up to half a minute; what was under way when it opened does not', () => {
    const one = breaker();
    for (let failure = 0; failure < 12; failure += 1) one.failed(0);
    expect(one.openUntilMs).toBe(1_000);
    const pauses: number[] = [];
    for (let now = 0, tries = 0; tries < 8; tries += 1) {
      now = one.openUntilMs;
      expect(one.admits(now)).toBe(true);
      one.failed(now);
      pauses.push(one.openUntilMs - now);
    }
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000]);
  });

  test('a success closes it; a try that was not made can be made', () => {
    const one = breaker();
    for (let failure = 0; failure < 5; failure += 1) one.failed(0);
    expect(one.admits(1_000)).toBe(true);
    one.notTried();
    expect(one.admits(1_000)).toBe(true);
    one.succeeded();
    expect([one.isOpen(1_000), one.admits(1_000), one.openUntilMs]).toEqual([false, true, 0]);
  });
});

describe('the bandwidth', () => {
  test('one blob of the largest size goes at once, then the rate counts', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let now = 0;
    const mib = 1_048_576;
    const bandwidth = new Bandwidth(100 * mib, { steadyMs: () => now });
    const passed = (ms: number) => {
      now += ms;
      vi.advanceTimersByTime(ms);
    };
    await bandwidth.take(2 * mib, NEVER);
    // Ten mebibytes at a hundred a second.
    const taken = bandwidth.take(10 * mib, NEVER);
    passed(99);
    expect(vi.getTimerCount()).toBe(1);
    passed(2);
    expect(vi.getTimerCount()).toBe(0);
    await taken;
    passed(1_000);
    await bandwidth.take(2 * mib, NEVER);
  });

  test('a waiting caller is released by an abort', async () => {
    const bandwidth = new Bandwidth(1, { steadyMs: () => 0 });
    const stopping = new AbortController();
    const taken = bandwidth.take(10_000_000, stopping.signal);
    stopping.abort(new Error('stopped'));
    await expect(taken).rejects.toThrow('stopped');
  });
});

describe('several places', () => {
  const never = (signal: AbortSignal) =>
    new Promise<null>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

  test('a second place is asked beside a slow one, which is stopped when the other was faster', async () => {
    let reason: unknown = null;
    const slow = async (signal: AbortSignal) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason;
      });
      return await never(signal);
    };
    expect(await firstGood([slow, async () => 'second'], 20, NEVER)).toBe('second');
    expect(reason).toMatchObject({ message: 'another place was faster' });
  });

  test('one that answers no is followed at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(await firstGood([async () => null, async () => 'next'], 10_000, NEVER)).toBe('next');
  });

  test.each([0, 1, 2, 3])('one that gives something counts, %i turns after another one answered no', async (turns) => {
    const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let waiting = 0;
    const wait = async () => {
      waiting += 1;
      if (waiting === 4) begun.resolve();
      await over.promise;
    };
    const no = async () => {
      await wait();
      return null;
    };
    const yes = async () => {
      await wait();
      for (let turn = 0; turn < turns; turn += 1) await null;
      return 'given';
    };
    const found = [firstGood([yes, no], 0, NEVER), firstGood([no, yes], 0, NEVER)];
    await begun.promise;
    over.resolve();
    expect(await Promise.all(found)).toEqual(['given', 'given']);
  });

  test('all say no: nothing', async () => {
    const late = async (signal: AbortSignal) => await elapse(30, null, { signal });
    expect(await firstGood([late, async () => null], 5, NEVER)).toBeNull();
    expect(await firstGood([], 5, NEVER)).toBeNull();
  });

  test('an abort ends all of them', async () => {
    const stopping = new AbortController();
    const asked = firstGood([never, never], 1, stopping.signal);
    stopping.abort(new Error('stopped'));
    await expect(asked).rejects.toThrow('stopped');
  });
});
