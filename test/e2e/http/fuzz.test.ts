import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Devnode } from '../../../src/devnode/index.ts';
import { PROBLEMS } from '../../../src/http/index.ts';
import { beforeAllSharing } from '../../cleanup.ts';
import { DescribedAnswers, type DescribedOperation, mediaTypeOf } from '../../http/described-answers.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type ArchiveProcess, startArchive, startNode, untilStored } from '../archive-process.ts';
import { type Published, publish } from '../backends/real-backends.ts';

/** HOLDFAST_FUZZ_RUNS=100000 for the long one. */
const RUNS = Number(process.env['HOLDFAST_FUZZ_RUNS'] ?? 2_000);
const AT_ONCE = 40;
const PROGRESS = 5_000;

const STATUS_OF = new Map<string, { readonly status: number }>(Object.entries(PROBLEMS));

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'] as const;
const REPLY = z.looseObject({ result: z.unknown(), error: z.object({ code: z.int() }).nullable() });
const DATA = z.looseObject({ versionhash: z.string(), data: z.string() });
/** -32603 with 500 is what a node says before it has heard a ChainLock; this chain's finality is by depth. */
const NODE_ERRORS = [-1, -3, -5, -8, -32_602, -32_603, -32_700];

let node: Devnode;
let daemon: ArchiveProcess;
let published: Published[];
let described: DescribedAnswers;

beforeAllSharing(async (atEnd) => {
  node = await startNode({}, atEnd);
  published = publish(node, 'asked at random', 6);
  node.mine(3);
  const tokens = join(temporaryFolder(atEnd), 'tokens');
  writeFileSync(tokens, `sha256:${sha(Buffer.from(TOKEN))}\n`);
  const env = {
    HOLDFAST_HTTP_RATE_PER_SECOND: '0',
    HOLDFAST_HTTP_ADMIN_TOKENS_FILE: tokens,
    HOLDFAST_FINALITY: 'depth:2',
    HOLDFAST_START_HEIGHT: '1',
  };
  daemon = await startArchive({ dataDir: temporaryFolder(atEnd), node, env, atEnd });
  await untilStored(daemon, 6);
  described = new DescribedAnswers(JSON.parse((await daemon.client.get('/openapi.json')).body.toString()));
});

/** Listening has no end; what it says when it may not be done, HEAD is told as well. */
const ENDLESS = /\/events$/;
const TOKEN = 'an-operator';
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

function requests() {
  const hashes = published.map(({ versionHash }) => versionHash);
  const known = fc.constantFrom(
    ...hashes,
    ...hashes.map((hash) => `0x${hash}`),
    ...hashes.map((hash) => `0x00${hash}`),
    '1',
    '2',
  );
  const hash = fc.stringMatching(/^[0-9a-f]{64}$/);
  const word = fc.oneof(
    known,
    hash,
    fc.string(),
    fc.constantFrom('raw', 'hex', '..', '%', '%00', '%2e%2e%2f', '', '\u0000', '𝕏'),
  );
  const fitting = (pattern: string | undefined) =>
    pattern === undefined ? word : fc.oneof(known, fc.stringMatching(new RegExp(pattern)), word);
  const call = fc.record(
    {
      method: fc.oneof(
        fc.constantFrom(
          'getnevmblobdata',
          'listnevmblobdata',
          'getblockcount',
          'getbestblockhash',
          'getblockheader',
          'getblockhash',
          'getbestchainlock',
          'getblockchaininfo',
          'getnetworkinfo',
          'stop',
        ),
        fc.string(),
      ),
      params: fc.oneof(fc.tuple(fc.oneof(known, hash), fc.boolean()), fc.jsonValue()),
      id: fc.oneof(fc.integer(), fc.jsonValue()),
    },
    { requiredKeys: ['method'] },
  );
  const json = (value: fc.Arbitrary<unknown>) => value.map((one) => JSON.stringify(one) ?? '');
  const body = fc.oneof(
    json(fc.array(fc.oneof(fc.constantFrom(...hashes), hash), { maxLength: 34 })),
    json(call),
    json(fc.array(fc.oneof(call, fc.jsonValue()), { maxLength: 6 })),
    fc.string(),
  );
  const headers = fc.dictionary(
    fc.constantFrom(
      'range',
      'if-none-match',
      'if-range',
      'accept',
      'x-request-id',
      'x-forwarded-for',
      'authorization',
      'accept-encoding',
    ),
    fc.oneof(
      fc.stringMatching(/^[ -~]{0,40}$/),
      fc.constantFrom(
        'bytes=0-0',
        'bytes=5-',
        'bytes=-7',
        'bytes=9999999-',
        'application/octet-stream',
        '*',
        'gzip',
        '"x"',
      ),
    ),
    { maxKeys: 3 },
  );
  const operator = fc.constant<Record<string, string>>({ authorization: `Bearer ${TOKEN}` });
  // Made once: to make what a pattern allows takes longer than to ask.
  const asked = described.operations
    .filter(({ path, verb }) => verb === 'HEAD' || !ENDLESS.test(path))
    .map((operation) =>
      fc.record({
        operation: fc.constant(operation),
        values: fc.tuple(...operation.method.parameters.map(({ schema }) => fitting(schema.pattern))),
        body: operation.verb === 'POST' || operation.verb === 'PUT' ? body : fc.constant(''),
        headers: isAdmin(operation) && operation.verb === 'GET' ? fc.oneof(headers, operator) : headers,
      }),
    );
  return fc.oneof(...asked);
}

