import { describe, expect, test } from 'vitest';
import { FakeArchiveView } from './fake-archive-view.ts';
import { running } from './harness.ts';
import { get, headAndBody, RawClient } from './raw-client.ts';
import { heldRead, viewWith } from './served-blob.ts';

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

  test('a body on GET gets 400, and is not waited for', async () => {
    const { status, body } = await answerTo(get('/healthz', { 'Content-Length': '1000000000' }));
    expect(status).toBe('400');
    expect(JSON.parse(body)).toMatchObject({ code: 'http/body-not-allowed' });
  });

  test('a client that asks leave to send a body gets it where a body is read', async () => {
    const { port } = await running(new FakeArchiveView());
    const client = await RawClient.open(port);
    const head = 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 26\r\n';
    client.send(`${head}Expect: 100-continue\r\n\r\n`);
    await client.until((text) => text.startsWith('HTTP/1.1 100 Continue\r\n\r\n'));
    client.send('{"method":"getblockcount"}');
    expect(await client.closed()).toContain('"result":12');
  });

  test('gets its answer elsewhere instead', async () => {
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

  test('no client is connected to anywhere else', async () => {
    const { status, body } = await answerTo('CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n');
    expect([status, JSON.parse(body)]).toMatchObject(['405', { code: 'http/method-not-allowed' }]);
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
