import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createHttpServer } from '../../src/http/index.ts';
import { TokenList } from '../../src/http/token-list.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { chainUnavailable, FakeChainView } from './fake-chain-view.ts';
import { readerRoutes, running, testOptions } from './harness.ts';
import { daBatch } from './live-clients.ts';
import { headAndBody, RawClient } from './raw-client.ts';
import { rolluxReads } from './rollux-client.ts';
import { heldRead } from './served-blob.ts';

const BLOB = blobOf(bytesOf(300));
const HASH = BLOB.versionHash;
const CALL = JSON.stringify({ id: 1, method: 'getnevmblobdata', params: [HASH, true] });
const REFUSAL = z.looseObject({
  result: z.null(),
  error: z.object({ code: z.int(), message: z.string().min(1) }),
  id: z.union([z.null(), z.int()]),
});

interface Refused {
  readonly status: number;
  readonly body: string;
}

/** A POST in the bytes that a client sends. */
function post(path = '/', headers: Readonly<Record<string, string>> = {}, body = CALL): string {
  const all = { Host: 'archive', Connection: 'close', 'Content-Length': String(body.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

async function sent(port: number, bytes: string): Promise<Refused> {
  const client = await RawClient.open(port);
  client.send(bytes);
  return refusedBy(await client.closed());
}

function refusedBy(text: string): Refused {
  const { head, body } = headAndBody(text);
  return { status: Number(head.slice(9, 12)), body };
}

function archive() {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  view.add(BLOB);
  chain.mine(BLOB, 5);
  return { view, chain };
}

type Limits = Parameters<typeof running>[1];
type Given = Parameters<typeof running>[3];

async function serving(limits: Limits = {}, given: Given = {}) {
  const { view, chain } = archive();
  return { view, chain, ...(await running(view, limits, chain, given)) };
}

/** Neither an empty batch, nor a proof that the blob is absent. */
function expectRefused({ status, body }: Refused, expected: number): void {
  expect([status, rolluxReads(body)]).toEqual([expected, { kind: 'error' }]);
  const { error } = REFUSAL.parse(JSON.parse(body));
  expect(error.code).not.toBe(-32602);
}

const readTokens = TokenList.parse(`sha256:${createHash('sha256').update('token').digest('hex')}`, 'tokens');

describe('a refused call to the façade carries an error and no result', () => {
  test.each([
    ['a request that is not HTTP', 400, 'hello\r\n\r\n'],
    ['a NUL in a header', 400, post('/', { X: '\0' })],
    ['two lengths', 400, post('/', { 'content-length': '7' })],
    ['a length and chunks', 400, post('/', { 'Transfer-Encoding': 'chunked' })],
    ['another version', 400, post().replace('HTTP/1.1', 'HTTP/9.9')],
    ['no Host', 400, post().replace('Host: archive\r\n', '')],
    ['an unknown method', 400, post().replace('POST', 'POSTS')],
    ['a flood of headers', 431, post('/', { X: 'y'.repeat(20_000) })],
    ['a URL that is too long', 414, post(`/?${'a'.repeat(2_100)}`)],
    ['a path that cannot be decoded', 400, post('/%zz')],
    ['a path of a wallet, which Rollux appends', 404, post('/wallet/wallet')],
    ['a doubled slash', 404, post('//')],
    ['a route that takes GET only', 405, post(`/vh/${HASH}`)],
    ['a body that is too large', 413, post('/', {}, ' '.repeat(300_000))],
    ['a body that is announced too large', 413, post('/', { 'Content-Length': '300000' }, '')],
    ['a body that is not JSON', 500, post('/', {}, 'hello')],
    ['a content type that is none', 400, post('/', { 'Content-Type': ';;' })],
    ['an empty content type', 400, post('/', { 'Content-Type': '' })],
    ['no body', 500, post('/', {}, '')],
    ['a body that is no call', 400, post('/', {}, '{}')],
    ['a tunnel', 405, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('for %s: %i', async (_what, status, bytes) => {
    const { port } = await serving();
    expectRefused(await sent(port, bytes), status);
  });

  test.each(['text/plain', 'application/json', 'application/nonsense'])(
    'there is none for the content type %j',
    async (type) => {
      const { port } = await serving();
      const { status, body } = await sent(port, post('/', { 'Content-Type': type }));
      expect([status, rolluxReads(body)]).toEqual([
        200,
        { kind: 'accepted', data: Buffer.from(BLOB.bytes).toString('hex') },
      ]);
    },
  );

  test('without a read token: 401', async () => {
    const { port, url } = await serving({}, { readTokens });
    expectRefused(await sent(port, post()), 401);
    expectRefused(await sent(port, post('/', { Authorization: 'Bearer other' })), 401);
    expect(await daBatch(url, [HASH])).toEqual(['error']);
  });

  test('from a client that asks too often: 429', async () => {
    const { port, url } = await serving({ ratePerSecond: 0.000_001 });
    expectRefused(await sent(port, post()), 429);
    expect(await daBatch(url, [HASH])).toEqual(['error']);
  });

  test('from a client that has too many under way: 429', async () => {
    const { port, url, view } = await serving({ concurrentPerClient: 1 });
    const read = heldRead(view);
    const first = sent(port, post());
    await read.begun;
    expectRefused(await sent(port, post()), 429);
    expect(await daBatch(url, [HASH])).toEqual(['error']);
    view.reading = null;
    read.finish({ kind: 'found', blob: BLOB });
    expect((await first).status).toBe(200);
  });

  test('while the memory for answers is held by others: 503', async () => {
    const { port, url, view } = await serving({ answerBytes: 1, answerWaitMs: 1 });
    const read = heldRead(view);
    const first = sent(port, post());
    await read.begun;
    expectRefused(await sent(port, post()), 503);
    expect(await daBatch(url, [HASH])).toEqual(['error']);
    view.reading = null;
    read.finish({ kind: 'found', blob: BLOB });
    expect((await first).status).toBe(200);
  });

  test.each([
    ['headers', 'POST / HTTP/1.1\r\nHost: a\r\nX-Slow: '],
    ['body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{'],
  ])('has an error when its %s take too long: 408', async (_what, bytes) => {
    const { port } = await serving({ headersTimeoutMs: 10, requestTimeoutMs: 20 });
    expectRefused(await sent(port, bytes), 408);
  });

  test('has an error when it meets an error of the program: 503', async () => {
    const { port, url, view } = await serving();
    view.reading = () => Promise.reject(new Error('broken'));
    expectRefused(await sent(port, post()), 503);
    expect(await daBatch(url, [HASH])).toEqual(['error']);
  });

  test('while the chain cannot be asked: 503', async () => {
    const { port, url, chain } = await serving();
    chain.trouble = chainUnavailable('rebuilding');
    expectRefused(await sent(port, post('/', {}, '{"method":"getblockcount","id":3}')), 503);
    expect(await daBatch(url, ['ab'.repeat(32)])).toEqual(['error']);
  });

  test('has an error for a blob that the operator withholds: 503', async () => {
    const { port, url, view } = await serving();
    view.reading = async () => ({ kind: 'withheld', at: null, publicReason: null });
    expectRefused(await sent(port, post()), 503);
    expect(await daBatch(url, [HASH])).toEqual(['error']);
  });

  test('has an answer or a cut connection when it comes while the server stops', async () => {
    const { port, view, server } = await serving({ drainMs: 1 });
    const read = heldRead(view);
    const client = await RawClient.open(port);
    client.send(post());
    const signal = await read.begun;
    const aborted = once(signal, 'abort');
    await server.close();
    await aborted;
    const text = await client.closed();
    expect(text === '' || rolluxReads(headAndBody(text).body).kind === 'error').toBe(true);
  });
});

describe('a reader without a catalog refuses calls with an error', () => {
  async function reader(given: Given = {}) {
    const { view, chain } = archive();
    const parts = {
      reader: view.reader,
      proofs: chain.proofs.bind(chain),
      record: async () => null,
      status: () => ({ version: '1', conditions: [] }),
      conditions: () => [],
    };
    const options = { ...testOptions({ drainMs: 50 }), ...given };
    const server = await createHttpServer(readerRoutes(parts, options), options);
    onTestFinished(async () => {
      await server.close();
    });
    return await server.listen();
  }

  test.each([
    ['whatever is asked', 503, post(), {}],
    ['without a read token', 401, post(), { readTokens }],
    ['from a client that asks too often', 429, post(), { limits: { ratePerSecond: 0.000_001 } }],
    ['for a body that is too large', 413, post('/', {}, ' '.repeat(300_000)), {}],
    ['for a path of a wallet', 404, post('/wallet/wallet'), {}],
    ['for no HTTP', 400, 'hello\r\n\r\n', {}],
  ])('%s: %i', async (_what, status, bytes, given) => {
    const { port, url } = await reader(given);
    expectRefused(await sent(port, bytes), status);
    expect(await daBatch(url, [HASH])).toEqual(['error']);
  });
});

test('a refused POST to another route stays a problem document', async () => {
  const { port } = await serving();
  const { status, body } = await sent(port, post('/check_vh', {}, 'hello'));
  expect([status, Object.keys(z.looseObject({}).parse(JSON.parse(body)))]).toEqual([
    400,
    ['type', 'title', 'status', 'code', 'detail', 'hint'],
  ]);
});
