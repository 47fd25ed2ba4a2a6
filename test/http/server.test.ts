import { once } from 'node:events';
import { createServer } from 'node:net';
import { Client } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BlobLookup } from '../../src/archive/archive-view.ts';
import { MAX_BLOB_BYTES } from '../../src/blob/limits.ts';
import { createHttpServer, HttpError } from '../../src/http/index.ts';
import { blobOf, bytesOf, FakeArchiveView, hugeBlob } from './fake-archive-view.ts';
import { running, testOptions } from './harness.ts';
import { get, headAndBody, RawClient } from './raw-client.ts';

function viewWith(sizeBytes: number) {
  const view = new FakeArchiveView();
  const blob = view.add(blobOf(bytesOf(sizeBytes)));
  return { view, blob, path: `/v1/blobs/${blob.versionHash}` };
}

function unreadable() {
  const view = new FakeArchiveView();
  const blob = view.add(hugeBlob());
  return { view, blob, path: `/v1/blobs/${blob.versionHash}` };
}

/** A read that begins when asked, and ends when the test says. */
function heldRead(view: FakeArchiveView) {
  const begun = Promise.withResolvers<AbortSignal>();
  const held = Promise.withResolvers<BlobLookup>();
  view.reading = (_name, signal) => {
    begun.resolve(signal);
    return held.promise;
  };
  return { begun: begun.promise, finish: held.resolve, fail: held.reject };
}

function undici(url: string): Client {
  const client = new Client(url);
  onTestFinished(() => client.destroy());
  return client;
}

describe('listening', () => {
  test('takes a free port and says where', async () => {
    const { url, port } = await running(new FakeArchiveView());
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  async function refusal(host: string, port: number): Promise<unknown> {
    const server = await createHttpServer(new FakeArchiveView(), { ...testOptions(), host, port });
    onTestFinished(async () => {
      await server.close();
    });
    return server.listen().then(
      () => null,
      (error: unknown) => error,
    );
  }

  test('says that the port is in use, and what to do', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => {
      other.close();
    });
    const address = other.address();
    if (address === null || typeof address === 'string') throw new Error('No port.');
    const error = await refusal('127.0.0.1', address.port);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({
      code: 'http/port-in-use',
      message: `Cannot listen on 127.0.0.1 port ${address.port}: the port is in use.`,
      hint: expect.stringContaining('HOLDFAST_HTTP_PORT'),
      details: { systemCode: 'EADDRINUSE' },
    });
  });

  test.each([
    ['192.0.2.1', 0, 'http/bad-host'],
    ['no-such-host.invalid', 0, 'http/bad-host'],
    ['127.0.0.1', 65_536, 'http/bad-port'],
  ])('refuses %s port %i', async (host, port, code) => {
    expect(await refusal(host, port)).toMatchObject({ code, retryable: false });
  });

  test('can be closed before, after a failure, and twice', async () => {
    const server = await createHttpServer(new FakeArchiveView(), testOptions());
    const [first, second] = await Promise.all([server.close(), server.close()]);
    expect(first).toEqual({ cutRequests: 0 });
    expect(second).toBe(first);
  });
});

describe('connections', () => {
  test('one serves many requests', async () => {
    const { view, blob, path } = viewWith(MAX_BLOB_BYTES);
    const { url } = await running(view);
    const client = undici(url);
    let connections = 0;
    client.on('connect', () => {
      connections += 1;
    });
    for (let turn = 0; turn < 5; turn += 1) {
      const { statusCode, body } = await client.request({ method: 'GET', path });
      expect(statusCode).toBe(200);
      expect(Buffer.compare(Buffer.from(await body.arrayBuffer()), blob.bytes)).toBe(0);
    }
    expect(connections).toBe(1);
  });

  test('pipelined requests are answered in order', async () => {
    const { view, path } = viewWith(10);
    const { port } = await running(view);
    const client = await RawClient.open(port);
    client.send(get('/healthz') + get('/nothing') + get(path, { Connection: 'close' }));
    expect([...(await client.closed()).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '200',
      '404',
      '200',
    ]);
  });

  test('one that is idle for too long is closed', async () => {
    const { port } = await running(new FakeArchiveView(), { keepAliveTimeoutMs: 1 });
    const client = await RawClient.open(port);
    client.send(get('/healthz'));
    expect(await client.closed()).toContain('200 OK');
  });

  test('a request that does not end gets 408', async () => {
    const { port } = await running(new FakeArchiveView(), { headersTimeoutMs: 10, requestTimeoutMs: 20 });
    const client = await RawClient.open(port);
    client.send('GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    const { head, body } = headAndBody(await client.closed());
    expect(head).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(body)).toMatchObject({ code: 'http/request-timeout', status: 408 });
  });

  test('a reader that stops reading is cut off', async () => {
    const { view, blob, path } = unreadable();
    const read = heldRead(view);
    const { port } = await running(view, { stalledTimeoutMs: 100 });
    const client = await RawClient.open(port);
    client.socket.pause();
    client.send(get(path));
    const signal = await read.begun;
    read.finish({ kind: 'found', blob });
    await once(signal, 'abort');
  });

  test('beyond the limit none is taken, and those that are open go on', async () => {
    const { port } = await running(new FakeArchiveView(), { maxConnections: 1 });
    const first = await RawClient.open(port);
    first.send(get('/healthz'));
    await first.until((text) => text.includes('alive'));
    expect(await (await RawClient.open(port)).closed()).toBe('');
    first.send(get('/nothing'));
    expect(await first.until((text) => text.includes('no-such-route'))).toContain('404 Not Found');
  });
});

