import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { WindowFeed } from '../../../src/http/window-feed.ts';
import { ArchiveApi } from '../../../src/page/model/archive-api.ts';
import { type LiveState, LiveWindow } from '../../../src/page/model/live-window.ts';
import { FakeArchiveView } from '../../http/fake-archive-view.ts';
import { FakeWindowView, windowBlob, windowBlock } from '../../http/fake-window-view.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Follows a server that answers as the test says, and collects the states in order. */
async function followed(silenceMs = 60_000) {
  const asked: IncomingMessage[] = [];
  const scene = { answer: ((_, response) => response.end()) as Answer };
  const server = createServer((request, response) => {
    asked.push(request);
    scene.answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const states: LiveState[] = [];
  const waiting: (() => void)[] = [];
  const token = { value: null as string | null };
  const live = new LiveWindow(
    new ArchiveApi(`http://127.0.0.1:${port}/`, () => token.value, fetch),
    () => token.value !== null,
    (state) => {
      states.push(state);
      for (const wake of waiting.splice(0)) wake();
    },
    Date.now,
    { silenceMs, firstRetryMs: 5, maxRetryMs: 20 },
  );
  onTestFinished(() => {
    live.stop();
    server.closeAllConnections();
    server.close();
  });
  let next = 0;
  /** Waits for the next state of this kind, behind those that the test has waited for: two may come in one turn. */
  async function until<Kind extends LiveState['kind']>(kind: Kind): Promise<Extract<LiveState, { kind: Kind }>> {
    for (;;) {
      const state = states[next];
      if (state === undefined) {
        await new Promise<void>((wake) => waiting.push(wake));
        continue;
      }
      next += 1;
      if (isKind(state, kind)) return state;
    }
  }
  return { scene, asked, live, until, token, states };
}

function isKind<Kind extends LiveState['kind']>(
  state: LiveState,
  kind: Kind,
): state is Extract<LiveState, { kind: Kind }> {
  return state.kind === kind;
}

const window = new FakeWindowView();
window.show([windowBlock(7, [windowBlob(1)], true), windowBlock(8)]);
const feed = () => new WindowFeed(new FakeArchiveView(), window, Date.now);
const whole = (id: string) => `event: window\nid: ${id}\ndata: ${feed().whole().toString()}\n\n`;
const problem = (response: ServerResponse, status: number, code: string) =>
  response.writeHead(status).end(JSON.stringify({ code, detail: 'It is so.', hint: 'Do this.' }));

describe('the live window', () => {
  test('the window is live with its first event, lost when the stream ends, and resumes after the last event', async () => {
    const { scene, asked, live, until } = await followed();
    scene.answer = (_, response) => {
      response.write(whole('a.1'));
      setTimeout(() => response.end(), 20);
    };
    const first = until('live');
    live.start();
    expect((await first).window.blocks.map(({ height, blobs }) => [height, blobs.map(({ state }) => state)])).toEqual([
      [7, ['final']],
      [8, []],
    ]);
    const lost = await until('lost');
    expect([lost.last?.blocks.length, lost.retryAtMs - lost.sinceMs]).toEqual([2, 5]);
    await until('live');
    expect(asked.map(({ headers }) => headers['last-event-id']).slice(0, 2)).toEqual([undefined, 'a.1']);
  });

  test('a silent connection counts as broken, although it is open', async () => {
    const { scene, live, until } = await followed(300);
    scene.answer = (_, response) => void response.write(whole('a.1'));
    const lost = until('lost');
    live.start();
    expect((await lost).why).toBe('Nothing came for too long.');
  });

  test('an unreadable event is never shown, and the page requests the whole window again', async () => {
    const { scene, asked, live, until, states } = await followed();
    const answers = [whole('a.1'), 'event: change\nid: a.2\ndata: {"changed":7}\n\n', 'event: window\ndata: {\n\n'];
    scene.answer = (_, response) => void response.end(answers.shift() ?? whole('b.1'));
    const first = until('live');
    live.start();
    await first;
    expect((await until('lost')).why).toBe('The archive ended the connection.');
    expect((await until('lost')).why).toContain("The archive's answer is not as expected");
    await until('live');
    expect(asked.map(({ headers }) => headers['last-event-id']).slice(0, 4)).toEqual([
      undefined,
      'a.1',
      undefined,
      undefined,
    ]);
    expect(states.filter(({ kind }) => kind === 'live').length).toBeGreaterThanOrEqual(2);
  });

  test('the time of the loss stays the same over all attempts, whose delays grow', async () => {
    const { scene, live, until, states } = await followed();
    scene.answer = (_, response) => response.destroy();
    const first = until('lost');
    live.start();
    const { sinceMs } = await first;
    for (let attempt = 0; attempt < 4; attempt += 1) await until('lost');
    const losses = states.filter((state) => state.kind === 'lost');
    expect(new Set(losses.map((state) => state.sinceMs))).toEqual(new Set([sinceMs]));
    expect(losses.every(({ last }) => last === null)).toBe(true);
  });

  test('a missing token, a wrong token and a server without a window end the attempts', async () => {
    const { scene, live, until, token, asked } = await followed();
    scene.answer = (_, response) => problem(response, 401, 'http/unauthorized');
    let needs = until('needs-token');
    live.start();
    expect((await needs).wasRefused).toBe(false);
    token.value = 'secret';
    needs = until('needs-token');
    live.start();
    expect((await needs).wasRefused).toBe(true);
    expect(asked.at(-1)?.headers.authorization).toBe('Bearer secret');
    scene.answer = (_, response) => problem(response, 503, 'chain/not-walked');
    const none = until('no-window');
    live.start();
    await none;
    const before = asked.length;
    scene.answer = (_, response) => problem(response, 503, 'http/too-busy');
    const lost = until('lost');
    live.start();
    expect((await lost).why).toBe('It is so.');
    expect(asked.length).toBe(before + 1);
  });
});
