import { describe, expect, test } from 'vitest';
import { StorageError } from '../../src/storage/errors.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { injectable } from './harness.ts';

const SECRET = 'password of the bucket';
const HASH = 'ab'.repeat(32);

function archive() {
  const view = new FakeArchiveView();
  return { view, ...injectable(view) };
}

describe('a request that no route takes', () => {
  test.each([
    '/v1',
    '/v1/blobs/',
    `/v1/blobs/${HASH}/`,
    `/v1/blobs/../../etc/passwd`,
    '/vh',
    '/vh/',
    '/V1/status',
    '//',
  ])('404 for %s', async (path) => {
    const { inject } = archive();
    // Hand-made: inject would tidy the path first.
    const answer = await inject({ method: 'GET', url: path });
    expect([404, 400]).toContain(answer.statusCode);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });

  test('an unknown route is a problem of its own', async () => {
    const { inject } = archive();
    expect((await inject('/nothing?a=1')).json()).toMatchObject({
      code: 'http/no-such-route',
      status: 404,
      detail: 'Nothing is at "/nothing".',
    });
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE'] as const)('405 for %s, with Allow', async (method) => {
    const { inject } = archive();
    for (const url of ['/v1/blobs', `/v1/blobs/${HASH}`, `/v1/blobs/${HASH}/record`, '/v1/status', `/vh/${HASH}`]) {
      const answer = await inject({ method, url });
      expect(answer.statusCode).toBe(405);
      expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS');
      expect(answer.json()).toMatchObject({ code: 'http/method-not-allowed' });
    }
  });

  test('405 also with a body that nothing here could parse', async () => {
    const { inject } = archive();
    const headers = { 'content-type': 'application/nonsense' };
    expect((await inject({ method: 'POST', url: '/v1/blobs', headers, payload: '{' })).statusCode).toBe(405);
    expect((await inject({ method: 'POST', url: '/nothing', headers, payload: '{' })).statusCode).toBe(404);
  });

  test('400 for a body on GET, and the connection is not kept', async () => {
    const { inject } = archive();
    const answer = await inject({ method: 'GET', url: '/v1/status', payload: 'hello' });
    expect(answer.statusCode).toBe(400);
    expect(answer.headers['connection']).toBe('close');
    expect(answer.json()).toMatchObject({ code: 'http/body-not-allowed' });
  });

  test('414 for a URL that no route needs', async () => {
    const { inject } = archive();
    for (const url of [`/v1/blobs/${'a'.repeat(2_048)}`, `/v1/status?${'a'.repeat(2_048)}`, `/${'a'.repeat(9_000)}`]) {
      expect((await inject(url)).json()).toMatchObject({ status: 414, code: 'http/uri-too-long' });
    }
  });

  test.each(['/v1/blobs/%zz', '/%', '/vh/%c3%28', '/v1/%ff'])('400 for the percent-encoding of %s', async (url) => {
    const { inject } = archive();
    expect((await inject({ method: 'GET', url })).json()).toMatchObject({ status: 400, code: 'http/bad-url' });
  });
});

describe('standing headers', () => {
  test.each(['/v1/status', '/nothing', `/v1/blobs/${HASH}`, '/vh/zz', '/%'])('are on %s', async (url) => {
    const { inject } = archive();
    expect((await inject(url)).headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'access-control-allow-origin': '*',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test('a browser may ask first', async () => {
    const { inject } = archive();
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
    const answer = await inject({ method: 'OPTIONS', url: `/v1/blobs/${HASH}`, headers });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      'access-control-allow-headers': expect.stringContaining('Range'),
    });
    expect((await inject({ method: 'OPTIONS', url: '/nothing' })).statusCode).toBe(404);
  });

  test('a safe request id is kept, any other replaced', async () => {
    const { inject } = archive();
    const idFor = async (id: string) =>
      (await inject({ url: '/healthz', headers: { 'x-request-id': id } })).headers['x-request-id'];
    expect(await idFor('job-17_a.B')).toBe('job-17_a.B');
    for (const unsafe of ['a'.repeat(65), 'a b', 'é', '<script>', ''])
      expect(await idFor(unsafe)).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('an exception', () => {
  test.each(['read', 'list', 'status'] as const)(
    'in %s is a 500 that tells nothing, and is reported',
    async (where) => {
      const { inject, view, reported } = archive();
      const error = new Error(SECRET);
      const fail = () => {
        throw error;
      };
      view.reading = fail;
      view.listing = fail;
      view.now = fail;
      const url = { read: `/v1/blobs/${HASH}`, list: '/v1/blobs', status: '/v1/status' }[where];
      const answer = await inject({ url, headers: { 'x-request-id': 'r1' } });
      expect(answer.statusCode).toBe(500);
      expect(answer.json()).toMatchObject({ code: 'http/internal', status: 500 });
      expect(JSON.stringify(answer.headers) + answer.body).not.toMatch(/password|Error|\.ts/);
      expect(reported).toEqual([{ error, requestId: 'r1' }]);
    },
  );

  test('a failure that may pass by itself is a 503', async () => {
    const { inject, view, reported } = archive();
    view.reading = async () => {
      throw new StorageError('storage/fault', SECRET, { retryable: true, hint: SECRET });
    };
    const answer = await inject(`/v1/blobs/${HASH}`);
    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.json()).toMatchObject({ code: 'http/temporary-fault' });
    expect(answer.body).not.toContain(SECRET);
    expect(reported).toHaveLength(1);
  });

  test('after which the next request is served', async () => {
    const { inject, view } = archive();
    const blob = view.add(blobOf(bytesOf(5)));
    view.reading = () => Promise.reject(new Error(SECRET));
    expect((await inject(`/v1/blobs/${blob.versionHash}`)).statusCode).toBe(500);
    view.reading = null;
    expect((await inject(`/v1/blobs/${blob.versionHash}`)).statusCode).toBe(200);
  });
});
