import { describe, expect, test } from 'vitest';
import type { NamedHash } from '../../src/core/blob/ids.ts';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { createHttpApp } from '../../src/http/app.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { recordOnWire } from '../../src/http/record-on-wire.ts';
import { TokenList } from '../../src/http/token-list.ts';
import type { ChainUnavailableReason } from '../../src/view/chain-view.ts';
import { DescribedAnswers, mediaTypeOf } from './described-answers.ts';
import { blobOf, bytesOf, FakeArchiveView, HEALTHY, recordOf } from './fake-archive-view.ts';
import { FakeAttestations } from './fake-attestations.ts';
import { chainUnavailable, FakeChainView } from './fake-chain-view.ts';
import { FakeInventory } from './fake-inventory.ts';
import { FakeReceipts } from './fake-receipts.ts';
import { FakeWindowView, windowBlob, windowBlock } from './fake-window-view.ts';
import { injectable, readerRoutes, testOptions } from './harness.ts';

const BLOB = blobOf(bytesOf(300));
const HASH = BLOB.versionHash;
const ABSENT = 'ab'.repeat(32);
const PAGE = new Map([
  ['index.html', Buffer.from('<!doctype html>')],
  ['main-ABCDEFGH.js', Buffer.from('1')],
  ['style-ABCDEFGH.css', Buffer.from('a{}')],
]);

interface Question {
  /** The path as the description spells it. */
  readonly route: string;
  readonly url?: string;
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string;
}

type Inject = ReturnType<typeof injectable>['inject'];

function archive(given: Parameters<typeof injectable>[2] = {}) {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  view.add(BLOB);
  chain.mine(BLOB, 5);
  const window = new FakeWindowView();
  window.show([windowBlock(7, [windowBlob(1, 'custom')], true)]);
  view.keepCustom(HASH, ABSENT);
  const options = {
    window,
    inventory: new FakeInventory(),
    attestations: new FakeAttestations(),
    receipts: new FakeReceipts(),
    page: { files: async () => PAGE },
    metrics: declareHttpMetrics(new MetricsRegistry()),
    ...given,
  };
  return { view, chain, ...injectable(view, chain, options) };
}

/** Each description that a test of this file was given, with its compiled schemas. */
const DESCRIBED = new Map<string, DescribedAnswers>();

async function describedBy(inject: Inject): Promise<DescribedAnswers> {
  const { payload } = await inject('/openapi.json');
  const described = DESCRIBED.get(payload) ?? new DescribedAnswers(JSON.parse(payload));
  DESCRIBED.set(payload, described);
  return described;
}

/** Asks, and holds the answer against the description; gives its status. */
async function ask(inject: Inject, described: DescribedAnswers, question: Question): Promise<number> {
  const { route, url = route, method = 'GET', headers = {}, payload } = question;
  const operation = described.operations.find((one) => one.path === route && one.verb === method);
  if (operation === undefined) throw new Error(`${method} ${route} is not described`);
  const answer = await inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  const mediaType = mediaTypeOf(answer.headers['content-type']?.toString());
  const given = { status: answer.statusCode, mediaType, body: answer.rawPayload };
  expect(described.complaint(operation, given)).toBeNull();
  return answer.statusCode;
}

