import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { parseSenderScript } from '../../src/core/blob/sender.ts';
import { type Clock, SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { createHttpApp } from '../../src/http/app.ts';
import { DEFAULT_EVENT_LIMITS, EventListeners } from '../../src/http/event-listeners.ts';
import { WindowFeed } from '../../src/http/window-feed.ts';
import { FilteredWindow } from '../../src/http/window-filter.ts';
import { WINDOW, WINDOW_CHANGE } from '../../src/http/window-on-wire.ts';
import { eventually } from '../e2e/eventually.ts';
import { FakeArchiveView, HEALTHY } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FakeWindowView, windowBlob, windowBlock } from './fake-window-view.ts';
import { archiveRoutes, injectable, running, type TestLimits, testOptions } from './harness.ts';

interface StreamEvent {
  readonly name: string;
  readonly id: string;
  readonly data: unknown;
}

/** Time stands still: the window is looked at again after a second, however long a busy machine takes for the requests. */
const AT_ONCE: Clock = { ...SYSTEM_CLOCK, wallMs: () => 0 };

async function served(limits: TestLimits = {}, learnsSenders = false, clock: Clock = SYSTEM_CLOCK) {
  const view = new FakeArchiveView();
  const window = new FakeWindowView();
  window.show([windowBlock(7, [windowBlob(1)], true), windowBlock(8, [windowBlob(2, 'seen')])]);
  // A heartbeat would come before the change that a test waits for, where the machine halts for ten seconds.
  const rare = { eventHeartbeatMs: 300_000, ...limits };
  const server = await running(view, rare, new FakeChainView(), { window, clock, learnsSenders });
  return { view, window, ...server };
}

/** Reads events off a socket of its own, as they come. */
async function listen(url: string, lastEventId?: string, query = '') {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const answer = await fetch(`${url}/v1/events${query}`, { signal: stop.signal, headers });
  const events = eventsOf(answer);
  return {
    answer,
    stop: () => stop.abort(),
    /** null: the server ended it. */
    next: async () => {
      const { value } = await events.next();
      return value ?? null;
    },
  };
}

async function* eventsOf(answer: Response): AsyncGenerator<StreamEvent, undefined> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const whole = text.split('\n\n');
    text = whole.pop() ?? '';
    for (const event of whole) {
      const [, name = '', id = '', data = ''] = /^event: (.*)\nid: (.*)\ndata: (.*)$/.exec(event) ?? [];
      yield { name, id, data: JSON.parse(data) };
    }
  }
}

const windowOf = (event: StreamEvent | null) => WINDOW.parse(event?.data);
const changeOf = (event: StreamEvent | null) => WINDOW_CHANGE.parse(event?.data);

describe('GET /v1/window', () => {
  test('gives the whole window as its schema says, and is never cached', async () => {
    const { url } = await served();
    const answer = await fetch(`${url}/v1/window`);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const window = WINDOW.parse(await answer.json());
    expect(
      window.blocks.map(({ height, isFinal, blobs }) => [height, isFinal, blobs.map(({ state }) => state)]),
    ).toEqual([
      [7, true, ['stored']],
      [8, false, ['seen']],
    ]);
    expect(window.status).toMatchObject({ version: HEALTHY.version, conditions: [] });
  });

  test('many who ask at once have it looked at once', async () => {
    const { url, window } = await served({}, false, AT_ONCE);
    await Promise.all(Array.from({ length: 20 }, async () => (await fetch(`${url}/v1/window`)).text()));
    expect(window.asked).toBe(1);
  });

  test.each(['/v1/window', '/v1/events'])('%s says where there is no window that it has none', async (path) => {
    const { inject } = injectable(new FakeArchiveView());
    const answer = await inject(path);
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'chain/not-walked']);
    expect(answer.headers['retry-after']).toBe('60');
  });
});

