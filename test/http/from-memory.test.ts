import { expect, onTestFinished, test } from 'vitest';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { createHttpServer } from '../../src/http/index.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { LARGE_PART_BYTES } from '../../src/http/part-memory.ts';
import { TokenList } from '../../src/http/token-list.ts';
import { blobOf, bytesOf, FakeArchiveView, hugeBlob } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { archiveRoutes, running, STOPPED_CLOCK, type TestOptions, testOptions } from './harness.ts';
import { get as getOf, RawClient } from './raw-client.ts';

const BLOB = blobOf(bytesOf(1_024));
const PATH = `/v1/blobs/${BLOB.versionHash}`;

async function cached(given: Partial<TestOptions> = {}, view = new FakeArchiveView(1_048_576)) {
  view.add(BLOB);
  const options = { ...testOptions(given.limits), ...given };
  const server = await createHttpServer(archiveRoutes(view, new FakeChainView(), options), options);
  onTestFinished(async () => {
    await server.close();
  });
  const { url } = await server.listen();
  const get = (headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(`${url}${PATH}`, { headers, ...init });
  return { url, view, get, reported: options.reported };
}

test('a blob that was given once comes from memory, with the same head and bytes', async () => {
  const { view, get } = await cached();
  const first = await get();
  const again = await get();
  expect(view.asked).toHaveLength(1);
  const heads = [first, again].map(({ headers }) => {
    const shown = Object.fromEntries(headers);
    expect(shown['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    return { ...shown, 'x-request-id': '', date: '' };
  });
  expect(heads[1]).toEqual(heads[0]);
  for (const answer of [first, again]) expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from(BLOB.bytes));
});

test('ranges, conditions and HEAD are answered as ever, from memory too', async () => {
  const { view, get } = await cached();
  const tag = (await get()).headers.get('etag') ?? '';
  expect((await get({ range: 'bytes=1-3' })).status).toBe(206);
  expect((await get({ 'if-none-match': tag })).status).toBe(304);
  expect((await get({}, { method: 'HEAD' })).headers.get('content-length')).toBe('1024');
  expect(view.asked).toHaveLength(1);
});

test('answers from memory count towards the rate of their client', async () => {
  const { get } = await cached({ limits: { ratePerSecond: 1 }, clock: STOPPED_CLOCK });
  const statuses = [];
  for (let round = 0; round < 4; round += 1) statuses.push((await get()).status);
  expect(statuses).toEqual([200, 200, 429, 429]);
});

test('memory takes a token where reading takes one', async () => {
  const token = 'a token';
  const hex = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(token))).toString('hex');
  const { get } = await cached({ readTokens: TokenList.parse(`sha256:${hex}`, 'test') });
  const good = `Basic ${btoa(`user:${token}`)}`;
  expect((await get({ authorization: good })).status).toBe(200);
  expect((await get({ authorization: good })).status).toBe(200);
  expect((await get()).status).toBe(401);
});

test('a blob that is withheld from now on is not given out of memory', async () => {
  const { view, get } = await cached();
  expect((await get()).status).toBe(200);
  expect((await get()).status).toBe(200);
  view.refusing = { kind: 'withheld', at: null, publicReason: null };
  expect((await get()).status).toBe(451);
  view.refusing = null;
  expect((await get()).status).toBe(200);
});

test('a blob that is withheld while it is looked for is not given out, and not kept', async () => {
  const { view, get } = await cached();
  view.reading = async () => {
    view.refusing = { kind: 'withheld', at: null, publicReason: null };
    return { kind: 'found', blob: BLOB };
  };
  expect((await get()).status).toBe(451);
  expect((await get()).status).toBe(451);
  expect(view.asked).toHaveLength(1);
});

test('a request id of the client comes back, and one that could do harm does not', async () => {
  const { get } = await cached();
  await get();
  expect((await get({ 'x-request-id': 'mine-1' })).headers.get('x-request-id')).toBe('mine-1');
  expect((await get({ 'x-request-id': 'a b' })).headers.get('x-request-id')).not.toBe('a b');
});

