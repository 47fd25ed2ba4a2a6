import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AlertDocument } from '../../../src/core/alerts/alert-document.ts';
import { ALERT_FORMATS, type AlertFormat, formatAlert } from '../../../src/core/alerts/alert-formats.ts';
import { AlertHook } from '../../../src/core/alerts/alert-hook.ts';
import { NEVER } from '../../sample-blobs.ts';

const TOKEN = 'hook-token-never-to-be-seen';
const NOW_MS = 1_790_000_000_000;

const DOCUMENT: AlertDocument = {
  version: 1,
  id: '7f0c6a0e-0000-4000-8000-000000000001',
  event: 'raised',
  at: '2026-01-01T00:00:00.000Z',
  archiver: 'ab'.repeat(8),
  subject: 'chain:lost',
  code: 'chain/lost',
  severity: 'critical',
  message: '2 blobs are lost: <b>&co.',
  hint: 'Look at them.',
  replaces: null,
  standing: [],
};

interface Got {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Starts a receiver that answers with this status. */
async function listener(status: number, headers: Record<string, string> = {}) {
  const got: Got[] = [];
  const server = createServer(async (request, response) => {
    got.push({ path: request.url, headers: request.headers, body: await text(request) });
    response.writeHead(status, headers).end('ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('It has no port.');
  return { url: `http://127.0.0.1:${address.port}/${TOKEN}`, got };
}

async function post(url: string, secret: string | null = null, format: AlertFormat = 'json'): Promise<void> {
  const hook = new AlertHook({ url, secret, format }, () => NOW_MS);
  onTestFinished(() => hook.close());
  await hook.post(DOCUMENT, NEVER);
}

describe('an alert hook', () => {
  test('posts the document as JSON, with its id and the time', async () => {
    const { url, got } = await listener(204);
    await post(url);
    expect(got.map(({ path }) => path)).toEqual([`/${TOKEN}`]);
    expect(JSON.parse(got[0]?.body ?? '')).toEqual(DOCUMENT);
    expect(got[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': DOCUMENT.id,
      'webhook-timestamp': '1790000000',
    });
    expect(got[0]?.headers).not.toHaveProperty('webhook-signature');
  });

  test.each([
    ['as text', 'correct horse', Buffer.from('correct horse')],
    ['as Standard Webhooks writes it', `whsec_${Buffer.from('battery').toString('base64')}`, Buffer.from('battery')],
  ])('signs id, time and body with a secret %s', async (_how, secret, key) => {
    const { url, got } = await listener(200);
    await post(url, secret);
    const [first] = got;
    if (first === undefined) throw new Error('Nothing was posted.');
    const { headers, body } = first;
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const expected = createHmac('sha256', key).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${expected}`);
    expect(body).not.toContain(secret);
  });

  test('follows no redirect: what is signed for one receiver is for no other', async () => {
    const other = await listener(200);
    const { url } = await listener(307, { location: other.url });
    await expect(post(url)).rejects.toMatchObject({
      code: 'alert/not-delivered',
      message: expect.stringContaining('it answered 307'),
    });
    expect(other.got).toEqual([]);
  });

  test('a document that no receiver takes is an error that does not name the address', async () => {
    await expect(post(`http://127.0.0.1:9/${TOKEN}`)).rejects.toMatchObject({
      code: 'alert/not-delivered',
      details: {},
    });
    await expect(post(`http://127.0.0.1:9/${TOKEN}`)).rejects.toThrow(/^((?!never-to-be-seen).)*ECONNREFUSED/);
  });
});

describe('formats', () => {
  test('slack: one text, escaped', () => {
    const { body } = formatAlert(DOCUMENT, 'slack');
    const { text: said }: { text: string } = JSON.parse(body);
    expect(said).toMatch(/^\*Holdfast critical: chain\/lost\*\n2 blobs are lost: &lt;b&gt;&amp;co\.\nLook at them\.\n/);
  });

  test('ntfy: plain words, the title and how urgent it is in headers of ASCII, no longer than it takes', () => {
    const long = { ...DOCUMENT, code: 'chain/löst', message: 'ä'.repeat(5_000) };
    const { headers, body } = formatAlert(long, 'ntfy');
    expect(headers).toMatchObject({
      title: 'Holdfast critical: chain/l?st',
      priority: 'urgent',
      tags: 'rotating_light',
    });
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(4_096);
    expect(body).not.toContain('\uFFFD');
    expect(formatAlert({ ...DOCUMENT, event: 'cleared' }, 'ntfy').headers).toMatchObject({ priority: 'low' });
  });

  test('email: a subject and a text', () => {
    const { body } = formatAlert(DOCUMENT, 'email');
    expect(JSON.parse(body)).toEqual({
      subject: 'Holdfast critical: chain/lost',
      text: `${DOCUMENT.message}\nLook at them.\n2026-01-01T00:00:00.000Z · archiver ${'ab'.repeat(8)}\n`,
    });
  });

  test.each(ALERT_FORMATS)('%s: a digest names what stands', (format) => {
    const standing = [{ code: 'clock/wrong', severity: 'warning' as const, message: 'Late.', hint: '', since: '' }];
    const digest: AlertDocument = {
      ...DOCUMENT,
      event: 'digest',
      code: null,
      subject: null,
      severity: 'warning',
      standing,
    };
    expect(formatAlert(digest, format).body).toContain('clock/wrong');
  });
});
