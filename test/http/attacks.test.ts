import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../e2e/eventually.ts';
import { SlowReaders, testWithSlowReaders } from '../servers/slow-readers.ts';
import { blobOf, bytesOf, hugeBlob } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FakeWindowView } from './fake-window-view.ts';
import { running, STOPPED_CLOCK } from './harness.ts';
import { get, RawClient } from './raw-client.ts';
import { heldRead, viewWith } from './served-blob.ts';

const SLOW_READERS = 1_000;
const MAX_MEDIAN_MS = 50;

function post(body: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST / HTTP/1.1\r\nHost: a\r\n${lines.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/**
 * The median of the milliseconds that so many requests, one after the other, take. They count in the processor time of this
 * thread, which never rests meanwhile: a server that works or waits uses it up, and the other processes of a busy machine do
 * not. All must have status 200.
 */
async function medianOf(count: number, ask: () => Promise<Response>): Promise<number> {
  const times: number[] = [];
  let turn = setImmediate(function next() {
    turn = setImmediate(next);
  });
  onTestFinished(() => clearImmediate(turn));
  for (let index = 0; index < count; index += 1) {
    const begun = process.threadCpuUsage();
    const answer = await ask();
    await answer.arrayBuffer();
    expect(answer.status).toBe(200);
    const { user, system } = process.threadCpuUsage(begun);
    times.push((user + system) / 1_000);
  }
  clearImmediate(turn);
  return times.toSorted((a, b) => a - b)[count / 2] ?? Number.POSITIVE_INFINITY;
}

test('calls that wait for a block hold no memory, whatever their ids say', async () => {
  const { view, path } = viewWith(1_024);
  const { url, port } = await running(view, { answerWaitMs: 100 }, new FakeChainView());
  const call = (id: string) => `{"method":"waitfornewblock","params":[55000],"id":${id}}`;
  const bodies = [
    ...Array.from({ length: 2 }, () => call('"listnevmblobdata true"')),
    ...Array.from({ length: 10 }, () => call('"true"')),
    ...Array.from({ length: 30 }, () => call('1') + ' '.repeat(100_000)),
  ];
  for (const body of bodies) (await RawClient.open(port)).send(post(body));
  for (const route of ['/healthz', '/readyz', '/v1/status', '/lastblock', path, path.replace('/v1/blobs', '/vh')]) {
    expect([route, (await fetch(`${url}${route}`)).status]).toEqual([route, 200]);
  }
});

test('the allowed calls of one client wait for a block, and another client still can', async () => {
  const { view } = viewWith(10);
  const { port } = await running(view, {}, new FakeChainView(), { trustProxy: 1 });
  const wait = (client: string, timeoutMs: number) =>
    post(`{"method":"waitfornewblock","params":[${timeoutMs}],"id":1}`, { 'X-Forwarded-For': client });
  const greedy = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(port)));
  for (const client of greedy) client.send(wait('192.0.2.1', 55_000));
  await eventually(() => expect(greedy.filter(({ text }) => text.includes(' 503 '))).toHaveLength(4));
  const modest = await RawClient.open(port);
  modest.send(wait('192.0.2.2', 1));
  expect(await modest.until((text) => text.includes('}'))).toContain('200 OK');
});

testWithSlowReaders(
  '1,000 readers that do not read leave health, check_vh and small blobs as fast as they were',
  async () => {
    const { view } = viewWith(10);
    const huge = view.add(hugeBlob());
    const small = view.add(blobOf(bytesOf(1_024)));
    const { url } = await running(view, { maxConnections: 2_000 }, new FakeChainView(), { trustProxy: 1 });
    const requests = Array.from({ length: SLOW_READERS }, (_, index) =>
      get(`/v1/blobs/${huge.versionHash}`, { 'X-Forwarded-For': `192.0.2.${index % 20}` }),
    );
    const readers = await SlowReaders.ask(url, requests);
    const from = (client: string) => ({ 'x-forwarded-for': client });
    const checked = { method: 'POST', body: JSON.stringify([small.versionHash]) };
    for (const client of ['192.0.2.1', '198.51.100.1']) {
      const headers = from(client);
      expect(await medianOf(200, () => fetch(`${url}/healthz`, { headers }))).toBeLessThan(MAX_MEDIAN_MS);
      expect(await medianOf(200, () => fetch(`${url}/check_vh`, { ...checked, headers }))).toBeLessThan(MAX_MEDIAN_MS);
    }
    const headers = from('198.51.100.1');
    expect(await medianOf(200, () => fetch(`${url}/v1/blobs/${small.versionHash}`, { headers }))).toBeLessThan(
      MAX_MEDIAN_MS,
    );
    await readers.leave();
    const whole = async () =>
      (await (await fetch(`${url}/v1/blobs/${huge.versionHash}`, { headers })).arrayBuffer()).byteLength;
    // The system takes a while to tell that so many readers are gone.
    await expect.poll(whole).toBe(huge.bytes.length);
  },
);