describe('a client that goes away', () => {
  test('aborts what was done for it, and is no fault', async () => {
    const { view, path } = viewWith(10);
    const read = heldRead(view);
    const { port, url, reported } = await running(view);
    const client = await RawClient.open(port);
    client.send(get(path));
    const signal = await read.begun;
    expect(signal.aborted).toBe(false);
    client.socket.destroy();
    await once(signal, 'abort');
    expect(signal.reason).toMatchObject({ code: 'http/client-gone' });
    read.fail(signal.reason);
    view.reading = null;
    expect((await fetch(`${url}${path}`)).status).toBe(200);
    expect(reported).toEqual([]);
  });

  test('also aborts what waits behind it on its connection', async () => {
    const { view, path } = viewWith(10);
    const signals: AbortSignal[] = [];
    const both = Promise.withResolvers<void>();
    view.reading = (_name, signal) => {
      signals.push(signal);
      if (signals.length === 2) both.resolve();
      return new Promise(() => undefined);
    };
    const { port } = await running(view);
    const client = await RawClient.open(port);
    client.send(get(path) + get(path));
    await both.promise;
    const aborted = Promise.all(signals.map((signal) => once(signal, 'abort')));
    client.socket.destroy();
    await aborted;
  });

  test('but one that stays has a quiet signal, before its answer and after', async () => {
    const { view, blob, path } = viewWith(10);
    const read = heldRead(view);
    const { url } = await running(view);
    const client = undici(url);
    const answer = client.request({ method: 'GET', path });
    const signal = await read.begun;
    await (await fetch(`${url}/healthz`)).text();
    expect(signal.aborted).toBe(false);
    read.finish({ kind: 'found', blob });
    await (await answer).body.arrayBuffer();
    await (await client.request({ method: 'GET', path: '/healthz' })).body.text();
    expect(signal.aborted).toBe(false);
  });
});

describe('closing', () => {
  test('closes idle and silent connections at once', async () => {
    const { port, server } = await running(new FakeArchiveView(), { drainMs: 60_000 });
    const silent = await RawClient.open(port);
    const halfway = await RawClient.open(port);
    const idle = await RawClient.open(port);
    halfway.send('GET /healthz HTTP/1.1\r\nHos');
    idle.send(get('/healthz'));
    await idle.until((text) => text.includes('alive'));
    expect(await server.close()).toEqual({ cutRequests: 0 });
    await Promise.all([silent.closed(), halfway.closed(), idle.closed()]);
  });

  test('lets an open request finish, on a connection that then ends', async () => {
    const { view, blob, path } = viewWith(MAX_BLOB_BYTES);
    const read = heldRead(view);
    const { port, server } = await running(view, { drainMs: 60_000 });
    const client = await RawClient.open(port);
    client.send(get(path));
    await read.begun;
    const closed = server.close();
    read.finish({ kind: 'found', blob });
    await client.closed();
    const headEnd = client.received.indexOf('\r\n\r\n');
    expect(client.text.slice(0, headEnd).toLowerCase()).toContain('connection: close');
    expect(Buffer.compare(client.received.subarray(headEnd + 4), blob.bytes)).toBe(0);
    expect(await closed).toEqual({ cutRequests: 0 });
  });

  test('lets a slow reader have its answer to the end', async () => {
    const { view, blob, path } = unreadable();
    const { port, server } = await running(view, { drainMs: 60_000 });
    const client = await RawClient.open(port);
    client.send(get(path));
    await client.until((text) => text.includes('200 OK'));
    client.socket.pause();
    const closed = server.close();
    client.socket.resume();
    await client.closed();
    expect(client.received.length - client.received.indexOf('\r\n\r\n') - 4).toBe(blob.bytes.length);
    expect(await closed).toEqual({ cutRequests: 0 });
  });

  test('accepts nothing new meanwhile', async () => {
    const { view, blob, path } = viewWith(10);
    const read = heldRead(view);
    const { port, url, server } = await running(view, { drainMs: 60_000 });
    const client = await RawClient.open(port);
    client.send(get(path));
    await read.begun;
    const closed = server.close();
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    read.finish({ kind: 'found', blob });
    await closed;
  });

  test('cuts what does not end in time, and says how much', async () => {
    const { view, path } = viewWith(10);
    const read = heldRead(view);
    const { port, server, reported } = await running(view, { drainMs: 20 });
    const client = await RawClient.open(port);
    client.send(get(path));
    const signal = await read.begun;
    expect(await server.close()).toEqual({ cutRequests: 1 });
    expect(await client.closed()).toBe('');
    expect(signal.aborted).toBe(true);
    expect(reported).toEqual([]);
  });

  test('cuts a reader that does not read', async () => {
    const { view, path } = unreadable();
    const { port, server } = await running(view, { drainMs: 20 });
    const client = await RawClient.open(port);
    client.send(get(path));
    await client.until((text) => text.includes('200 OK'));
    client.socket.pause();
    expect(await server.close()).toEqual({ cutRequests: 1 });
  });
});

