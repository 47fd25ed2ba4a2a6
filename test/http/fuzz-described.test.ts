import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { Client } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { PROBLEMS } from '../../src/http/index.ts';
import { describeRoutes, withDescription } from '../../src/http/openapi.ts';
import type { UnavailableReason } from '../../src/view/archive-view.ts';
import type { ChainUnavailableReason } from '../../src/view/chain-view.ts';
import { DescribedAnswers, mediaTypeOf } from './described-answers.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { chainUnavailable, FakeChainView } from './fake-chain-view.ts';
import { archiveRoutes, running, testOptions } from './harness.ts';

/** HOLDFAST_FUZZ_RUNS=100000 for the long one. CI makes 10,000 cases, together with those of schemathesis. */
const RUNS = Number(process.env['HOLDFAST_FUZZ_RUNS'] ?? (process.env['CI'] === 'true' ? 9_200 : 1_000));

const view = new FakeArchiveView();
const chain = new FakeChainView();
const BLOBS = [blobOf(bytesOf(300)), blobOf(bytesOf(77)), blobOf(bytesOf(90), 'blake2s256')].map((blob) =>
  view.add(blob),
);
const FINAL = BLOBS.slice(0, 2).map((blob, index) => chain.mine({ ...blob, sizeBytes: blob.bytes.length }, 4 + index));
chain.mine(BLOBS[2] ?? blobOf(bytesOf(1)), 12);
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const GOOD_BYTES = new Set(
  BLOBS.flatMap(({ bytes }) => [sha(bytes), sha(Buffer.from(Buffer.from(bytes).toString('hex')))]),
);

const DESCRIBED = new DescribedAnswers(describeRoutes(withDescription(archiveRoutes(view, chain, testOptions()))));

const known = fc.constantFrom(
  ...BLOBS.flatMap(({ versionHash }) => [versionHash, `0x${versionHash}`, `0x00${versionHash}`, `01${versionHash}`]),
  ...FINAL.flatMap(({ txid, blockHash, height }) => [txid, blockHash, String(height)]),
);
const hash = fc.stringMatching(/^[0-9a-f]{64}$/);
const word = fc.oneof(known, known, hash, fc.string(), fc.constantFrom('raw', 'hex', '10', 'newest', '', '..', '%'));
const fitting = (pattern: string | undefined) =>
  pattern === undefined ? word : fc.oneof(known, fc.stringMatching(new RegExp(pattern)), word);

const params = fc.oneof(
  fc.tuple(fc.oneof(known, hash), fc.boolean()),
  fc.array(fc.oneof(known, fc.integer(), fc.boolean(), fc.constant(null), fc.constant({ getdata: true })), {
    maxLength: 4,
  }),
  fc.dictionary(fc.constantFrom('versionhash_or_txid', 'getdata', 'count', 'x'), fc.oneof(known, fc.jsonValue())),
  fc.jsonValue(),
);
const METHODS = ['getnevmblobdata', 'listnevmblobdata', 'getblockcount', 'getbestblockhash', 'getblockhash'];
const call = fc.record(
  {
    method: fc.oneof(fc.constantFrom(...METHODS, 'getblockchaininfo', 'getbestchainlock', 'stop'), fc.string()),
    params,
    id: fc.oneof(fc.string(), fc.integer(), fc.jsonValue()),
    jsonrpc: fc.constantFrom('1.0', '2.0'),
  },
  { requiredKeys: ['method'] },
);
const json = (value: fc.Arbitrary<unknown>) => value.map((one) => JSON.stringify(one) ?? '');
const body = fc.oneof(
  json(fc.array(fc.oneof(known, hash), { maxLength: 34 })),
  json(call),
  json(fc.array(fc.oneof(call, fc.jsonValue()), { maxLength: 8 })),
  json(fc.jsonValue()),
  fc.string(),
);
/** Made once: to make what a pattern allows takes longer than to ask. */
const request = fc.oneof(
  ...DESCRIBED.operations.map((operation) =>
    fc.record({
      operation: fc.constant(operation),
      values: fc.tuple(
        ...operation.method.parameters.map(({ schema }) => fc.option(fitting(schema.pattern), { nil: '', freq: 6 })),
      ),
      body: operation.verb === 'POST' ? body : fc.constant(''),
    }),
  ),
);
const REASONS: readonly UnavailableReason[] = ['not-fetched-yet', 'damaged', 'store-fault', 'cannot-tell'];
const TROUBLES: readonly ChainUnavailableReason[] = [
  'not-walked',
  'walk-behind',
  'finality-unknown',
  'not-compared',
  'rebuilding',
  'not-placed',
  'store-fault',
];
const fault = fc.option(fc.constantFrom(...REASONS), { freq: 3 });
const trouble = fc.option(fc.constantFrom(...TROUBLES), { freq: 3 });

