import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { beforeAllSharing } from '../../cleanup.ts';
import { RawClient } from '../../http/raw-client.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type RunningArchive, startArchiveHere, startNode, untilStored } from '../archive-process.ts';

const LABEL = 'asked for between nonsense';
const SIZE_BYTES = 3_000;
const BYTES = sampleBytes(LABEL, SIZE_BYTES);
const PROBLEM = z.looseObject({
  code: z.string(),
  status: z.int(),
  detail: z.string().min(1),
  hint: z.string().min(1),
});

let daemon: RunningArchive;
let hash: string;

beforeAllSharing(async (atEnd) => {
  const node = await startNode({}, atEnd);
  hash = node.submitLabelled({ label: LABEL, sizeBytes: SIZE_BYTES, hashType: 'keccak256' }).versionHash;
  node.mine(2);
  daemon = await startArchiveHere({ dataDir: temporaryFolder(atEnd), node, atEnd });
  await untilStored(daemon, 1);
});

function open(): Promise<RawClient> {
  return RawClient.open(Number(new URL(daemon.client.url).port));
}

/** A request as it is sent, byte by byte; the answer until the connection ends. */
async function answerTo(request: string | Uint8Array): Promise<{ status: number; head: string; body: string }> {
  const client = await open();
  client.send(request);
  const text = await client.closed();
  const end = text.indexOf('\r\n\r\n');
  return { status: Number(text.slice(9, 12)), head: text.slice(0, end).toLowerCase(), body: text.slice(end + 4) };
}

const ask = (path: string, headers = '', method = 'GET') =>
  answerTo(`${method} ${path} HTTP/1.1\r\nHost: archive\r\nConnection: close\r\n${headers}\r\n`);
