import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { AnswerBudget } from '../../src/http/answer-budget.ts';
import { ClientLimits, clientKey, clientOf } from '../../src/http/client-limits.ts';
import type { HttpOptions } from '../../src/http/config.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { TokenList } from '../../src/http/token-list.ts';
import { eventually } from '../e2e/eventually.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { injectable, running, STOPPED_CLOCK } from './harness.ts';
import { get, RawClient } from './raw-client.ts';
import { heldRead, unreadable, viewWith } from './served-blob.ts';

const TOKEN = 'a-token-that-nobody-guesses';
const LINE = `sha256:${createHash('sha256').update(TOKEN).digest('hex')} rollup`;

describe('tokens', () => {
  const readTokens = TokenList.parse(`# who may read\n\n${LINE}\n`, 'tokens');
  const door = (given = {}) => injectable(new FakeArchiveView(), new FakeChainView(), { readTokens, ...given }).inject;

  test('reading takes one, liveness and readiness do not', async () => {
    const inject = door();
    const refused = await inject('/v1/status');
    expect([refused.statusCode, refused.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect(refused.json()).toMatchObject({ code: 'http/unauthorized' });
    expect((await inject('/healthz')).statusCode).toBe(200);
    expect((await inject('/readyz')).statusCode).toBe(200);
    expect((await inject({ method: 'POST', url: '/', payload: '{}' })).statusCode).toBe(401);
  });

  test.each([
    [`Bearer ${TOKEN}`, 200],
    [`bearer  ${TOKEN}`, 200],
    [`Basic ${Buffer.from(`anyone:${TOKEN}`).toString('base64')}`, 200],
    [`Basic ${Buffer.from(TOKEN).toString('base64')}`, 401],
    [`Bearer ${TOKEN}x`, 401],
    [`Bearer ${LINE}`, 401],
    ['Bearer', 401],
    ['', 401],
  ])('%s', async (authorization, status) => {
    expect((await door()({ url: '/v1/status', headers: { authorization } })).statusCode).toBe(status);
  });

  test('a token of an operator reads too', async () => {
    const adminTokens = TokenList.parse(`sha256:${createHash('sha256').update('admin').digest('hex')}`, 'f');
    const headers = { authorization: 'Bearer admin' };
    expect((await door({ adminTokens })({ url: '/v1/status', headers })).statusCode).toBe(200);
  });

  test('a file that holds a token itself is refused without repeating it', async () => {
    const file = join(temporaryFolder(), 'tokens');
    writeFileSync(file, `${TOKEN}\n`);
    const error = await TokenList.read(file).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'http/bad-tokens-file' });
    expect(String(error)).not.toContain(TOKEN);
    await expect(TokenList.read(join(file, 'none'))).rejects.toMatchObject({ code: 'http/bad-tokens-file' });
    expect(() => TokenList.parse('# none\n', 'f')).toThrow('no token');
  });
});

