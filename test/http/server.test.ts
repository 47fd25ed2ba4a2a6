import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MAX_BLOB_BYTES } from '../../src/core/blob/limits.ts';
import { createHttpServer, HttpError } from '../../src/http/index.ts';
import { FakeArchiveView } from './fake-archive-view.ts';
import { running, testOptions } from './harness.ts';
import { get, RawClient } from './raw-client.ts';
import { heldRead, unreadable, viewWith } from './served-blob.ts';

describe('listening', () => {
  test('takes a free port and says where', async () => {
    const { url, port } = await running(new FakeArchiveView());
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  async function refusal(host: string, port: number): Promise<unknown> {
    const server = await createHttpServer([], { ...testOptions(), host, port });
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
    ['', 0, 'http/bad-host'],
    ['127.0.0.1', 65_536, 'http/bad-port'],
  ])('refuses %s port %i', async (host, port, code) => {
    expect(await refusal(host, port)).toMatchObject({ code, retryable: false });
  });

  test('can be closed before, after a failure, and twice', async () => {
    const server = await createHttpServer([], testOptions());
    const [first, second] = await Promise.all([server.close(), server.close()]);
    expect(first).toEqual({ cutRequests: 0 });
    expect(second).toBe(first);
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
