import { expect, test } from 'vitest';
import { eventually } from '../e2e/eventually.ts';
import { blobOf, bytesOf, hugeBlob } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { running } from './harness.ts';
import { get, RawClient } from './raw-client.ts';
import { viewWith } from './served-blob.ts';

const SLOW_READERS = 1_000;
const MAX_P99_MS = 250;

function post(body: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST / HTTP/1.1\r\nHost: a\r\n${lines.join('')}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The 99th percentile of the milliseconds that so many requests, one after the other, take. All must have that status. */
async function p99Of(count: number, ask: () => Promise<Response>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const begunMs = performance.now();
    const answer = await ask();
    await answer.arrayBuffer();
    expect(answer.status).toBe(200);
    times.push(performance.now() - begunMs);
  }
  return times.toSorted((a, b) => a - b)[Math.ceil(count * 0.99) - 1] ?? Number.POSITIVE_INFINITY;
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

test('so many calls of one client wait for a block, and another client still can', async () => {
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

test('1,000 readers that do not read leave health, check_vh and small blobs as fast as they were', async () => {
  const { view } = viewWith(10);
  const huge = view.add(hugeBlob());
  const small = view.add(blobOf(bytesOf(1_024)));
  const { url, port } = await running(view, { maxConnections: 2_000 }, new FakeChainView(), { trustProxy: 1 });
  const readers: RawClient[] = [];
  for (let index = 0; index < SLOW_READERS; index += 1) {
    const reader = await RawClient.open(port);
    reader.socket.pause();
    reader.send(get(`/v1/blobs/${huge.versionHash}`, { 'X-Forwarded-For': `192.0.2.${index % 20}` }));
    readers.push(reader);
  }
  const from = (client: string) => ({ 'x-forwarded-for': client });
  const checked = { method: 'POST', body: JSON.stringify([small.versionHash]) };
  for (const client of ['192.0.2.1', '198.51.100.1']) {
    const headers = from(client);
    expect(await p99Of(50, () => fetch(`${url}/healthz`, { headers }))).toBeLessThan(MAX_P99_MS);
    expect(await p99Of(50, () => fetch(`${url}/check_vh`, { ...checked, headers }))).toBeLessThan(MAX_P99_MS);
  }
  const headers = from('198.51.100.1');
  expect(await p99Of(50, () => fetch(`${url}/v1/blobs/${small.versionHash}`, { headers }))).toBeLessThan(MAX_P99_MS);
  for (const reader of readers) reader.socket.destroy();
  const whole = async () =>
    (await (await fetch(`${url}/v1/blobs/${huge.versionHash}`, { headers })).arrayBuffer()).byteLength;
  // The system takes a while to tell that so many readers are gone.
  await expect.poll(whole, { timeout: 20_000 }).toBe(huge.bytes.length);
});

test('a body of a hundred thousand numbers is refused before it is parsed, and charged to its client', async () => {
  const { view } = viewWith(10);
  const { url } = await running(view);
  const body = `[${'1,'.repeat(131_070)}1]`;
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => (await fetch(url, { method: 'POST', body })).status),
  );
  expect(new Set(statuses)).toEqual(new Set([400, 429]));
  expect(statuses.filter((status) => status === 400).length).toBeLessThan(8);
});

test('a body that nests deeper than any call is refused before it is parsed', async () => {
  const { view } = viewWith(10);
  const { url } = await running(view);
  const answer = await fetch(url, { method: 'POST', body: '['.repeat(1_000) });
  expect(await answer.json()).toMatchObject({ result: null, error: { code: -32700 } });
});

test('bodies that do not come to their end hold their client back, and nobody else', async () => {
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