const TXID = `${HASH.slice(0, 60)}7777`;
const BYTES = '/v1/blobs/{versionHash}';
const READING: readonly Question[] = [
  { route: BYTES, url: `/v1/blobs/${HASH}` },
  { route: BYTES, url: `/v1/blobs/${HASH}`, headers: { range: 'bytes=1-5' } },
  { route: BYTES, url: `/v1/blobs/${HASH}`, headers: { range: 'bytes=999-' } },
  { route: BYTES, url: `/v1/blobs/${HASH}`, headers: { 'if-none-match': '*' } },
  { route: BYTES, url: `/v1/blobs/${ABSENT}` },
  { route: BYTES, url: '/v1/blobs/nonsense' },
  { route: BYTES, url: '/v1/blobs/%ff' },
  { route: BYTES, url: `/v1/blobs/${HASH}?${'a'.repeat(2_100)}` },
  { route: BYTES, url: `/v1/blobs/${HASH}`, payload: 'a body' },
  { route: `${BYTES}/record`, url: `/v1/blobs/${HASH}/record` },
  { route: `${BYTES}/record`, url: `/v1/blobs/${ABSENT}/record` },
  { route: `${BYTES}/proof`, url: `/v1/blobs/${ABSENT}/proof` },
  { route: '/v1/blobs' },
  { route: '/v1/blobs', url: '/v1/blobs?after=nonsense' },
  { route: '/v1/blobs', url: '/v1/blobs?limt=1' },
  { route: '/v1/transactions/{txid}', url: `/v1/transactions/${TXID}` },
  { route: '/v1/transactions/{txid}', url: `/v1/transactions/${ABSENT}` },
  { route: '/v1/transactions/{txid}/data', url: `/v1/transactions/${TXID}/data` },
  { route: '/v1/transactions/{txid}/data', url: `/v1/transactions/${TXID}/data`, headers: { range: 'bytes=0-0' } },
  { route: '/v1/transactions/{txid}/data', url: `/v1/transactions/${TXID}/data`, headers: { range: 'bytes=999-' } },
  { route: '/v1/transactions/{txid}/data', url: '/v1/transactions/x/data' },
  { route: '/v1/blocks/{at}', url: '/v1/blocks/5' },
  { route: '/v1/blocks/{at}', url: '/v1/blocks/99' },
  { route: '/v1/status' },
  { route: '/healthz' },
  { route: '/readyz' },
  { route: '/metrics' },
  { route: '/v1/window' },
  { route: '/', method: 'GET' },
  { route: '/', headers: { 'if-none-match': '*' } },
  { route: '/page/{file}', url: '/page/main-ABCDEFGH.js' },
  { route: '/page/{file}', url: '/page/style-ABCDEFGH.css' },
  { route: '/page/{file}', url: '/page/none-ABCDEFGH.js' },
  { route: '/v1/custom/{versionHash}/{keccak}', url: `/v1/custom/${HASH}/${ABSENT}` },
  { route: '/v1/custom/{versionHash}/{keccak}', url: '/v1/custom/x/y' },
  { route: '/v1/attestation' },
  { route: '/v1/attestation', url: '/v1/attestation?month=2026-10' },
  { route: '/v1/attestation', url: '/v1/attestation?from=4' },
  { route: '/v1/receipts/{versionHash}', url: `/v1/receipts/${HASH}` },
  { route: '/v1/receipts/{versionHash}', url: '/v1/receipts/x' },
  { route: '/v1/inventory' },
  { route: '/v1/inventory', url: '/v1/inventory?from=2&to=3' },
  { route: '/v1/inventory', url: '/v1/inventory?from=4&to=3' },
  { route: '/vh/{versionHash}', url: `/vh/${HASH}` },
  { route: '/vh/{versionHash}', url: `/vh/${HASH}?format=raw` },
  { route: '/vh/{versionHash}', url: `/vh/${ABSENT}` },
  { route: '/raw/vh/{versionHash}', url: `/raw/vh/${HASH}` },
  { route: '/raw/vh/{versionHash}', url: `/raw/vh/${ABSENT}` },
  { route: '/raw/vh/{versionHash}', url: '/raw/vh/nonsense' },
  { route: '/get/{commitment}', url: `/get/0x00${HASH}` },
  { route: '/get/{commitment}', url: `/get/${HASH}` },
  { route: '/lastblock' },
  { route: '/openapi.json' },
];
const POSTS: readonly Question[] = [
  { route: '/check_vh', payload: JSON.stringify([HASH, ABSENT]) },
  { route: '/raw/check_vh', payload: JSON.stringify([HASH, ABSENT]) },
  { route: '/check_vh', payload: '[]' },
  { route: '/check_vh', payload: 'nonsense' },
  { route: '/check_vh', payload: ' '.repeat(9_000) },
  { route: '/', payload: '{"method":"getblockcount"}' },
  { route: '/', payload: JSON.stringify([{ method: 'getnevmblobdata', params: [HASH, true], id: false }, 7]) },
  { route: '/', payload: '[]' },
  { route: '/', payload: 'nonsense' },
  { route: '/', payload: '{"method":7}' },
  { route: '/', payload: '{"method":"stop"}' },
  { route: '/', payload: `{"method":"getnevmblobdata","params":["${ABSENT}"]}` },
  { route: '/', payload: ' '.repeat(300_000) },
].map((question) => ({ ...question, method: 'POST' as const }));
const ALL = [...READING, ...READING.map((question) => ({ ...question, method: 'HEAD' as const })), ...POSTS];

