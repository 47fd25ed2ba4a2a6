import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { Pool } from 'undici';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { Devnode } from '../../../src/devnode/index.ts';
import { PROBLEMS } from '../../../src/http/index.ts';
import { SharedByTests } from '../../cleanup.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type ArchiveProcess, startArchive, startNode, untilStored } from '../archive-process.ts';
import { type Published, publish } from '../backends/real-backends.ts';

/** HOLDFAST_FUZZ_RUNS=100000 for the long one. */
const RUNS = Number(process.env['HOLDFAST_FUZZ_RUNS'] ?? 2_000);
const AT_ONCE = 20;
const PROGRESS = 5_000;

const METHOD = z.looseObject({
  parameters: z.array(
    z.object({ name: z.string(), in: z.string(), schema: z.looseObject({ pattern: z.string().optional() }) }),
  ),
  responses: z.record(z.string(), z.looseObject({ content: z.record(z.string(), z.unknown()).optional() })),
});
const DESCRIBED = z.looseObject({ paths: z.record(z.string(), z.record(z.string(), METHOD)) });
const STATUS_OF = new Map<string, { readonly status: number }>(Object.entries(PROBLEMS));

let node: Devnode;
let daemon: ArchiveProcess;
let published: Published[];

beforeAll(async () => {
  const { atEnd, close } = new SharedByTests();
  node = await startNode({}, atEnd);
  published = publish(node, 'asked at random', 6);
  node.mine(3);
  const env = { HOLDFAST_HTTP_RATE_PER_SECOND: '0', HOLDFAST_FINALITY: 'depth:2', HOLDFAST_START_HEIGHT: '1' };
  daemon = await startArchive({ dataDir: temporaryFolder(atEnd), node, env, atEnd });
  await untilStored(daemon, 6);
  return close;
});

const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

function requests(described: z.output<typeof DESCRIBED>) {
  const operations = Object.entries(described.paths)
    // Listening to events has no end, and what operators do takes a token.
    .filter(([path]) => !path.startsWith('/admin') && path !== '/v1/window/events' && !path.endsWith('/events'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([verb, method]) => ({ path, verb: verb.toUpperCase(), method })),
    );
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
          'getblockheader',
          'getblockhash',
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
  return fc.constantFrom(...operations).chain((operation) =>
    fc.record({
      operation: fc.constant(operation),
      values: fc.tuple(...operation.method.parameters.map(({ schema }) => fitting(schema.pattern))),
      body: operation.verb === 'POST' ? body : fc.constant(''),
      headers,
    }),
  );
}

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
  const described = DESCRIBED.parse(JSON.parse((await daemon.client.get('/openapi.json')).body.toString()));
  const contents = published.map(({ label, sizeBytes }) => Buffer.from(sampleBytes(label, sizeBytes)));
  const good = new Set(contents.flatMap((bytes) => [sha(bytes), sha(Buffer.from(bytes.toString('hex')))]));
  const isPart = (part: Buffer) => contents.some((bytes) => bytes.includes(part));
  const client = new Pool(daemon.client.url, { connections: AT_ONCE });
  const seen = new Map<number, number>();
  let answered = 0;
  const check = async (asked: Asked): Promise<void> => {
    const path = pathOf(asked);
    if (path === null) return;
    const { operation, headers } = asked;
    const sent = operation.verb === 'POST' ? { body: asked.body } : {};
    const answer = await client.request({ method: operation.verb, path, headers, ...sent });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const { statusCode } = answer;
    seen.set(statusCode, (seen.get(statusCode) ?? 0) + 1);
    answered += 1;
    if (answered % PROGRESS === 0) process.stdout.write(`${answered} answered\n`);
    const type = String(answer.headers['content-type'] ?? '');
    if (operation.path === '/' && operation.verb === 'POST') {
      expect([200, 400, 404, 500, 503]).toContain(statusCode);
      JSON.parse(bytes.toString());
      return;
    }
    expect(statusCode).not.toBe(500);
    expect([...Object.keys(operation.method.responses), '206', '304'], path).toContain(String(statusCode));
    if (statusCode === 206) expect(isPart(bytes)).toBe(true);
    else if (statusCode >= 400) {
      expect(type).toBe('application/problem+json');
      if (operation.verb === 'HEAD') return;
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
  const several = fc.array(requests(described), { minLength: AT_ONCE, maxLength: AT_ONCE });
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
