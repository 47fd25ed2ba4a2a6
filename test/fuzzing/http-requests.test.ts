import { createHash } from 'node:crypto';
import { type Duplex, duplexPair } from 'node:stream';
import { afterAll, beforeAll, test } from 'vitest';
import { z } from 'zod';
import { createHttpApp } from '../../src/http/app.ts';
import { PROBLEMS } from '../../src/http/index.ts';
import type { UnavailableReason } from '../../src/view/archive-view.ts';
import { blobOf, bytesOf, FakeArchiveView } from '../http/fake-archive-view.ts';
import { FakeChainView } from '../http/fake-chain-view.ts';
import { archiveRoutes, testOptions } from '../http/harness.ts';
import { claim } from './claims.ts';
import { explore } from './explore.ts';
import { withLength } from './in-process-server.ts';

const view = new FakeArchiveView();
const chain = new FakeChainView();
const BLOBS = [bytesOf(300), bytesOf(77)].map((bytes) => view.add(blobOf(bytes)));
const MINED = BLOBS.map((blob, index) => chain.mine({ ...blob, sizeBytes: blob.bytes.length }, 4 + index));
const [{ versionHash: HASH = '' } = {}] = BLOBS;
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const GOOD = new Set(BLOBS.flatMap(({ bytes }) => [sha(bytes), sha(Buffer.from(Buffer.from(bytes).toString('hex')))]));

const options = { ...testOptions({ ratePerSecond: 0, drainMs: 0 }) };
const { fastify } = createHttpApp(archiveRoutes(view, chain, options), options);
beforeAll(async () => {
  await fastify.ready();
});
afterAll(async () => {
  await fastify.close();
});

const REASONS: readonly (UnavailableReason | null)[] = [
  null,
  null,
  'not-fetched-yet',
  'damaged',
  'store-fault',
  'cannot-tell',
];
const STATUSES = new Set([100, 200, 204, 206, 304, ...Object.values(PROBLEMS).map(({ status }) => status)]);
const REPLY = z.looseObject({ result: z.unknown(), error: z.object({ code: z.int() }).nullable() });
const DATA = z.looseObject({ versionhash: z.string(), data: z.string() });

/** Turns of the event loop without a byte after which the server has no more to say. */
const QUIET_TURNS = 12;

/** Sends bytes on a new connection, and ends it once the server is quiet. Resolves to all bytes that came back. */
async function exchange(bytes: Uint8Array, pieceBytes: number): Promise<Buffer> {
  const [client, atServer] = duplexPair();
  Object.assign(atServer, { remoteAddress: '127.0.0.1', setTimeout: () => atServer, setNoDelay: () => atServer });
  const received: Buffer[] = [];
  const closed = Promise.withResolvers<void>();
  client.on('data', (chunk: Buffer) => received.push(chunk));
  client.on('end', closed.resolve);
  client.on('close', closed.resolve);
  client.on('error', () => closed.resolve());
  fastify.server.emit('connection', atServer satisfies Duplex);
  const step = pieceBytes === 0 ? Math.max(1, bytes.length) : pieceBytes;
  for (let at = 0; at < bytes.length; at += step) client.write(bytes.subarray(at, at + step));
  for (let quiet = 0, before = 0; quiet < QUIET_TURNS && !client.readableEnded; quiet += 1) {
    await new Promise(setImmediate);
    if (received.length !== before) quiet = 0;
    before = received.length;
  }
  client.end();
  await closed.promise;
  client.destroy();
  return Buffer.concat(received);
}

const STATUS_LINE = /HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n/g;

/** Every answer on the connection. A blob holds no status line. */
function answersIn(received: Buffer) {
  const text = received.toString('latin1');
  const starts = [...text.matchAll(STATUS_LINE)];
  claim(text === '' || starts[0]?.index === 0, `an answer begins with ${JSON.stringify(text.slice(0, 40))}`);
  return starts.map(({ 0: line, 1: status, index }, place) => {
    const whole = text.slice(index + line.length, starts[place + 1]?.index);
    const end = whole.indexOf('\r\n\r\n');
    claim(end >= 0 || Number(status) === 100, 'the headers of an answer have no end');
    const headers = new Map(
      whole
        .slice(0, Math.max(0, end))
        .split('\r\n')
        .map((header): [string, string] => {
          const colon = header.indexOf(':');
          return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
        }),
    );
    return { status: Number(status), headers, body: Buffer.from(whole.slice(end + 4), 'latin1') };
  });
}

function checkReplies(body: Buffer): void {
  const value: unknown = JSON.parse(body.toString());
  for (const reply of Array.isArray(value) ? value : [value]) {
    const { result } = REPLY.parse(reply);
    const blob = DATA.safeParse(result);
    if (blob.success) claim(GOOD.has(sha(Buffer.from(blob.data.data, 'hex'))), 'a reply has other bytes');
  }
}