const post = (path: string, body: string) => {
  const head = `POST ${path} HTTP/1.1\r\nHost: archive\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
  return answerTo(Buffer.from(head + body, 'latin1'));
};

/** An honest error: not empty, not hex, with words; and the next one who asks gets right bytes. */
async function expectHonest(answer: Awaited<ReturnType<typeof ask>>, status: number): Promise<void> {
  expect([answer.status, answer.body]).toEqual([status, expect.stringMatching(/^\{/)]);
  expect(answer.head).toContain('application/problem+json');
  expect(PROBLEM.parse(JSON.parse(answer.body)).status).toBe(status);
  const next = await daemon.client.blob(hash);
  expect([next.status, next.body.equals(BYTES)]).toEqual([200, true]);
}

const ROUTES = ['/v1/blobs/', '/vh/', '/get/'] as const;
const NO_HASHES: readonly (readonly [what: string, name: string])[] = [
  ['short', 'ab'],
  ['a digit too long', 'a'.repeat(67)],
  ['a thousand digits', 'a'.repeat(1_000)],
  ['no hex', 'z'.repeat(64)],
  ['another prefix', `02${'a'.repeat(64)}`],
  ['letters that look alike', 'а'.repeat(32)],
  ['a zero byte', `${'a'.repeat(62)}%00`],
  ['a way out', '..%2f..%2f..%2fetc%2fpasswd'],
  ['a line break', `${'a'.repeat(60)}%0d%0aSet-Cookie:%20a=b`],
];

describe('names that are none', () => {
  test.each(NO_HASHES)('%s', async (_what, name) => {
    for (const route of ROUTES) {
      const answer = await ask(route + encodeURI(decodeURI(name)).replaceAll('%25', '%'));
      await expectHonest(answer, 400);
      expect(answer.head).not.toContain('set-cookie');
    }
  });

  test('mixed case is the same name', async () => {
    const mixed = [...hash].map((digit, index) => (index % 2 === 0 ? digit.toUpperCase() : digit)).join('');
    for (const path of [`/v1/blobs/${mixed}`, `/v1/blobs/0X${mixed}`, `/vh/${mixed}?format=raw`, `/get/0x00${mixed}`]) {
      const { status, body } = await daemon.client.get(path);
      expect([path, status, body.equals(BYTES)]).toEqual([path, 200, true]);
    }
  });

  test.each([
    '/../../etc/passwd',
    '/v1/blobs/../../../etc/passwd',
    '/page/..%2f..%2fpackage.json',
    '/page/index.html',
    '//etc/passwd',
  ])('%s leads nowhere', async (path) => {
    await expectHonest(await ask(path), 404);
  });
});

describe('methods and headers', () => {
  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'TRACE'])('%s', async (method) => {
    const answer = await ask(`/v1/blobs/${hash}`, '', method);
    await expectHonest(answer, 405);
    expect(answer.head).toContain('allow: get, head, options');
  });

  test.each([
    ['a flood', `${'X: y\r\n'.repeat(5_000)}`, 431],
    ['a header that is too long', `X: ${'y'.repeat(20_000)}\r\n`, 431],
    ['two lengths', 'Content-Length: 1\r\nContent-Length: 2\r\n', 400],
    ['a length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', 400],
    ['a line break in a header', 'X: a\nSet-Cookie: b\r\n', 400],
  ])('%s', async (_what, headers, status) => {
    await expectHonest(await ask(`/v1/blobs/${hash}`, headers), status);
  });

  test.each(['bytes=3000-', 'bytes=99999999999999999999-', 'bytes=-0'])('a range out of bounds: %s', async (range) => {
    const answer = await ask(`/v1/blobs/${hash}`, `Range: ${range}\r\n`);
    await expectHonest(answer, 416);
    expect(answer.head).toContain(`content-range: bytes */${SIZE_BYTES}`);
  });

  test.each(['bytes=5-2', 'lines=1-2', 'bytes=0-1,5-6', 'bytes=a-b', `bytes=${'1'.repeat(5_000)}x`])(
    'a range that says nothing is answered with all of it: %s',
    async (range) => {
      const { status, body } = await daemon.client.get(`/v1/blobs/${hash}`, { range });
      expect([status, body.equals(BYTES)]).toEqual([200, true]);
    },
  );

  test.each(['bytes=0-1', 'bytes=99999-'])(
    'the route of clients that know no ranges gives all of it: %s',
    async (range) => {
      const { status, body } = await daemon.client.get(`/vh/${hash}`, { range, 'if-none-match': '*' });
      expect([status, body.toString()]).toEqual([200, Buffer.from(BYTES).toString('hex')]);
    },
  );
});

describe('bodies', () => {
  test.each([
    ['no JSON', 'nonsense'],
    ['another type', '{"hashes":[]}'],
    ['numbers', '[1,2,3]'],
    ['none', '[]'],
    ['too many', JSON.stringify(Array(33).fill('ab'.repeat(32)))],
    ['a prefix', JSON.stringify([`0x${'ab'.repeat(32)}`])],
    ['not UTF-8', '["\xff"]'],
    ['brackets without end', '['.repeat(8_000)],
  ])('are refused by check_vh: %s', async (_what, body) => {
    await expectHonest(await post('/check_vh', body), 400);
  });

  test('are not waited for when they say a gigabyte', async () => {
    for (const path of ['/check_vh', '/']) {
      const client = await open();
      client.send(`POST ${path} HTTP/1.1\r\nHost: archive\r\nContent-Length: 1073741824\r\n\r\n${'x'.repeat(1_000)}`);
      expect(await client.closed()).toMatch(/^HTTP\/1\.1 413 [\s\S]*http\/body-too-large/);
    }
  });

  test('end at the limit of their route when they say no length', async () => {
    const client = await open();
    client.send('POST /check_vh HTTP/1.1\r\nHost: archive\r\nTransfer-Encoding: chunked\r\n\r\n');
    client.send(`4000\r\n${' '.repeat(0x4000)}\r\n`.repeat(4));
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('end after a while when they do not come, and keep no other client waiting', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, open));
    for (const client of clients) client.send('POST / HTTP/1.1\r\nHost: archive\r\nContent-Length: 100\r\n\r\n{');
    const next = await daemon.client.blob(hash);
    expect([next.status, next.body.equals(BYTES)]).toEqual([200, true]);
    for (const client of clients) expect(await client.closed()).toMatch(/^HTTP\/1\.1 408 [\s\S]*request-timeout/);
  });
});