describe('GET /v1/events', () => {
  test('begins with the whole, and goes on with what changed alone', async () => {
    const { url, window } = await served();
    const { answer, next } = await listen(url);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    const first = await next();
    expect(first?.name).toBe('window');
    expect(windowOf(first).blocks.map(({ height }) => height)).toEqual([7, 8]);
    window.show([windowBlock(8, [windowBlob(2, 'stored')]), windowBlock(9)]);
    const second = await next();
    expect(second?.name).toBe('change');
    expect(second?.id).not.toBe(first?.id);
    const { lowest, highest, changed, tip } = changeOf(second);
    expect([lowest, highest, tip?.height]).toEqual([8, 9, 9]);
    expect(changed.map(({ height, blobs }) => [height, blobs.map(({ state }) => state)])).toEqual([
      [8, ['stored']],
      [9, []],
    ]);
  });

  test('a listener that comes back is told what it missed; a revision of another process counts for nothing', async () => {
    const { url, window } = await served();
    const first = await listen(url);
    const { id } = (await first.next()) ?? { id: '' };
    window.show([windowBlock(7, [windowBlob(1)], true), windowBlock(8, [windowBlob(2)])]);
    await first.next();
    first.stop();
    const again = await (await listen(url, id)).next();
    expect([again?.name, changeOf(again).changed.map(({ height }) => height)]).toEqual(['change', [8]]);
    for (const strange of [`${id.split('.')[0]}.99`, `${id.split('.')[0]}.-1`, 'other.1', '', 'x'.repeat(500)]) {
      expect((await (await listen(url, strange)).next())?.name).toBe('window');
    }
  });

  test('a listener that is far behind gets the whole, which is made once for all of them', async () => {
    const clock = { ms: 0 };
    const window = new FakeWindowView();
    const feed = new WindowFeed(new FakeArchiveView(), window, () => clock.ms);
    const ids: string[] = [];
    for (let height = 0; height < 200; height += 1) {
      window.show([windowBlock(height)]);
      clock.ms += 2_000;
      feed.whole();
      ids.push(feed.revision);
    }
    const given = ids.map((id) => feed.changesSince(id));
    expect(given.slice(0, 150)).toEqual(ids.slice(0, 150).map(() => null));
    expect(given.at(-2)).not.toBeNull();
    // However a number is spelled, it is made once.
    const [epoch, number] = (ids.at(-2) ?? '').split('.');
    expect(feed.changesSince(`${epoch}.000${number}`)).toBe(given.at(-2));
  });

  test('listeners without a filter that come together share the bytes of their first event', () => {
    const window = new FakeWindowView();
    window.show([windowBlock(7, [windowBlob(1)])]);
    const clock = { ms: 0 };
    const feed = new WindowFeed(new FakeArchiveView(), window, () => clock.ms);
    const listeners = new EventListeners(feed, DEFAULT_EVENT_LIMITS, () => undefined, { steadyMs: () => 0 });
    const first = listeners.greeting('', {}).event;
    expect(listeners.greeting('', {}).event).toBe(first);
    const since = feed.revision;
    window.show([windowBlock(7, [windowBlob(1)]), windowBlock(8, [windowBlob(2)])]);
    clock.ms += 2_000;
    const change = listeners.greeting(since, {}).event;
    expect(change.toString()).toContain(`event: change\nid: ${feed.revision}\n`);
    expect(listeners.greeting(since, {}).event).toBe(change);
  });

  test('a slow listener has its time for a whole window that is larger than what it may leave otherwise', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const senders = Array.from({ length: 16 }, (_, index) =>
      parseSenderScript(`5120${String(index).padStart(64, '0')}`),
    );
    const blobs = Array.from({ length: 32 }, (_, index) => ({ ...windowBlob(index), senders }));
    const window = new FakeWindowView();
    window.show(Array.from({ length: 160 }, (_, height) => windowBlock(height, blobs)));
    const feed = new WindowFeed(new FakeArchiveView(), window, () => 0);
    let steadyMs = 0;
    const listeners = new EventListeners(feed, DEFAULT_EVENT_LIMITS, () => undefined, { steadyMs: () => steadyMs });
    // No connection takes what is written to it.
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    onTestFinished(() => void response.emit('close'));
    listeners.add(response, listeners.greeting('', {}), 'a');
    expect(response.writableLength).toBeGreaterThan(6 * 1_048_576);
    steadyMs += 29_000;
    vi.advanceTimersByTime(1_000);
    expect(response.destroyed).toBe(false);
    steadyMs += 2_000;
    vi.advanceTimersByTime(1_000);
    expect(response.destroyed).toBe(true);
  });

  test('a changed condition is news, another call to the node is none', async () => {
    const { url, view, window } = await served();
    const { next } = await listen(url);
    await next();
    const looks = window.asked;
    view.now = () => ({ ...HEALTHY, node: { ...HEALTHY.node, calls: { getblock: 9 }, lastAnswerAt: 'now' } });
    await eventually(() => expect(window.asked).toBeGreaterThan(looks + 1));
    const condition = {
      code: 'storage/full',
      message: '<b>',
      hint: '',
      since: '',
      severity: 'error' as const,
      blocksReadiness: true,
    };
    view.now = () => ({ ...HEALTHY, conditions: [condition] });
    const change = changeOf(await next());
    expect(change.changed).toEqual([]);
    expect(z.looseObject({ conditions: z.array(z.unknown()) }).parse(change.status).conditions).toEqual([condition]);
  });

  test('without news it is still heard of, so that silence means a broken connection', async () => {
    const { url } = await served({ eventHeartbeatMs: 100 });
    const { next } = await listen(url);
    const first = await next();
    const beat = await next();
    expect([beat?.name, beat?.id, changeOf(beat).changed]).toEqual(['change', first?.id, []]);
    // The first may come a hair before the window is looked at again; the one after it never does.
    const later = changeOf(await next());
    expect(Date.parse(later.at)).toBeGreaterThan(Date.parse(windowOf(first).at));
  });

  test('the window is not looked at without listeners, and once for a hundred', async () => {
    const { url, window } = await served({}, false, AT_ONCE);
    const all = await Promise.all(Array.from({ length: 100 }, () => listen(url)));
    await Promise.all(all.map(({ next }) => next()));
    expect(window.asked).toBe(1);
    const refused = await fetch(`${url}/v1/events`);
    expect([refused.status, z.looseObject({ code: z.string() }).parse(await refused.json()).code]).toEqual([
      503,
      'http/too-busy',
    ]);
    for (const { stop } of all) stop();
    // A place is free again as soon as a listener has gone.
    await eventually(async () => {
      const { answer, next, stop } = await listen(url);
      expect(answer.status).toBe(200);
      await next();
      stop();
    });
  });

  test('a listener that does not read is dropped, and the others are not kept waiting', async () => {
    const window = new FakeWindowView();
    const feed = new WindowFeed(new FakeArchiveView(), window, Date.now);
    const limits = { ...DEFAULT_EVENT_LIMITS, eventHeartbeatMs: Number.POSITIVE_INFINITY };
    let steadyMs = 0;
    const listeners = new EventListeners(feed, limits, () => undefined, { steadyMs: () => steadyMs });
    const responses: ServerResponse[] = [];
    const server = createServer((_, response) => {
      responses.push(response.writeHead(200));
      listeners.add(response, listeners.greeting(undefined, {}), 'a');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = z.object({ port: z.number() }).parse(server.address());
    const blocks = (state: 'seen' | 'stored') =>
      Array.from({ length: 320 }, (_, height) => windowBlock(height, [windowBlob(height, state)]));
    window.show(blocks('seen'));
    // A connection whose far side takes nothing, not even into a kernel's buffers.
    const deaf = new Duplex({ read: () => undefined, write: () => undefined });
    onTestFinished(() => {
      deaf.destroy();
      server.closeAllConnections();
      server.close();
    });
    const asked = once(server, 'request');
    server.emit('connection', deaf);
    deaf.push('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await asked;
    const dropped = once(deaf, 'close');
    const { next } = await listen(`http://127.0.0.1:${port}`);
    expect((await next())?.name).toBe('window');
    window.show(blocks('stored'));
    expect(changeOf(await next()).changed.length).toBe(320);
    await eventually(() => expect(responses.map((response) => response.writableNeedDrain)).toEqual([true, false]));
    expect(listeners.count).toBe(2);
    steadyMs += limits.eventStalledMs + 1;
    await dropped;
    await eventually(() => expect(listeners.count).toBe(1));
    window.show([windowBlock(400)]);
    expect(changeOf(await next()).changed.map(({ height }) => height)).toEqual([400]);
  });

  test('when the archive cannot be asked, every stream ends and is told why', async () => {
    const { url, window, reported } = await served();
    const { next } = await listen(url);
    await next();
    window.fault = new Error('the catalog is gone');
    await expect(next()).rejects.toThrow();
    expect(reported.map(({ error }) => error)).toEqual([window.fault]);
    const answer = await fetch(`${url}/v1/events`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('catalog');
  });

  test('the server does not wait for listeners when it stops', async () => {
    const { url, server } = await served({ drainMs: 20_000 });
    const { next } = await listen(url);
    await next();
    expect(await server.close()).toEqual({ cutRequests: 0 });
    expect(await next()).toBeNull();
  });

  test('a listener that comes while the server stops is refused: the server would wait for it', async () => {
    const options = { ...testOptions(), window: new FakeWindowView() };
    const routes = archiveRoutes(new FakeArchiveView(), new FakeChainView(), options);
    const { fastify } = createHttpApp(routes, options);
    const asked = Promise.withResolvers<void>();
    const stopping = Promise.withResolvers<void>();
    fastify.addHook('preHandler', async () => {
      asked.resolve();
      await stopping.promise;
    });
    const answer = fastify.inject('/v1/events').then(({ statusCode }) => statusCode);
    await asked.promise;
    const closed = fastify.close();
    await setImmediate();
    stopping.resolve();
    expect(await answer).toBe(503);
    await closed;
  });

  test('HEAD says what it would be, and listens to nothing', async () => {
    const { url } = await served();
    const answer = await fetch(`${url}/v1/events`, { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  });
});

describe('GET /v1/events with a filter', () => {
  const hashOf = (number: number) => windowBlob(number).versionHash;
  const shown = (blocks: readonly { height: number; blobs: readonly { versionHash: string; state: string }[] }[]) =>
    blocks.map(({ height, blobs }) => [
      height,
      blobs.map(({ versionHash, state }) => `${versionHash.at(-1)} ${state}`),
    ]);

  test('names only the blobs of the hash, and sends nothing when others change', async () => {
    const { url, window } = await served();
    const { next } = await listen(url, undefined, `?hash=0x${hashOf(2)},01${hashOf(1)},${hashOf(3)}`);
    expect(shown(windowOf(await next()).blocks)).toEqual([[8, ['2 seen']]]);
    // A listener without a filter hears of the change of another blob first.
    const everything = await listen(url);
    await everything.next();
    const others = [windowBlob(1, 'lost'), windowBlob(4)];
    window.show([windowBlock(7, others, true), windowBlock(8, [windowBlob(2, 'seen')])]);
    expect(shown(changeOf(await everything.next()).changed)).toEqual([[7, ['1 lost', '4 stored']]]);
    window.show([windowBlock(7, others, true), windowBlock(8, [windowBlob(2, 'stored'), windowBlob(5)])]);
    expect(shown(changeOf(await next()).changed)).toEqual([[8, ['2 stored']]]);
  });

  test('tells that a blob left the state, with its block and without the blob', async () => {
    const { url, window } = await served();
    const { next } = await listen(url, undefined, '?state=seen,at-risk');
    expect(shown(windowOf(await next()).blocks)).toEqual([[8, ['2 seen']]]);
    window.show([windowBlock(7, [windowBlob(1)], true), windowBlock(8, [windowBlob(2)])]);
    expect(shown(changeOf(await next()).changed)).toEqual([[8, []]]);
  });

  test('final is the state of every blob in a final block', async () => {
    const { url, window } = await served();
    const { next } = await listen(url, undefined, `?state=final&hash=${hashOf(2)}`);
    expect(shown(windowOf(await next()).blocks)).toEqual([]);
    window.show([windowBlock(7, [windowBlob(1)], true), windowBlock(8, [windowBlob(2)], true)]);
    expect(shown(changeOf(await next()).changed)).toEqual([[8, ['2 stored']]]);
  });

  describe('with senders', () => {
    const [ours, theirs] = [parseSenderScript(`5120${'ab'.repeat(32)}`), parseSenderScript(`0014${'cd'.repeat(20)}`)];
    const sentBlocks = [
      windowBlock(
        7,
        [
          { ...windowBlob(1), senders: [theirs, ours] },
          { ...windowBlob(2), senders: [theirs] },
        ],
        true,
      ),
      windowBlock(8, [windowBlob(3)]),
    ];
    const waiting = { blobs: [windowBlob(4, 'seen')], hasMore: false };
    const passing = async (query: string) => {
      const { url, window } = await served({}, true);
      window.show(sentBlocks, { waiting });
      const whole = windowOf(await (await listen(url, undefined, query)).next());
      expect(whole.waiting.blobs).toEqual([]);
      return shown(whole.blocks);
    };

    test('passes blobs with any of the scripts among their senders, in either case of hex', async () => {
      expect(await passing(`?sender=${ours}`)).toEqual([[7, ['1 stored']]]);
      expect(await passing(`?sender=0x${theirs.toUpperCase()},${ours}`)).toEqual([[7, ['1 stored', '2 stored']]]);
      expect(await passing(`?sender=${theirs}&hash=${hashOf(2)}`)).toEqual([[7, ['2 stored']]]);
    });

    test('passes a blob of an unknown sender for `unknown` alone', async () => {
      expect(await passing(`?sender=${ours},unknown`)).toEqual([
        [7, ['1 stored']],
        [8, ['3 stored']],
      ]);
    });

    test('is refused where no sender is learned, for nothing could ever pass', async () => {
      const { url } = await served();
      const answer = await fetch(`${url}/v1/events?sender=${ours}`);
      expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'events/senders-unknown' }]);
    });
  });

  test('hears of a blob that waits for a block, and of a block that was taken back', async () => {
    const { url, window } = await served();
    const { next } = await listen(url, undefined, `?hash=${hashOf(2)},${hashOf(6)}`);
    await next();
    const waiting = { blobs: [windowBlob(6, 'seen'), windowBlob(7, 'seen')], hasMore: false };
    window.show([windowBlock(7, [windowBlob(1)], true), windowBlock(8, [windowBlob(2, 'seen')])], { waiting });
    const first = changeOf(await next());
    expect([shown(first.changed), first.waiting.blobs.map(({ versionHash }) => versionHash)]).toEqual([
      [],
      [hashOf(6)],
    ]);
    window.show([windowBlock(7, [windowBlob(1)], true)], { waiting });
    const second = changeOf(await next());
    expect([second.highest, second.changed]).toEqual([7, []]);
  });

  test('goes on at Last-Event-ID, with what changed of its blobs meanwhile', async () => {
    const { url, window } = await served();
    const query = `?hash=${hashOf(2)}`;
    const first = await listen(url, undefined, query);
    const { id } = (await first.next()) ?? { id: '' };
    const everything = await listen(url);
    await everything.next();
    window.show([windowBlock(7, [windowBlob(1, 'lost')], true), windowBlock(8, [windowBlob(2)])]);
    await first.next();
    first.stop();
    const again = await (await listen(url, id, query)).next();
    expect([again?.name, shown(changeOf(again).changed)]).toEqual([
      'change',
      [
        [7, []],
        [8, ['2 stored']],
      ],
    ]);
    expect((await (await listen(url, 'other.1', query)).next())?.name).toBe('window');
  });

  test('a listener that went on at Last-Event-ID hears that a blob left the state, and that a block was taken back', () => {
    const window = new FakeWindowView();
    const clock = { ms: 0 };
    const feed = new WindowFeed(new FakeArchiveView(), window, () => clock.ms);
    const show = (...blocks: Parameters<FakeWindowView['show']>[0]) => {
      window.show(blocks);
      clock.ms += 2_000;
      const since = feed.revision;
      feed.whole();
      return since;
    };
    show(windowBlock(7, [windowBlob(1)]), windowBlock(8, [windowBlob(2)]), windowBlock(9, [windowBlob(3)]));
    const again = new FilteredWindow(feed, { state: new Set(['stored']) });
    expect(again.greeting(feed.revision)).toMatchObject({ name: 'change', data: { changed: [] } });
    const [withheld, second] = [windowBlock(7, [windowBlob(1, 'withheld')]), windowBlock(8, [windowBlob(2)])];
    const left = show(withheld, second, windowBlock(9, [windowBlob(3)]));
    expect(again.changesSince(left)).toMatchObject({ data: { changed: [{ height: 7, blobs: [] }] } });
    const takenBack = show(withheld, second);
    expect(again.changesSince(takenBack)).toMatchObject({ data: { highest: 8, changed: [] } });
  });

  test('without news it is still heard of', async () => {
    const { url } = await served({ eventHeartbeatMs: 100 });
    const { next } = await listen(url, undefined, `?hash=${hashOf(9)}`);
    const first = await next();
    const beat = await next();
    expect([windowOf(first).blocks, beat?.name, beat?.id, changeOf(beat).changed]).toEqual([
      [],
      'change',
      first?.id,
      [],
    ]);
  });

  test('a block is digested once for a hundred listeners with the same filter', () => {
    const clock = { ms: 0 };
    const window = new FakeWindowView();
    const feed = new WindowFeed(new FakeArchiveView(), window, () => clock.ms);
    const blobs = Array.from({ length: 50 }, (_, index) => windowBlob(index, index % 2 === 0 ? 'stored' : 'spooled'));
    window.show([windowBlock(7, blobs)]);
    const listeners = Array.from(
      { length: 100 },
      () => new FilteredWindow(feed, { state: new Set(['stored', 'lost']) }),
    );
    for (const one of listeners) one.greeting('');
    const since = feed.revision;
    window.show([windowBlock(7, blobs), windowBlock(8, blobs.slice(0, 49))]);
    clock.ms += 2_000;
    feed.changeSince(since);
    const encoding = vi.spyOn(JSON, 'stringify');
    const events = listeners.map((one) => one.changesSince(since));
    const encoded = encoding.mock.calls.length;
    encoding.mockRestore();
    // The block that came, and what waits.
    expect(encoded).toBe(2);
    expect(
      events.map((event) => event?.name === 'change' && event.data.changed.map(({ blobs: told }) => told.length)),
    ).toEqual(listeners.map(() => [25]));
  });

  test('a heartbeat names the blocks that came since the revision: its number promises them', () => {
    const window = new FakeWindowView();
    const clock = { ms: 0 };
    const feed = new WindowFeed(new FakeArchiveView(), window, () => clock.ms);
    window.show([windowBlock(7, [windowBlob(1)])]);
    const filtered = new FilteredWindow(feed, { state: new Set(['stored']) });
    filtered.greeting('');
    const told = feed.revision;
    window.show([windowBlock(7, [windowBlob(1)]), windowBlock(8, [windowBlob(2)])]);
    clock.ms += 2_000;
    expect(filtered.heartbeat(told)).toMatchObject({ data: { changed: [{ height: 8 }] } });
    expect(feed.revision).not.toBe(told);
  });

  test('listeners that take nothing hold a bounded memory together: the one that is behind longest makes room', () => {
    const window = new FakeWindowView();
    const blobsOf = (height: number) => Array.from({ length: 32 }, (_, index) => windowBlob(32 * height + index));
    window.show(Array.from({ length: 320 }, (_, height) => windowBlock(height, blobsOf(height))));
    const feed = new WindowFeed(new FakeArchiveView(), window, () => 0);
    let steadyMs = 0;
    const listeners = new EventListeners(feed, DEFAULT_EVENT_LIMITS, () => undefined, { steadyMs: () => steadyMs });
    // No connection takes what is written to these.
    const responses = Array.from({ length: 16 }, () => new ServerResponse(new IncomingMessage(new Socket())));
    onTestFinished(() => {
      for (const response of responses) response.emit('close');
    });
    for (const response of responses) {
      steadyMs += 1;
      listeners.add(response, listeners.greeting('', { state: new Set(['stored']) }), 'a');
    }
    const kept = responses.filter(({ destroyed }) => !destroyed);
    expect(responses.map(({ destroyed }) => destroyed).lastIndexOf(true)).toBe(responses.length - kept.length - 1);
    expect(kept.length).toBeLessThan(responses.length);
    expect(kept.reduce((sum, { writableLength }) => sum + writableLength, 0)).toBeLessThanOrEqual(32 * 1_048_576);
    expect(kept.at(-1)?.writableLength).toBeGreaterThan(2 * 1_048_576);
  });

  test('keeps a digest for each block of its blobs, however many blocks pass', () => {
    const window = new FakeWindowView();
    const clock = { ms: 0 };
    const feed = new WindowFeed(new FakeArchiveView(), window, () => clock.ms);
    const filtered = new FilteredWindow(feed, { state: new Set(['stored']) });
    filtered.greeting('');
    for (let height = 0; height < 500; height += 1) {
      const since = feed.revision;
      window.show([windowBlock(height, [windowBlob(height)]), windowBlock(height + 1, [windowBlob(height + 1)])]);
      clock.ms += 2_000;
      filtered.changesSince(since);
      expect(filtered.blocksKept).toBeLessThanOrEqual(2);
    }
  });

  test.each([
    ['a hash that is none', '?hash=abc', 'hash'],
    ['an empty hash', '?hash=', 'hash'],
    ['a second hash parameter', `?hash=${'a'.repeat(64)}&hash=${'b'.repeat(64)}`, 'hash'],
    ['17 hashes', `?hash=${Array.from({ length: 17 }, () => 'a'.repeat(64)).join(',')}`, 'hash'],
    ['an unknown state', '?state=finished', 'state'],
    ['half a byte of a script', '?sender=512', 'sender'],
    ['a sender that is an address', '?sender=bcrt1qexample', 'sender'],
    ['17 senders', `?sender=${Array.from({ length: 17 }, () => '51').join(',')}`, 'sender'],
    ['an unknown parameter', '?states=seen', 'states'],
  ])('refuses %s with 400', async (_what, query, named) => {
    const { url } = await served();
    const answer = await fetch(`${url}/v1/events${query}`);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(named);
  });
});