function checkAnswer({ status, headers, body }: ReturnType<typeof answersIn>[number]): void {
  const type = headers.get('content-type') ?? '';
  if (status === 100 || body.length === 0) return;
  const announced = headers.get('content-length');
  if (announced !== undefined) claim(Number(announced) === body.length, `${body.length} bytes of ${announced} came`);
  if (type.startsWith('application/problem+json')) {
    const { code } = z.object({ code: z.string() }).parse(JSON.parse(body.toString()));
    const problem = new Map<string, { status: number }>(Object.entries(PROBLEMS)).get(code);
    claim(problem?.status === status && status !== 500, `${code} came with ${status}`);
  } else if (type === 'application/json' && /^\[?\{"result":/.test(body.toString())) {
    checkReplies(body);
  } else {
    claim(STATUSES.has(status), `the status is ${status}`);
    const isHex = type === 'text/plain' && body.length > 100;
    const isBlob = headers.has('etag') && (type === 'application/octet-stream' || isHex);
    if (isBlob && status === 200) claim(GOOD.has(sha(body)), 'other bytes came as a blob');
    if (isBlob && status === 206 && !type.startsWith('multipart')) {
      claim(
        BLOBS.some(({ bytes }) => Buffer.from(bytes).includes(body)),
        'a range has bytes of no blob',
      );
    }
  }
}

async function run(input: Uint8Array): Promise<void> {
  const reason = REASONS[(input[0] ?? 0) % REASONS.length] ?? null;
  view.reading = reason && (async () => ({ kind: 'unavailable', reason, message: 'Later.', retryAfterSeconds: 1 }));
  const how = input[1] ?? 0;
  const text = Buffer.from(input.subarray(2)).toString('latin1');
  const sent = Buffer.from(how >= 128 ? text : withLength(text), 'latin1');
  for (const answer of answersIn(await exchange(sent, how % 32))) checkAnswer(answer);
  const [reported] = options.reported.splice(0);
  if (reported !== undefined) throw reported.error;
  view.asked.length = 0;
  view.listed.length = 0;
}

const request = (line: string, headers: readonly string[] = [], body = '') =>
  [
    `${line} HTTP/1.1`,
    'Host: a',
    ...headers,
    ...(body === '' ? [] : [`Content-Length: ${body.length}`]),
    '',
    body,
  ].join('\r\n');
const call = (method: string, ...params: unknown[]) => JSON.stringify({ jsonrpc: '1.0', id: 1, method, params });
const get = (path: string, ...headers: string[]) => request(`GET ${path}`, headers);
const post = (body: string, ...headers: string[]) => request('POST /', headers, body);
const [{ txid = '', blockHash = '' } = {}] = MINED;

const SEEDS = [
  get(`/v1/blobs/${HASH}`),
  get(`/v1/blobs/${HASH}`, 'Range: bytes=0-9'),
  get(`/v1/blobs/${HASH}`, 'Range: bytes=290-400'),
  get(`/v1/blobs/${HASH}`, 'Range: bytes=0-3,5-9'),
  get(`/v1/blobs/${HASH}`, `If-None-Match: "keccak256:${HASH}"`, 'If-Range: "a"', 'Accept: text/html;q=0.5, */*;q=0.1'),
  request(`HEAD /v1/blobs/${HASH}`),
  get(`/v1/blobs/${HASH}/record`),
  get(`/v1/blobs/${HASH}/proof`),
  get('/v1/blobs?limit=2&order=newest&after=cursor-1'),
  get('/v1/status'),
  get('/openapi.json'),
  get('/healthz') + get('/readyz') + get('/nowhere'),
  get(`/vh/${HASH}`) + get(`/get/${HASH}`),
  get('/lastblock'),
  request('POST /check_vh', ['Content-Type: application/json'], JSON.stringify([HASH])),
  get(`/v1/transactions/${txid}`) + get(`/v1/blocks/${blockHash}`) + get('/v1/blocks/4'),
  get(`/v1/custom/${HASH}/${HASH}`),
  request('OPTIONS /', ['Origin: http://a', 'Access-Control-Request-Method: POST']),
  request('CONNECT a:1') + request('DELETE /v1/blobs'),
  post(call('getnevmblobdata', HASH, true), 'Content-Type: text/plain'),
  post(call('getnevmblobdata', txid, true)),
  post(call('listnevmblobdata', 10, 0)),
  post(`[${call('getblockcount')},${call('getblockhash', 4)},${call('getbestblockhash')}]`),
  post(call('getblockheader', blockHash)) + post(call('getbestchainlock')) + post(call('getblockchaininfo')),
  post(JSON.stringify({ method: 'getnevmblobdata', params: { versionhash_or_txid: HASH, getdata: true } })),
  post('{"method":"getblockcount"}', 'Expect: 100-continue'),
  `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n`,
  'GET / HTTP/1.0\r\n\r\n',
  'GET http://a/healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
].map((text, index) => Buffer.concat([Buffer.of(0, index % 5 === 4 ? 7 : 0), Buffer.from(text, 'latin1')]));

const WORDS = [
  ...[
    'GET ',
    'HEAD ',
    'POST ',
    ' HTTP/1.1\r\n',
    'Host: a\r\n',
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
  ],
  ...[
    'Range: bytes=',
    '0-',
    ',',
    'Accept: ',
    'If-Range: ',
    'If-None-Match: ',
    'Expect: 100-continue\r\n',
    'Upgrade: h2c\r\n',
  ],
  ...[
    'Connection: upgrade\r\n',
    '/v1/blobs/',
    '/vh/',
    '/check_vh',
    HASH,
    txid,
    blockHash,
    `0x00${HASH}`,
    '?format=hex',
  ],
  ...['"method":', '"params":', '"id":', 'getnevmblobdata', 'listnevmblobdata', 'getblockhash', '[true]'],
];

test('any bytes of a client get right bytes, an honest error, or the end of their connection', async () => {
  await explore({ name: 'http-requests', seeds: SEEDS, folders: ['src/http/', 'src/reading/'], words: WORDS, run });
}, 36_000_000);