type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

/** The path as it goes out; null: a value makes it another route. */
function pathOf({ operation, values }: Request): string | null {
  let path = operation.path;
  const query = new URLSearchParams();
  for (const [index, { name, in: place }] of operation.method.parameters.entries()) {
    const value = (values[index] ?? '').toWellFormed();
    if (place === 'path' && (value === '' || /^\.+$/.test(value))) return null;
    if (place === 'path') path = path.replace(`{${name}}`, () => encodeURIComponent(value));
    else if (value !== '') query.set(name, value);
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

const REPLY = z.looseObject({ result: z.unknown(), error: z.object({ code: z.int() }).nullable() });
const DATA = z.looseObject({ versionhash: z.string(), data: z.string() });

function checkReply(text: string, isTroubled: boolean): void {
  const value: unknown = JSON.parse(text);
  for (const reply of Array.isArray(value) ? value : [value]) {
    const { result, error } = REPLY.parse(reply);
    if (error !== null) expect(result).toBeNull();
    // Absence is told only while nothing is amiss.
    if (isTroubled) expect(error?.code).not.toBe(-32602);
    const blob = DATA.safeParse(result);
    if (blob.success) expect(GOOD_BYTES).toContain(sha(Buffer.from(blob.data.data, 'hex')));
  }
}

test('any request that the description allows, and many that it does not, gets right bytes or an honest error', async () => {
  const { url, reported } = await running(view, { ratePerSecond: 0 }, chain);
  const client = new Client(url);
  onTestFinished(() => client.destroy());
  await fc.assert(
    fc.asyncProperty(request, fault, trouble, async (asked, reason, why) => {
      const path = pathOf(asked);
      if (path === null || path.length > 2_048) return;
      view.reading = reason && (async () => ({ kind: 'unavailable', reason, message: 'Later.', retryAfterSeconds: 1 }));
      chain.trouble = why && chainUnavailable(why);
      const { operation } = asked;
      const sent = operation.verb === 'POST' ? { body: asked.body } : {};
      const answer = await client.request({ method: operation.verb, path, ...sent });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      const type = mediaTypeOf(answer.headers['content-type']);
      const given = { status: answer.statusCode, mediaType: type, body: bytes };
      // Listening to events has no window here, and says so as all others do.
      expect(DESCRIBED.complaint(operation, given)).toBeNull();
      if (operation.path === '/') {
        checkReply(bytes.toString(), reason !== null || why !== null);
        return;
      }
      expect(answer.statusCode).not.toBe(500);
      if (answer.statusCode !== 200) {
        expect(type).toBe('application/problem+json');
        if (operation.verb === 'HEAD') return;
        const { code } = z.object({ code: z.string() }).parse(JSON.parse(bytes.toString()));
        expect(new Map<string, { status: number }>(Object.entries(PROBLEMS)).get(code)?.status).toBe(answer.statusCode);
        return;
      }
      if (operation.verb === 'HEAD') return;
      expect(bytes.length).toBeGreaterThan(0);
      if (operation.path === '/check_vh') {
        const safe = z.array(z.boolean()).parse(JSON.parse(bytes.toString()));
        if (why !== null) expect(safe).not.toContain(false);
      } else if (operation.path !== '/lastblock' && !type.startsWith('application/json')) {
        expect(GOOD_BYTES).toContain(sha(bytes));
      }
    }),
    { numRuns: RUNS },
  );
  expect(reported).toEqual([]);
}, 600_000);