describe('the limits of one client', () => {
  function limits(ratePerSecond: number, concurrent: number) {
    const clock = { ms: 0 };
    return { clock, limits: new ClientLimits({ ratePerSecond, concurrent, clock: { steadyMs: () => clock.ms } }) };
  }

  test('bound requests a second, with twice as many at once', () => {
    const { clock, limits: door } = limits(10, 0);
    const kinds = Array.from({ length: 21 }, () => door.admit('10.0.0.1').kind);
    expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(20);
    expect(door.admit('10.0.0.1')).toMatchObject({ why: 'rate', retryAfterSeconds: 0.1 });
    expect(door.admit('10.0.0.2').kind).toBe('admitted');
    clock.ms += 100;
    expect(door.admit('10.0.0.1').kind).toBe('admitted');
  });

  test('bound requests under way, and one that is done makes room once', () => {
    const { limits: door } = limits(0, 2);
    const first = door.admit('a');
    door.admit('a');
    expect(door.admit('a')).toMatchObject({ why: 'concurrency' });
    if (first.kind === 'admitted') {
      first.done();
      first.done();
    }
    expect(door.admit('a').kind).toBe('admitted');
    expect(door.admit('a').kind).toBe('refused');
  });

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', 'refused'],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', 'admitted'],
    ['::ffff:10.0.0.1', '10.0.0.1', 'refused'],
    ['fe80::1%eth0', 'fe80::2%eth1', 'refused'],
  ])('%s and %s: the second is %s', (first, second, kind) => {
    const { limits: door } = limits(0, 1);
    door.admit(clientKey(first));
    expect(door.admit(clientKey(second)).kind).toBe(kind);
  });

  test('a flood of addresses is forgotten', () => {
    const { limits: door } = limits(1, 0);
    for (let at = 0; at < 30_000; at += 1) {
      const admission = door.admit(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);
      if (admission.kind === 'admitted') admission.done();
    }
    expect(door.admit('10.0.0.0').kind).toBe('admitted');
  });

  test('429 says when to come back, and health is never refused', async () => {
    const given = { limits: { ratePerSecond: 1 }, clock: STOPPED_CLOCK };
    const { inject } = injectable(new FakeArchiveView(), new FakeChainView(), given);
    await inject('/v1/status');
    await inject('/v1/status');
    const refused = await inject('/v1/status');
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
    expect((await inject('/healthz')).statusCode).toBe(200);
  });

  describe('health, readiness and metrics', () => {
    const PATHS = ['/healthz', '/readyz', '/metrics'];

    function watched(given: Partial<HttpOptions> = {}) {
      const metrics = declareHttpMetrics(new MetricsRegistry());
      const scrape = vi.spyOn(metrics, 'scrape');
      const door = injectable(new FakeArchiveView(), new FakeChainView(), { ...given, metrics });
      return { ...door, scrape };
    }

    const statuses = async (inject: ReturnType<typeof watched>['inject'], headers = {}) => {
      const answers = await Promise.all(PATHS.map((url) => inject({ url, headers })));
      return answers.map(({ statusCode }) => statusCode);
    };

    test('are answered to a client that has used up what it may ask', async () => {
      const { inject } = watched({ limits: { ratePerSecond: 1 }, clock: STOPPED_CLOCK });
      for (const status of [200, 200, 429]) expect((await inject('/v1/status')).statusCode).toBe(status);
      expect(await statuses(inject)).toEqual([200, 200, 200]);
    });

    test('are answered to a client that has as many requests under way as it may, and do not count', async () => {
      const { view, path: huge } = unreadable();
      const metrics = declareHttpMetrics(new MetricsRegistry());
      const { url, port } = await running(view, { concurrentPerClient: 2 }, new FakeChainView(), { metrics });
      for (let index = 0; index < 2; index += 1) {
        const reader = await RawClient.open(port);
        reader.socket.pause();
        reader.send(get(huge));
      }
      await eventually(async () => expect((await fetch(`${url}/v1/status`)).status).toBe(429));
      for (const path of PATHS) expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);
    });

    test('are answered while others hold all memory for answers', async () => {
      const { view, path } = viewWith(10);
      const { begun, finish } = heldRead(view);
      const metrics = declareHttpMetrics(new MetricsRegistry());
      const limits = { answerBytes: 65_536, answerWaitMs: 20 };
      const { inject } = injectable(view, new FakeChainView(), { limits, metrics });
      const reads = [inject(path), inject(path)];
      await begun;
      await eventually(async () => expect((await inject('/v1/status')).statusCode).toBe(503));
      expect(await statuses(inject)).toEqual([200, 200, 200]);
      finish({ kind: 'absent' });
      await Promise.all(reads);
    });

    test('count where the token is missing that metrics take', async () => {
      const readTokens = TokenList.parse(LINE, 'f');
      const { inject } = watched({ limits: { ratePerSecond: 1 }, clock: STOPPED_CLOCK, readTokens });
      for (const status of [401, 401, 429]) expect((await inject('/metrics')).statusCode).toBe(status);
      expect(await statuses(inject, { authorization: `Bearer ${TOKEN}` })).toEqual([200, 200, 200]);
    });

    test('cost one scrape for all who ask at once', async () => {
      const { inject, scrape } = watched();
      const answers = await Promise.all(Array.from({ length: 300 }, () => inject('/metrics')));
      expect(answers.every(({ statusCode }) => statusCode === 200)).toBe(true);
      expect(scrape.mock.calls.length).toBeLessThan(30);
      await inject('/v1/status');
      expect((await inject('/metrics')).body).toContain('route="/v1/status"');
    });
  });

  test.each([
    [
      'a batch counts as its calls',
      { method: 'POST', url: '/', payload: JSON.stringify(Array(40).fill({ method: 'x' })) },
    ],
    ['a page counts as its records', { method: 'GET', url: '/v1/blobs?limit=400' }],
  ] as const)('%s', async (_what, costly) => {
    const given = { limits: { ratePerSecond: 10 }, clock: STOPPED_CLOCK };
    const { inject } = injectable(new FakeArchiveView(), new FakeChainView(), given);
    expect((await inject(costly)).statusCode).toBe(200);
    const refused = await inject('/v1/status');
    expect([refused.statusCode, Number(refused.headers['retry-after'])]).toEqual([
      429,
      expect.toSatisfy((s) => s >= 2),
    ]);
    expect((await inject({ url: '/v1/status', remoteAddress: '10.9.8.7' })).statusCode).toBe(200);
  });

  test('behind a proxy that is believed, each client has limits of its own; what others say is not heard', async () => {
    const given = { limits: { ratePerSecond: 1 }, clock: STOPPED_CLOCK };
    const from = (client: string) => ({ url: '/v1/status', headers: { 'x-forwarded-for': client } });
    const trusting = injectable(new FakeArchiveView(), new FakeChainView(), { ...given, trustProxy: 1 }).inject;
    const wary = injectable(new FakeArchiveView(), new FakeChainView(), { ...given, trustProxy: null }).inject;
    const statuses = async (inject: typeof wary) => {
      const answers = [];
      for (const client of ['1.1.1.1', '2.2.2.2', '3.3.3.3', '9.9.9.9, 4.4.4.4'])
        answers.push(await inject(from(client)));
      return answers.map(({ statusCode }) => statusCode);
    };
    expect(await statuses(trusting)).toEqual([200, 200, 200, 200]);
    expect(await statuses(wary)).toEqual([200, 200, 429, 429]);
  });
});

