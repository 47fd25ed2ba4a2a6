import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { HttpLimits } from '../../src/http/config.ts';
import type { HttpMetrics } from '../../src/http/metrics.ts';
import { eventually } from '../e2e/eventually.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { running } from './harness.ts';
import { get, headAndBody, RawClient } from './raw-client.ts';

const BLOB = blobOf(bytesOf(700));
const PATH = `/v1/blobs/${BLOB.versionHash}`;
/** Anything but a plain request for a blob: node's HTTP has the connection from then on. */
const OTHER = get('/healthz');

/** Gives its one blob at once. */
class GlancingView extends FakeArchiveView {
  isWithheldNow = false;
  isWithheld = () => this.isWithheldNow;
  glance = (versionHash: string) => this.blobs.get(versionHash) ?? null;
}

async function bare(limits: Partial<HttpLimits> = {}, blob = BLOB) {
  const view = new GlancingView();
  view.add(blob);
  const answered: unknown[][] = [];
  const metrics: HttpMetrics = {
    answered: (...of) => answered.push(of.slice(0, 3)),
    contentType: 'text/plain',
    scrape: async () => '',
  };
  const server = await running(view, limits, new FakeChainView(), { metrics });
  return { ...server, view, answered, open: () => RawClient.open(server.port) };
}

/** Status and body of each whole answer, in their order; every one of them says its length. */
function answersIn(received: Buffer): { status: number; head: string; body: Buffer }[] {
  const answers = [];
  for (let rest = received; rest.includes('\r\n\r\n'); ) {
    const { head } = headAndBody(rest.toString('latin1', 0, 2_048));
    const begin = head.length + 4;
    const end = begin + Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    if (rest.length < end) break;
    answers.push({ status: Number(head.slice(9, 12)), head, body: rest.subarray(begin, end) });
    rest = rest.subarray(end);
  }
  return answers;
}

const statuses = (client: RawClient) => answersIn(client.received).map(({ status }) => status);

test('the answer is that of node, header by header', async () => {
  const { open } = await bare();
  const heads = [];
  for (const before of [[], [OTHER]]) {
    const client = await open();
    for (const [at, request] of [...before, get(PATH)].entries()) {
      client.send(request);
      await eventually(() => expect(answersIn(client.received)).toHaveLength(at + 1));
    }
    const answer = answersIn(client.received).at(-1);
    expect(answer?.body.equals(BLOB.bytes)).toBe(true);
    const lines = answer?.head.split('\r\n') ?? [];
    heads.push(lines.map((line) => line.replace(/^(date|x-request-id): .*/i, '$1')).sort());
  }
  expect(heads[0]).toEqual(heads[1]);
  expect(heads[0]).toHaveLength(15);
});

test('any other request goes to node with its connection, and so does all that follows', async () => {
  const { open, answered } = await bare();
  const client = await open();
  for (const [at, request] of [
    get(PATH),
    get(PATH),
    get(PATH, { Range: 'bytes=1-3' }),
    get(PATH),
    `POST /check_vh HTTP/1.1\r\nHost: a\r\nContent-Length: 68\r\n\r\n["${BLOB.versionHash}"]`,
    get(PATH),
  ].entries()) {
    client.send(request);
    await eventually(() => expect(statuses(client)).toHaveLength(at + 1));
  }
  expect(statuses(client).toSpliced(4, 1)).toEqual([200, 200, 206, 200, 200]);
  await eventually(() => expect(answered).toHaveLength(6));
  expect(answered[0]).toEqual(['/v1/blobs/:versionHash', 'GET', 200]);
});

test('however requests are cut into pieces and joined, each has its answer, in order', async () => {
  const { open } = await bare();
  const kinds = [
    { text: get(PATH), status: 200 },
    { text: get(PATH, { 'User-Agent': 'a b' }), status: 200 },
    { text: get(PATH, { Range: 'bytes=0-9' }), status: 206 },
    { text: OTHER, status: 200 },
    { text: get('/nothing'), status: 404 },
    { text: `POST /check_vh HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}`, status: 400 },
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(900), { maxLength: 6 }),
      async (requests, cuts) => {
        const client = await open();
        client.socket.setNoDelay(true);
        const all = requests.map(({ text }) => text).join('');
        const places = [0, ...cuts.map((cut) => cut % all.length).sort((a, b) => a - b), all.length];
        for (const [at, end] of places.slice(1).entries()) {
          client.send(all.slice(places[at], end));
          await new Promise((resolve) => setImmediate(resolve));
        }
        await eventually(() => expect(statuses(client)).toHaveLength(requests.length));
        expect(statuses(client)).toEqual(requests.map(({ status }) => status));
        client.socket.destroy();
      },
    ),
    { numRuns: 60 },
  );
});

const LINE = `GET ${PATH} HTTP/1.1\r\n`;

