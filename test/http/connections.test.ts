import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { MAX_BLOB_BYTES } from '../../src/core/blob/limits.ts';
import { connectionsWithin } from '../../src/http/open-files.ts';
import { FakeArchiveView } from './fake-archive-view.ts';
import { running } from './harness.ts';
import { get, headAndBody, RawClient } from './raw-client.ts';
import { heldRead, undici, unreadable, viewWith } from './served-blob.ts';

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

  test('nor one whose body does not come', async () => {
    const { port, reported } = await running(new FakeArchiveView(), { headersTimeoutMs: 10, requestTimeoutMs: 20 });
    const client = await RawClient.open(port);
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{');
    const { head, body } = headAndBody(await client.closed());
    expect(head).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(body)).toMatchObject({ code: 'http/request-timeout', status: 408 });
    expect(reported).toEqual([]);
  });

  test('a reader that stops reading is cut off', async () => {
    const { view, blob, path } = unreadable();
    const read = heldRead(view);
    const { port } = await running(view, { stalledTimeoutMs: 100 });
    const asked = async (): Promise<AbortSignal> => {
      const client = await RawClient.open(port);
      client.send(get(path));
      const begun = await Promise.race([read.begun, client.closed()]);
      client.socket.pause();
      // On a busy machine a connection can be cut off before its request was read.
      return typeof begun === 'string' ? asked() : begun;
    };
    const signal = await asked();
    read.finish({ kind: 'found', blob });
    await once(signal, 'abort');
  });

  test('beyond the limit the one that is idle longest makes room', async () => {
    const { port } = await running(new FakeArchiveView(), { maxConnections: 2 });
    const alive = async (client: RawClient, times: number) => {
      client.send(get('/healthz'));
      await client.until((text) => text.split('"alive"').length > times);
    };
    const [first, second] = [await RawClient.open(port), await RawClient.open(port)];
    await alive(first, 1);
    await alive(second, 1);
    await alive(first, 2);
    const third = await RawClient.open(port);
    await alive(third, 1);
    await second.closed();
    await alive(first, 3);
    await alive(third, 2);
  });

  test('a new connection is turned away while all are being answered', async () => {
    const { view, blob, path } = viewWith(10);
    const read = heldRead(view);
    const { port } = await running(view, { maxConnections: 1 });
    const first = await RawClient.open(port);
    first.send(get(path));
    await read.begun;
    expect(await (await RawClient.open(port)).closed()).toBe('');
    read.finish({ kind: 'found', blob });
    expect(await first.until((text) => text.includes('etag'))).toContain('200 OK');
  });

  test('few handles are few connections, so that files and backends have theirs', () => {
    expect(connectionsWithin(4_096, 1_000_000)).toBe(4_096);
    expect(connectionsWithin(4_096, 1_024)).toBe(341);
    expect(connectionsWithin(4_096, Number.POSITIVE_INFINITY)).toBe(4_096);
    expect(connectionsWithin(1, 0)).toBe(1);
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

  test('a connection that stays has a quiet signal, before its answer and after', async () => {
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