describe('garbage', () => {
  async function answerTo(bytes: string): Promise<{ status: string; body: string; text: string }> {
    const { port } = await running(new FakeArchiveView());
    const client = await RawClient.open(port);
    client.send(bytes);
    const text = await client.closed();
    const { head, body } = headAndBody(text);
    return { status: head.slice(9, 12), body, text };
  }

  test.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['NUL in the path', 'GET /v1/\0 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n'],
    ['two lengths', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: a\r\nX\r\n y: z\r\n\r\n'],
    ['another version', 'GET / HTTP/9.9\r\nHost: a\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('%s gets 400 and a problem', async (_what, bytes) => {
    const { status, body } = await answerTo(bytes);
    expect(status).toBe('400');
    expect(JSON.parse(body)).toMatchObject({ status: 400, code: expect.stringMatching(/^http\//) });
  });

  test('a flood of headers gets 431', async () => {
    const { status, body } = await answerTo(`GET / HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(4_000)}\r\n`);
    expect(status).toBe('431');
    expect(JSON.parse(body)).toMatchObject({ code: 'http/headers-too-large' });
  });

  test.each([
    ['/v1/blobs/../../../etc/passwd', '404'],
    ['/../../etc/passwd', '404'],
    ['*', '404'],
    ['http://evil.example/etc/passwd', '404'],
    ['/v1/blobs/..%2f..%2f..%2fetc%2fpasswd', '400'],
    ['/v1/blobs/%2e%2e/%2e%2e', '404'],
    ['//evil.example/%2e%2e', '404'],
  ])('%s leads nowhere', async (path, status) => {
    const answer = await answerTo(get(path, { Connection: 'close' }));
    expect(answer.status).toBe(status);
    expect(answer.text).toContain('application/problem+json');
  });

  test('a body on GET gets 400, and nobody waits for it', async () => {
    const { status, body } = await answerTo(get('/healthz', { 'Content-Length': '1000000000' }));
    expect(status).toBe('400');
    expect(JSON.parse(body)).toMatchObject({ code: 'http/body-not-allowed' });
  });

  test('a client that asks leave to send a body gets its answer instead', async () => {
    const { status } = await answerTo(
      'POST /v1/blobs HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n',
    );
    expect(status).toBe('405');
  });

  test('an odd method is refused like any other', async () => {
    const { status, text } = await answerTo('PROPFIND /v1/blobs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect(status).toBe('405');
    expect(text.toLowerCase()).toContain('allow: get, head, options');
  });

  test('an offer to speak something else is not taken up', async () => {
    const headers = { Connection: 'Upgrade, close', Upgrade: 'websocket' };
    expect((await answerTo(get('/healthz', headers))).status).toBe('200');
  });

  test('behind a good request it never gets into that one’s answer', async () => {
    const { view, blob, path } = viewWith(1_000);
    const read = heldRead(view);
    const { port } = await running(view);
    const client = await RawClient.open(port);
    client.send(`${get(path)}garbage\r\n\r\n`);
    await read.begun;
    read.finish({ kind: 'found', blob });
    const { body } = headAndBody(await client.closed());
    // Nothing, a beginning of the right bytes or all of them: never others.
    expect(Buffer.from(blob.bytes).toString('latin1').startsWith(body)).toBe(true);
  });
});