describe('every answer is as the description says', () => {
  test('a healthy archive answers as described, and no route is left out', async () => {
    const { inject } = archive();
    // The answers that other tests have seen count for nothing here.
    const described = new DescribedAnswers((await inject('/openapi.json')).json());
    for (const question of ALL) await ask(inject, described, question);
    const good = [...described.seen]
      .filter((one) => / (200|304|503) /.test(one))
      .map((one) => one.split(' ', 2).join(' '));
    const operations = described.operations.map(({ verb, path }) => `${verb} ${path}`);
    // Events have no end; that they are as they should be, their own tests say.
    const isAsked = (one: string) => good.includes(one) || /events$|\/proof$/.test(one);
    expect(operations.filter((one) => !isAsked(one))).toEqual([]);
  });

  const WRONG: Readonly<Record<string, (parts: ReturnType<typeof archive>) => void>> = {
    'a fault of the store': ({ view }) => {
      view.reading = async () => ({ kind: 'unavailable', reason: 'store-fault', message: 'No.', retryAfterSeconds: 1 });
    },
    'what was taken down': ({ view }) => {
      view.reading = async () => ({ kind: 'withheld', at: null, publicReason: null });
    },
    'what is lost': ({ view }) => {
      view.reading = async () => ({ kind: 'absent' });
      view.losses.set(HASH, { recordedAt: 'then', sources: [] });
    },
    'an error of the program': ({ view }) => {
      view.reading = () => Promise.reject(new Error('broken'));
      view.listing = () => {
        throw new Error('broken');
      };
    },
    'an archive that is not ready': ({ view }) => {
      const condition = {
        code: 'a/b',
        message: '',
        hint: '',
        since: '',
        severity: 'error' as const,
        blocksReadiness: true,
      };
      view.now = () => ({ ...HEALTHY, conditions: [condition] });
    },
  };
  test.each(Object.entries(WRONG))('with %s', async (_what, break_) => {
    const parts = archive();
    const described = await describedBy(parts.inject);
    break_(parts);
    for (const question of ALL) await ask(parts.inject, described, question);
  });

  const TROUBLES: readonly ChainUnavailableReason[] = [
    'not-walked',
    'walk-behind',
    'finality-unknown',
    'not-compared',
    'rebuilding',
    'not-placed',
    'conflict',
    'not-final',
  ];
  test.each(TROUBLES)('while the chain is %s', async (reason) => {
    const { inject, chain } = archive();
    const described = await describedBy(inject);
    chain.trouble = chainUnavailable(reason);
    for (const question of ALL) await ask(inject, described, question);
  });

  test.each([
    ['without a token', 401, { readTokens: TokenList.parse(`sha256:${'00'.repeat(32)}`, 'tokens') }],
    ['of a client that asks too often', 429, { limits: { ratePerSecond: 0.000_001 } }],
    ['where the page could not be built', 503, { page: { files: async () => null } }],
  ] as const)('%s', async (_what, status, given) => {
    const { inject } = archive(given);
    const described = await describedBy(archive().inject);
    const statuses = [];
    for (const question of ALL) statuses.push(await ask(inject, described, question));
    expect(statuses).toContain(status);
  });

  test.each([
    ['alone', async () => null],
    [
      'before an archiver',
      async (name: NamedHash) =>
        name.versionHash === BLOB.versionHash
          ? { kind: 'found' as const, json: recordOnWire(recordOf(BLOB)) }
          : { kind: 'absent' as const },
    ],
    ['before what is no archiver', async () => ({ kind: 'found' as const, json: { hello: 'world' } })],
  ])('a reader without a catalog answers as described, %s', async (_what, record) => {
    const view = new FakeArchiveView();
    view.add(BLOB);
    const chain = new FakeChainView();
    const reader = {
      reader: view.reader,
      proofs: chain.proofs.bind(chain),
      record,
      status: () => ({ version: '1', conditions: [] }),
      conditions: () => [],
    };
    const options = { ...testOptions(), page: { files: async () => PAGE } };
    const { fastify } = createHttpApp(readerRoutes(reader, options), options);
    const inject: Inject = fastify.inject.bind(fastify);
    const described = await describedBy(inject);
    const questions = ALL.filter(({ route }) => route !== '/metrics');
    for (const question of questions) await ask(inject, described, question);
  });

  test('can be held against each schema', async () => {
    (await describedBy(archive().inject)).compileAll();
  });
});