test('readers that do not read hold one copy of what is kept, as bytes, hex or calls, and others get it meanwhile', async () => {
  const view = new FakeArchiveView(128 * 1_048_576);
  const huge = view.add(hugeBlob());
  let reads = 0;
  const find = view.find.bind(view);
  view.find = (name, asking) => {
    reads += 1;
    return find(name, asking);
  };
  const registry = new MetricsRegistry();
  const limits = { answerBytes: 160 * 1_048_576, answerWaitMs: 50 };
  const metrics = declareHttpMetrics(registry);
  const { port, url } = await running(view, limits, new FakeChainView(), { metrics, trustProxy: 1 });
  const raw = `/v1/blobs/${huge.versionHash}`;
  const call = JSON.stringify({ id: 1, method: 'getnevmblobdata', params: [huge.versionHash, true] });
  const requestOf = [
    (from: Record<string, string>) => getOf(raw, from),
    (from: Record<string, string>) => getOf(`/vh/${huge.versionHash}`, from),
    (from: Record<string, string>) =>
      `POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${from['X-Forwarded-For']}\r\nContent-Length: ${call.length}\r\n\r\n${call}`,
  ];
  const whole = async (path: string, client: string) =>
    (await (await fetch(`${url}${path}`, { headers: { 'x-forwarded-for': client } })).arrayBuffer()).byteLength;
  // The blob is worth its memory from the third time on.
  for (let time = 0; time < 3; time += 1) expect(await whole(raw, '192.0.2.9')).toBe(huge.bytes.length);
  const readers = await Promise.all(Array.from({ length: 60 }, () => RawClient.open(port)));
  for (const [index, reader] of readers.entries()) {
    reader.socket.pause();
    reader.send(requestOf[index % 3]?.({ 'X-Forwarded-For': `192.0.2.${index % 4}` }) ?? '');
  }
  const held = async () =>
    Number(/^holdfast_http_answer_memory_bytes\{listener="port"\} (\S+)$/m.exec(await registry.scrape())?.[1]);
  // Forty as hex hold a piece of text each, which grows with time. All pieces together are less than one copy.
  await expect.poll(held).toBeGreaterThanOrEqual(40 * 65_536);
  expect(40 * LARGE_PART_BYTES).toBeLessThan(huge.bytes.length);
  expect(await held()).toBeLessThanOrEqual(40 * LARGE_PART_BYTES);
  expect(await whole(raw, '198.51.100.1')).toBe(huge.bytes.length);
  expect(reads).toBe(3);
});

test('a reader that has had its time loses what it was lent to what is to be kept, and the metrics count it', async () => {
  let nowMs = 0;
  const huge = hugeBlob();
  const view = new FakeArchiveView(huge.bytes.length, { steadyMs: () => nowMs });
  view.add(huge);
  view.add(BLOB);
  const registry = new MetricsRegistry();
  const limits = { answerBytes: 160 * 1_048_576 };
  const { port, url } = await running(view, limits, undefined, { metrics: declareHttpMetrics(registry) });
  const readAll = async (path: string) => (await (await fetch(`${url}${path}`)).arrayBuffer()).byteLength;
  const path = `/v1/blobs/${huge.versionHash}`;
  for (let time = 0; time < 3; time += 1) expect(await readAll(path)).toBe(huge.bytes.length);
  const slow = await RawClient.open(port);
  slow.send(getOf(path));
  await slow.until((text) => text.includes('\r\n\r\n'));
  slow.socket.pause();
  nowMs = 11_000;
  // The other blob is small, and kept at once: the large one makes room for it.
  expect(await readAll(PATH)).toBe(BLOB.bytes.length);
  expect(await registry.scrape()).toMatch(/^holdfast_http_answer_memory_cuts_total\{listener="port"\} 1$/m);
  slow.socket.resume();
  expect((await slow.closed()).length).toBeLessThan(huge.bytes.length);
});

test('an answer that is prepared for longer than a reader may take has what it was lent all the same', async () => {
  let nowMs = 0;
  const large = blobOf(bytesOf(1_500_000));
  const late = blobOf(bytesOf(1_000));
  const view = new FakeArchiveView(large.bytes.length, { steadyMs: () => nowMs });
  for (const blob of [large, late, BLOB]) view.add(blob);
  const { url } = await running(view);
  const readAll = async (path: string) => (await (await fetch(`${url}${path}`)).arrayBuffer()).byteLength;
  for (let time = 0; time < 3; time += 1) await readAll(`/v1/blobs/${large.versionHash}`);
  const asked = Promise.withResolvers<void>();
  const found = Promise.withResolvers<void>();
  view.reading = async ({ versionHash }) => {
    if (versionHash === late.versionHash) {
      asked.resolve();
      await found.promise;
    }
    const blob = view.blobs.get(versionHash);
    return blob === undefined ? { kind: 'absent' } : { kind: 'found', blob };
  };
  const calls = [large, late].map(({ versionHash }, id) => ({
    id,
    method: 'getnevmblobdata',
    params: [versionHash, true],
  }));
  const answer = fetch(url, { method: 'POST', body: JSON.stringify(calls) }).then((response) => response.text());
  await asked.promise;
  nowMs = 11_000;
  expect(await readAll(PATH)).toBe(BLOB.bytes.length);
  found.resolve();
  expect((await answer).length).toBeGreaterThan(2 * (large.bytes.length + late.bytes.length));
});