test.each([
  ['without Host', `${LINE}\r\n`],
  ['two Hosts', `${LINE}Host: a\r\nHost: b\r\n\r\n`],
  ['a space before the colon', `${LINE}Host : a\r\n\r\n`],
  ['a folded line', `${LINE}Host: a\r\nAccept: x\r\n y\r\n\r\n`],
  ['bare line feeds', `GET ${PATH} HTTP/1.1\nHost: a\n\n`],
  ['a body by length', `${LINE}Host: a\r\nContent-Length: 3\r\n\r\nabc`],
  ['a body in chunks', `${LINE}Host: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['both lengths', `${LINE}Host: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['HTTP/1.0', `GET ${PATH} HTTP/1.0\r\nHost: a\r\n\r\n`],
  ['a method in small letters', `get ${PATH} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['a control character', `${LINE}Host: a\r\nAccept: \u0001\r\n\r\n`],
  ['an empty header name', `${LINE}Host: a\r\n: b\r\n\r\n`],
  ['leave to send a body', `${LINE}Host: a\r\nExpect: 100-continue\r\n\r\n`],
  ['another protocol wanted', `${LINE}Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`],
  ['no keep-alive', `${LINE}Host: a\r\nConnection: close\r\n\r\n`],
  ['two spaces', `GET  ${PATH} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['a hash in capitals', `GET ${PATH.toUpperCase().replace('/V1/BLOBS', '/v1/blobs')} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['a query', `GET ${PATH}?a=1 HTTP/1.1\r\nHost: a\r\n\r\n`],
])('%s means here what it means to node', async (_what, request) => {
  const { open } = await bare();
  const seen = [];
  for (const first of [get(PATH), OTHER]) {
    const client = await open();
    client.send(first);
    await eventually(() => expect(statuses(client)).toHaveLength(1));
    client.send(request);
    await eventually(() => expect(client.isClosed || statuses(client).length > 1).toBe(true));
    seen.push(client.text.match(/HTTP\/1\.1 \d+/g)?.[1]);
  }
  expect(seen[0]).toBe(seen[1]);
});

test('its limits are those of the common way, and counted together', async () => {
  const { open } = await bare({ ratePerSecond: 1 });
  const client = await open();
  for (let round = 1; round <= 3; round += 1) {
    client.send(get(PATH));
    await eventually(() => expect(statuses(client)).toHaveLength(round));
  }
  expect(statuses(client)).toEqual([200, 200, 429]);
});

test('what is withheld is refused on a connection that it was given on', async () => {
  const { open, view } = await bare();
  const client = await open();
  client.send(get(PATH));
  await eventually(() => expect(statuses(client)).toEqual([200]));
  view.isWithheldNow = true;
  view.reading = async () => ({ kind: 'withheld', at: null });
  client.send(get(PATH));
  await eventually(() => expect(statuses(client)).toEqual([200, 451]));
});

test('who says nothing is told why it is closed', async () => {
  const silent = await (await bare({ headersTimeoutMs: 50 })).open();
  expect(await silent.closed()).toMatch(/^HTTP\/1\.1 408 /);
});

test('who goes silent behind an answer is closed', async () => {
  const client = await (await bare({ keepAliveTimeoutMs: 1 })).open();
  client.send(get(PATH));
  await client.closed();
  expect(statuses(client)).toEqual([200]);
});

test('who closes its side behind its question still has the answer', async () => {
  const { open } = await bare();
  const client = await open();
  client.socket.end(get(PATH));
  await client.closed();
  expect(statuses(client)).toEqual([200]);
});

test('who asks and asks without reading gets all answers when it does', async () => {
  const large = blobOf(bytesOf(60_000));
  const { open, answered } = await bare({ ratePerSecond: 0, concurrentPerClient: 0 }, large);
  const client = await open();
  client.socket.setNoDelay(true);
  client.socket.pause();
  const count = 600;
  for (let asked = 0; asked < count; asked += 1) {
    client.send(get(`/v1/blobs/${large.versionHash}`));
    if (asked % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await eventually(() => expect(answered.length).toBeGreaterThan(0));
  client.socket.resume();
  await eventually(() => expect(answered).toHaveLength(count));
  await eventually(() => expect(client.socket.bytesRead).toBeGreaterThan(count * (60_000 + 500)));
  await eventually(() => expect(answersIn(client.received)).toHaveLength(count));
  expect(answersIn(client.received).every(({ status, body }) => status === 200 && body.equals(large.bytes))).toBe(true);
});

test('a drain closes idle connections at once, and cuts nothing', async () => {
  const { open, server } = await bare({ drainMs: 60_000 });
  const clients = await Promise.all([open(), open()]);
  clients[0]?.send(get(PATH));
  await clients[0]?.until((text) => text.includes('200 OK'));
  expect(await server.close()).toEqual({ cutRequests: 0 });
  await Promise.all(clients.map((client) => client.closed()));
});
