import fc from 'fast-check';
import { Client } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { PROBLEMS, type ProblemCode } from '../../src/http/index.ts';
import type { UnavailableReason } from '../../src/view/archive-view.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { running } from './harness.ts';

/** Others each time: where the whole suite is promised, more of them. */
const RUNS = process.env['CI'] === 'true' ? 2_000 : 500;
const BLOB = blobOf(bytesOf(300));
const HEX = Buffer.from(BLOB.bytes).toString('hex');
const OK = new Set([200, 204, 206, 304]);

const name = fc.oneof(
  fc.constantFrom(BLOB.versionHash, `0x${BLOB.versionHash}`, `01${BLOB.versionHash}`, BLOB.versionHash.toUpperCase()),
  fc.stringMatching(/^[0-9a-f]{64}$/),
  fc.string(),
);
const path = fc.oneof(
  name.map((hash) => `/v1/blobs/${encodeURIComponent(hash.toWellFormed())}`),
  name.map((hash) => `/v1/blobs/${encodeURIComponent(hash.toWellFormed())}/record`),
  name.map((hash) => `/vh/${encodeURIComponent(hash.toWellFormed())}`),
  fc.constantFrom('/v1/blobs', '/v1/status', '/healthz', '/readyz', '/'),
  fc.stringMatching(/^\/[!-~]{0,200}$/),
);
const query = fc.oneof(
  fc.constant(''),
  fc.stringMatching(/^\?[!-~]{0,60}$/),
  fc
    .tuple(fc.constantFrom('after', 'limit', 'order', 'format'), fc.string())
    .map(([key, value]) => `?${key}=${encodeURIComponent(value.toWellFormed())}`),
);
const headerText = fc.stringMatching(/^[ -~]{0,80}$/);
const headers = fc.record(
  {
    accept: headerText,
    range: fc.oneof(
      headerText,
      fc.tuple(fc.nat(400), fc.nat(400)).map(([first, last]) => `bytes=${first}-${last}`),
    ),
    'if-none-match': fc.oneof(headerText, fc.constant(`"keccak256:${BLOB.versionHash}"`)),
    'if-range': headerText,
    'x-request-id': headerText,
  },
  { requiredKeys: [] },
);
const verb = fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST', 'DELETE');
const fault = fc.option(
  fc.constantFrom<UnavailableReason>('not-fetched-yet', 'damaged', 'store-fault', 'cannot-tell'),
  { freq: 4 },
);

test('any request gets right bytes or an honest error', async () => {
  const view = new FakeArchiveView();
  view.add(BLOB);
  const { url, reported } = await running(view);
  // A real connection: inject would tidy the path first.
  const client = new Client(url);
  onTestFinished(() => client.destroy());
  await fc.assert(
    fc.asyncProperty(verb, path, query, headers, fault, async (method, where, asks, sent, reason) => {
      view.reading = reason && (async () => ({ kind: 'unavailable', reason, message: 'Later.', retryAfterSeconds: 1 }));
      const answer = await client.request({ method, path: where + asks, headers: sent });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      // The façade has errors of its own kind.
      if (method === 'POST' && answer.headers['content-type'] === 'application/json') {
        expect(JSON.parse(bytes.toString())).toMatchObject({ result: null });
      } else if (!OK.has(answer.statusCode)) {
        expect(answer.headers['content-type']).toBe('application/problem+json');
        if (method === 'HEAD') return;
        const problem: { code: ProblemCode } = JSON.parse(bytes.toString());
        expect(PROBLEMS[problem.code].status).toBe(answer.statusCode);
        expect(answer.statusCode).not.toBe(500);
      } else if (method === 'GET' && where.startsWith('/vh/')) {
        expect([HEX, Buffer.from(BLOB.bytes).toString('latin1')]).toContain(bytes.toString('latin1'));
      } else if (method === 'GET' && answer.statusCode === 200 && answer.headers['etag'] !== undefined) {
        expect(bytes).toEqual(Buffer.from(BLOB.bytes));
      }
    }),
    { numRuns: RUNS },
  );
  expect(reported).toEqual([]);
});