test('unread batches of large blobs leave small answers, health and check_vh to other clients', async () => {
  const { view, blob } = viewWith(2_000_000);
  const small = view.add(blobOf(bytesOf(1_024)));
  const { url, port } = await running(view, { answerWaitMs: 1_000 }, new FakeChainView(), { trustProxy: 1 });
  const call = (id: number) => ({ method: 'getnevmblobdata', params: [blob.versionHash, true], id });
  const batch = JSON.stringify(Array.from({ length: 16 }, (_, id) => call(id)));
  const greedy = { 'X-Forwarded-For': '192.0.2.1' };
  for (let index = 0; index < 30; index += 1) {
    const reader = await RawClient.open(port);
    reader.socket.pause();
    reader.send(post(batch, greedy));
  }
  const headers = { 'x-forwarded-for': '198.51.100.1' };
  const checked = { method: 'POST', body: JSON.stringify([small.versionHash]), headers };
  for (const [path, how] of [
    ['/healthz', { headers }],
    ['/check_vh', checked],
    [`/v1/blobs/${small.versionHash}`, { headers }],
    [`/vh/${small.versionHash}`, { headers }],
  ] as const) {
    expect(await medianOf(50, () => fetch(`${url}${path}`, how))).toBeLessThan(MAX_MEDIAN_MS);
  }
});

test('a body of a hundred thousand numbers is refused before it is parsed, and charged to its client', async () => {
  const { view } = viewWith(10);
  const { url } = await running(view, {}, new FakeChainView(), { clock: STOPPED_CLOCK });
  const body = `[${'1,'.repeat(131_070)}1]`;
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => (await fetch(url, { method: 'POST', body })).status),
  );
  expect(new Set(statuses)).toEqual(new Set([400, 429]));
});

test('a body that nests deeper than any call is refused before it is parsed', async () => {
  const { view } = viewWith(10);
  const { url } = await running(view);
  const answer = await fetch(url, { method: 'POST', body: '['.repeat(1_000) });
  expect(await answer.json()).toMatchObject({ result: null, error: { code: -32700 } });
});

test('bodies that do not come to their end hold their client back, and no other', async () => {
  const { view } = viewWith(10);
  const limits = { answerBytes: 8 * 1_048_576, ratePerSecond: 0, concurrentPerClient: 0 };
  const { url, port } = await running(view, limits, new FakeChainView(), { trustProxy: 1 });
  const begun = Array.from({ length: 40 }, async () => {
    const client = await RawClient.open(port);
    client.send(`POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 262144\r\n\r\n[1,`);
    return client;
  });
  const clients = await Promise.all(begun);
  await eventually(() => expect(clients.filter(({ isClosed }) => isClosed)).toHaveLength(24));
  expect(clients.find(({ isClosed }) => isClosed)?.text).toContain(' 503 ');
  const body = `{"method":"getblockcount","id":1}${' '.repeat(200_000)}`;
  const other = await fetch(url, { method: 'POST', body, headers: { 'x-forwarded-for': '192.0.2.2' } });
  expect(other.status).toBe(200);
});

test('methods of other protocols count like any request, and are refused without a fault', async () => {
  const { view } = viewWith(10);
  const { port, reported } = await running(view, { ratePerSecond: 1 }, new FakeChainView(), { clock: STOPPED_CLOCK });
  const statuses: string[] = [];
  for (let index = 0; index < 5; index += 1) {
    const next = await RawClient.open(port);
    next.send('DESCRIBE rtsp://a/ RTSP/1.0\r\nHost: a\r\n\r\n');
    statuses.push((await next.until((text) => text.includes('}'))).slice(9, 12));
  }
  expect(statuses).toContain('429');
  expect(statuses).not.toContain('500');
  expect(reported).toEqual([]);
});

test('a CONNECT behind another request leaves that request its answer', async () => {
  const { view, blob, path } = viewWith(10);
  const read = heldRead(view);
  const { port } = await running(view);
  const client = await RawClient.open(port);
  client.send(`${get(path)}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`);
  await read.begun;
  read.finish({ kind: 'found', blob });
  const text = await client.closed();
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '405']);
});

test.each([
  ['two hosts', 'Host: a\r\nHost: b', '400'],
  ['the same host twice', 'Host: a\r\nHost: a', '400'],
  ['a path', 'Host: a/b', '400'],
  ['a user', 'Host: x@a', '400'],
  ['a space', 'Host: a b', '400'],
  ['a port that is none', 'Host: a:http', '400'],
  ['a name and a port', 'Host: archive.example:8080', '200'],
  ['an address', 'Host: 127.0.0.1:80', '200'],
  ['an IPv6 address', 'Host: [::1]:8080', '200'],
])('Host with %s', async (_what, lines, status) => {
  const { view } = viewWith(10);
  const { port } = await running(view);
  const client = await RawClient.open(port);
  client.send(`GET /healthz HTTP/1.1\r\n${lines}\r\n\r\n`);
  expect((await client.until((text) => text.includes('}'))).slice(9, 12)).toBe(status);
});

test('a client with all event streams gives one up for another client', async () => {
  const { view } = viewWith(10);
  const given = { trustProxy: 1, window: new FakeWindowView() };
  const { port } = await running(view, { eventListeners: 4 }, new FakeChainView(), given);
  const listen = async (client: string) => {
    const stream = await RawClient.open(port);
    stream.send(get('/v1/events', { 'X-Forwarded-For': client }));
    await stream.until((text) => text.includes('data:') || text.includes('}'));
    return stream;
  };
  const greedy: RawClient[] = [];
  for (let index = 0; index < 4; index += 1) greedy.push(await listen('192.0.2.1'));
  expect((await listen('192.0.2.1')).text).toContain(' 503 ');
  expect((await listen('192.0.2.2')).text).toContain('200 OK');
  await eventually(() => expect(greedy[0]?.text.endsWith('0\r\n\r\n')).toBe(true));
  expect(greedy.slice(1).some(({ text }) => text.endsWith('0\r\n\r\n'))).toBe(false);
});