test('a name of the client that is no address counts as the proxy that gave it', () => {
  const from = (ip: string) => clientOf({ ip, socket: { remoteAddress: '10.0.0.7' } } as never);
  expect(from('192.0.2.1')).toBe('192.0.2.1');
  expect(from(`made-up-${'x'.repeat(10_000)}`)).toBe('10.0.0.7');
});

describe('the budget of answers', () => {
  const never = new AbortController().signal;

  const MIB = 1_048_576;
  const WAIT_MS = 1_000;
  /** The order of turns and timeouts must not depend on how busy the machine is. */
  const stopTime = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
  };
  const held = (budget: AnswerBudget, client: string, bytes: number) => {
    const share = budget.open(client);
    return { share, isHeld: share.growNow(bytes) };
  };

  test('a client may hold as much as stays free, so that the next client finds room', () => {
    const budget = new AnswerBudget(60 * MIB, 60_000, SYSTEM_CLOCK);
    const holds = (client: string) => {
      let count = 0;
      while (held(budget, client, MIB).isHeld) count += 1;
      return count;
    };
    expect(['a', 'b', 'c', 'd', 'e'].map(holds)).toEqual([30, 15, 7, 4, 2]);
    expect(held(budget, 'f', MIB).isHeld).toBe(true);
  });

  test('a large answer waits its turn without holding anything, and small ones pass it', async () => {
    const budget = new AnswerBudget(20 * MIB, 60_000, SYSTEM_CLOCK);
    const first = held(budget, 'a', 10 * MIB);
    const second = budget.open('a');
    expect(second.growNow(1_000)).toBe(true);
    const waiting = second.grow(5 * MIB, never);
    expect([budget.heldBytes, budget.waiting]).toEqual([10 * MIB, 1]);
    expect(held(budget, 'a', 1_000).isHeld).toBe(true);
    expect(held(budget, 'b', 3 * MIB).isHeld).toBe(true);
    first.share.giveBack();
    first.share.giveBack();
    expect(await waiting).toBe(true);
    expect(budget.heldBytes).toBe(8 * MIB + 2_000);
    second.giveBack();
    expect(budget.heldBytes).toBe(3 * MIB + 1_000);
  });

  test('a share that holds a large answer does not wait for more, and nothing holds more than half', async () => {
    const budget = new AnswerBudget(20 * MIB, 60_000, SYSTEM_CLOCK);
    const { share } = held(budget, 'a', 9 * MIB);
    expect(await share.grow(2 * MIB, never)).toBe(false);
    expect(await budget.open('b').grow(100 * MIB, AbortSignal.timeout(5))).toBe(false);
    share.giveBack();
    const alone = budget.open('b');
    expect(await alone.grow(100 * MIB, never)).toBe(true);
    expect(alone.heldBytes).toBe(10 * MIB);
  });

  test('while memory is scarce, a client has one large answer that is quicker for more memory', () => {
    const budget = new AnswerBudget(40 * MIB, 60_000, SYSTEM_CLOCK);
    const quick = (client: string) => {
      const share = budget.open(client);
      return { share, isQuick: share.growForSpeed(2 * MIB) };
    };
    const reading = Array.from({ length: 10 }, () => quick('reads many'));
    expect(reading.map(({ isQuick }) => isQuick)).toEqual([...Array(6).fill(true), ...Array(4).fill(false)]);
    expect(quick('another').isQuick).toBe(true);
    expect(quick('another').isQuick).toBe(false);
    for (const { share } of reading) share.giveBack();
    expect(quick('another').isQuick).toBe(true);
  });

  test('a share gives up in time, or with its client, and so many of one client wait at most', async () => {
    const budget = new AnswerBudget(20 * MIB, 5, SYSTEM_CLOCK);
    held(budget, 'a', 10 * MIB);
    expect(await budget.open('a').grow(MIB, never)).toBe(false);
    const patient = new AnswerBudget(20 * MIB, 60_000, SYSTEM_CLOCK);
    held(patient, 'a', 10 * MIB);
    const gone = new AbortController();
    const waiting = Array.from({ length: 64 }, () => patient.open('a').grow(MIB, gone.signal));
    expect(await patient.open('a').grow(MIB, never)).toBe(false);
    gone.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([false]));
    expect(patient.waiting).toBe(0);
  });

  test('readers that do not read hold no more than it; others are told to come back', async () => {
    const { view, path } = viewWith(2_000_000);
    const { port, url } = await running(view, { answerBytes: 8_000_000, answerWaitMs: 50, concurrentPerClient: 0 });
    const readers = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const client = await RawClient.open(port);
        client.socket.pause();
        client.send(get(path));
        return client;
      }),
    );
    // Bytes that a socket takes at once are not held: as many as fill the budget are left, whatever the kernel's buffers are.
    const late = await Promise.all(Array.from({ length: 40 }, async () => (await fetch(`${url}${path}`)).status));
    expect(new Set([...late, 503]).size).toBeLessThanOrEqual(2);
    for (const reader of readers) reader.socket.destroy();
    await expect.poll(async () => (await fetch(`${url}${path}`)).status).toBe(200);
  });

  test('a reader that has had its time loses its answer to those who wait, and no other does', async () => {
    stopTime();
    const budget = new AnswerBudget(20 * MIB, WAIT_MS, SYSTEM_CLOCK);
    const cuts: string[] = [];
    const sent = (name: string, client: string, bytes: number) => {
      const { share } = held(budget, client, bytes);
      share.sending(() => {
        cuts.push(name);
        share.giveBack();
      });
    };
    sent('small', 'a', MIB);
    sent('large', 'a', 8 * MIB);
    sent('of another', 'b', 5 * MIB);
    vi.advanceTimersByTime(WAIT_MS);
    const granted = budget.open('a').grow(4 * MIB, never);
    expect(cuts).toEqual([]);
    vi.advanceTimersByTime(WAIT_MS / 2);
    expect([await granted, cuts]).toEqual([true, ['large']]);
    expect([budget.heldBytes, budget.waiting]).toEqual([10 * MIB, 0]);
  });

  test('a client that is told to come again, or loses an answer, is counted once; one that goes away is not', async () => {
    stopTime();
    const budget = new AnswerBudget(20 * MIB, WAIT_MS, SYSTEM_CLOCK);
    const slow = held(budget, 'a', 10 * MIB).share;
    slow.sending(slow.giveBack);
    const gone = new AbortController();
    const leaving = budget.open('a').grow(11 * MIB, gone.signal);
    gone.abort();
    expect([await leaving, budget.refused]).toEqual([false, 0]);
    vi.advanceTimersByTime(WAIT_MS);
    const waiting = budget.open('b').grow(10 * MIB, never);
    vi.advanceTimersByTime(WAIT_MS / 2);
    expect([await waiting, budget.cut]).toEqual([true, 1]);
    const refused = budget.open('c');
    for (let time = 0; time < 2; time += 1) expect(refused.growNow(10 * MIB)).toBe(false);
    expect(await budget.open('d').grow(MIB, never)).toBe(true);
    expect([budget.refused, budget.cut, budget.heldBytes]).toEqual([1, 1, 11 * MIB]);
  });

  test('the memory for answers, its limit and who was refused for it stand in the metrics', async () => {
    const { view, blob, path } = viewWith(2_000_000);
    const release = Promise.withResolvers<void>();
    view.reading = async () => {
      await release.promise;
      return { kind: 'found', blob };
    };
    const registry = new MetricsRegistry();
    const limits = { answerBytes: 8_000_000, answerWaitMs: 50 };
    const { url } = await running(view, limits, undefined, { metrics: declareHttpMetrics(registry) });
    const scraped = async (name: string) =>
      Number(
        new RegExp(`^holdfast_http_answer_memory_${name}\\{listener="port"\\} (\\S+)$`, 'm').exec(
          await registry.scrape(),
        )?.[1],
      );
    const asked = Array.from({ length: 20 }, async () => (await fetch(`${url}${path}`, { method: 'HEAD' })).status);
    await eventually(async () => expect(await scraped('refusals_total')).toBeGreaterThan(0));
    const bytes = await scraped('bytes');
    expect([bytes > 2_000_000, bytes <= 8_000_000, await scraped('limit_bytes')]).toEqual([true, true, 8_000_000]);
    release.resolve();
    const refused = (await Promise.all(asked)).filter((status) => status === 503);
    expect(await scraped('refusals_total')).toBe(refused.length);
    await eventually(async () => expect(await scraped('bytes')).toBe(0));
    expect(await scraped('cuts_total')).toBe(0);
  });

  test('HEAD has its part of it too: what it tells of, was read', async () => {
    const { view, blob, path } = viewWith(2_000_000);
    const release = Promise.withResolvers<void>();
    let reading = 0;
    view.reading = async () => {
      reading += 1;
      await release.promise;
      return { kind: 'found', blob };
    };
    const { url } = await running(view, { answerBytes: 8_000_000, answerWaitMs: 50 });
    const heads = Array.from({ length: 20 }, async () => (await fetch(`${url}${path}`, { method: 'HEAD' })).status);
    // Most of them are told to come again while three are read.
    await eventually(async () => expect(await Promise.race(heads)).toBe(503));
    expect(reading).toBeLessThanOrEqual(4);
    release.resolve();
    expect((await Promise.all(heads)).filter((status) => status === 200)).toHaveLength(reading);
  });
});