const isAdmin = ({ path }: DescribedOperation) => path.startsWith('/admin');

type Asked = ReturnType<typeof requests> extends fc.Arbitrary<infer T> ? T : never;

function pathOf({ operation, values }: Asked): string | null {
  let path = operation.path;
  const query = new URLSearchParams();
  for (const [index, { name, in: place }] of operation.method.parameters.entries()) {
    const value = (values[index] ?? '').toWellFormed();
    if (place === 'path' && (value === '' || /^\.+$/.test(value))) return null;
    if (place === 'path') path = path.replace(`{${name}}`, () => encodeURIComponent(value));
    else if (value !== '') query.set(name, value);
  }
  const whole = query.size === 0 ? path : `${path}?${query}`;
  return whole.length > 2_000 ? null : whole;
}

test('the running daemon answers whatever is asked with right bytes or an honest error, and goes on running', async () => {
  const contents = published.map(({ label, sizeBytes }) => Buffer.from(sampleBytes(label, sizeBytes)));
  const good = new Set(contents.flatMap((bytes) => [sha(bytes), sha(Buffer.from(bytes.toString('hex')))]));
  const isPart = (part: Buffer) => contents.some((bytes) => bytes.includes(part));
  const client = new Pool(daemon.client.url, { connections: AT_ONCE });
  const seen = new Map<number, number>();
  let answered = 0;
  const checkReplies = (bytes: Buffer, status: number): void => {
    const read: unknown = JSON.parse(bytes.toString());
    for (const value of Array.isArray(read) ? read : [read]) {
      const { result, error } = REPLY.parse(value);
      // The node's own words about a request are 500; a fault of the archive is 503, and never "absent".
      if (status === 500) expect(NODE_ERRORS).toContain(error?.code);
      const blob = DATA.safeParse(result);
      if (blob.success) expect(good).toContain(sha(Buffer.from(blob.data.data, 'hex')));
    }
  };
  const check = async (asked: Asked): Promise<void> => {
    const path = pathOf(asked);
    if (path === null) return;
    const { operation, headers } = asked;
    const sent = asked.body === '' ? {} : { body: asked.body };
    const method = METHODS.find((one) => one === operation.verb);
    if (method === undefined) throw new Error(`${operation.verb} is described`);
    const answer = await client.request({ method, path, headers, ...sent });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const { statusCode } = answer;
    seen.set(statusCode, (seen.get(statusCode) ?? 0) + 1);
    answered += 1;
    if (answered % PROGRESS === 0) process.stdout.write(`${answered} answered\n`);
    const mediaType = mediaTypeOf(answer.headers['content-type']);
    expect(described.complaint(operation, { status: statusCode, mediaType, body: bytes }), path).toBeNull();
    if (isAdmin(operation) && statusCode === 200) expect(headers['authorization']).toBe(`Bearer ${TOKEN}`);
    if (operation.path === '/' && operation.verb === 'POST') {
      checkReplies(bytes, statusCode);
      return;
    }
    expect(statusCode).not.toBe(500);
    if (operation.verb === 'HEAD') return;
    if (statusCode === 206) expect(isPart(bytes)).toBe(true);
    else if (statusCode >= 400) {
      expect(mediaType).toBe('application/problem+json');
      const { code } = z.object({ code: z.string() }).parse(JSON.parse(bytes.toString()));
      expect(STATUS_OF.get(code)?.status).toBe(statusCode);
    } else if (
      statusCode === 200 &&
      operation.verb === 'GET' &&
      /\/blobs\/\{versionHash\}$|\/data$|^\/(vh|get)\//.test(operation.path)
    ) {
      expect(good).toContain(sha(bytes));
    }
  };
  // Some at a time, as clients come.
  const several = fc.array(requests(), { minLength: AT_ONCE, maxLength: AT_ONCE });
  await fc.assert(
    fc.asyncProperty(several, async (batch) => {
      await Promise.all(batch.map(check));
    }),
    { numRuns: Math.ceil(RUNS / AT_ONCE) },
  );
  await client.destroy();
  process.stdout.write(`answers by status after ${RUNS} requests: ${JSON.stringify([...seen].sort())}\n`);
  expect(daemon.output).not.toContain('a request failed unexpectedly');
  for (const { versionHash } of published) expect((await daemon.client.blob(versionHash)).status).toBe(200);
}, 3_600_000);
