import { expect, test } from 'vitest';
import { archiveRoutes } from '../../src/app/archive-routes.ts';
import { encodeHex } from '../../src/core/blob/hex.ts';
import { HASH_TYPES, type HashType, parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { JobTable } from '../../src/core/jobs/job-table.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { createHttpApp } from '../../src/http/app.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { withDescription } from '../../src/http/openapi.ts';
import { ALL_WORDS } from '../../src/http/public-words.ts';
import type { Route } from '../../src/http/route.ts';
import { BlobCache } from '../../src/reading/blob-cache.ts';
import { ProvenReader } from '../../src/reading/proven-reader.ts';
import { StatelessReader } from '../../src/reading/stateless/stateless-reader.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import type { Withheld } from '../../src/view/archive-view.ts';
import { eventually } from '../e2e/eventually.ts';
import { FakeArchiveView } from '../http/fake-archive-view.ts';
import { readerRoutes, archiveRoutes as routesOfFakes, testOptions } from '../http/harness.ts';
import { rpc } from '../http/rpc-call.ts';
import { NEVER, nameOf, sampleBlob } from '../sample-blobs.ts';
import { archiveScene } from './archive-under-test.ts';
import { TIP_HEIGHT } from './fake-blob-node.ts';

const BLOB = sampleBlob('to be withheld', 200_000);
const HASH = BLOB.versionHash;
const TXID = parseTxId('7'.repeat(64));
const hashAt = (height: number) => parseBlockHash(height.toString(16).padStart(64, 'b'));
const PAGE = { files: async () => new Map([['index.html', Buffer.from('<!doctype html>')]]) };
const LOG = createLogger('info', { write: () => undefined });
const metrics = () => declareHttpMetrics(new MetricsRegistry());
const patterns = (routes: readonly Route[]) => routes.map(({ verb, path }) => `${verb} ${path}`).toSorted();

/** Bytes that match neither hash of the name, under which nothing else is known. */
const CUSTOM_BYTES = Buffer.from('bytes of no hash');
const CUSTOM_HASH = parseVersionHash('c'.repeat(64));
const KECCAK = encodeHex(nobleHasher.keccak256(CUSTOM_BYTES));

/** Answers of the routes for a withheld name. They would give its bytes or its record otherwise. */
const SAID: Readonly<Record<string, readonly [path: string, said: unknown]>> = {
  'GET /v1/blobs/:versionHash': [`/v1/blobs/${HASH}`, 451],
  'GET /v1/blobs/:versionHash/proof': [`/v1/blobs/${HASH}/proof`, 451],
  'GET /v1/transactions/:txid/data': [`/v1/transactions/${TXID}/data`, 451],
  'GET /v1/receipts/:versionHash': [`/v1/receipts/${HASH}`, 451],
  'GET /v1/custom/:versionHash/:keccak': [`/v1/custom/${CUSTOM_HASH}/${KECCAK}`, 451],
  'GET /vh/:versionHash': [`/vh/${HASH}`, 451],
  'GET /raw/vh/:versionHash': [`/raw/vh/${HASH}`, 451],
  'GET /get/:commitment': [`/get/0x00${HASH}`, 451],
  // The record says that the name is withheld, and no more than the chain does.
  'GET /v1/blobs/:versionHash/record': [`/v1/blobs/${HASH}/record`, 'withheld'],
  'GET /v1/blobs': ['/v1/blobs', 'withheld'],
  'POST /': ['/', -32_603],
};
/** Places on the chain, and what is of no blob alone. */
const GIVING_NEITHER = [
  'GET /',
  'GET /healthz',
  'GET /lastblock',
  'GET /metrics',
  'GET /openapi.json',
  'GET /page/:file',
  'GET /readyz',
  // Counts, and a root over what is held.
  'GET /v1/attestation',
  'GET /v1/blocks/:at',
  'GET /v1/events',
  // Counts, a digest, and what is held of occurrences in the order of the chain, without a name.
  'GET /v1/inventory',
  'GET /v1/status',
  'GET /v1/transactions/:txid',
  'GET /v1/window',
  'POST /check_vh',
  'POST /raw/check_vh',
];

const unexpected = () => {
  throw new Error('Nobody subscribes here.');
};

async function withBoth() {
  const scene = await archiveScene();
  const { archive, catalog, node } = scene;
  node.publish(BLOB);
  scene.start();
  await eventually(() => expect(catalog.totals().stored).toBe(1));
  for (let time = 0; time < 2; time += 1) await archive.custom.notice(CUSTOM_HASH, CUSTOM_BYTES, NEVER);
  const at = TIP_HEIGHT + 1;
  const block = { height: at, hash: hashAt(at), previousHash: hashAt(at - 1), timeSeconds: 1, medianTimeSeconds: 1 };
  const occurrence = { ...nameOf(BLOB), transactionIndex: 0, txid: TXID, vout: 0, makeRecord: () => '{}' };
  catalog.chain.recordBlocks([{ ...block, occurrences: [occurrence], unclear: [] }], () => false);
  // The archive itself finds the block final within ten seconds, and gives a receipt from then on.
  catalog.chain.recordFinal(at);
  const jobs = new JobTable([], { log: LOG, nowMs: Date.now });
  const subscriptions = { max: 0, list: () => [], subscribe: unexpected, cancel: unexpected };
  const levels = { level: 'info' as const, set: unexpected };
  const admin = { jobs, takeDowns: archive.takeDowns, subscriptions, drain: archive.drainWith(jobs), levels };
  const options = { ...testOptions(), metrics: metrics(), page: PAGE, admin };
  const { onServerError, metrics: counted, page } = options;
  const means = { words: ALL_WORDS, learnsSenders: false, facadeDialect: 'syscoin-5', passThrough: null } as const;
  const given = archiveRoutes(archive, { ...means, page, admin, metrics: counted, onServerError });
  const { fastify } = createHttpApp(given, options);
  return { ...scene, options, routes: withDescription(given), inject: fastify.inject.bind(fastify) };
}

const entry = (versionHash: typeof HASH, hashType: HashType) => {
  return { versionHash, hashType, archiver: 'file', reason: 'an order', publicReason: null, atMs: 1, purge: false };
};

test('no route of an archive gives bytes or records of what is withheld, and none is left out here', async () => {
  const { catalog, inject, routes } = await withBoth();
  const open = routes.filter(({ access }) => access !== 'admin');
  expect(patterns(open)).toEqual([...Object.keys(SAID), ...GIVING_NEITHER].toSorted());
  // Operator routes change names, and give no bytes.
  for (const { path, answers } of routes.filter(({ access }) => access === 'admin')) {
    expect([path, answers.map(({ mediaType }) => mediaType)]).not.toEqual([
      path,
      expect.arrayContaining(['application/octet-stream']),
    ]);
  }

  const said = async (pattern: string, path: string): Promise<unknown> => {
    if (pattern === 'POST /') {
      const { error, result } = await rpc(inject, 'getnevmblobdata', HASH, true);
      return error?.code ?? (result === null ? 'nothing' : 'bytes');
    }
    const answer = await inject(path);
    if (pattern === 'GET /v1/blobs') return answer.json().blobs[0].state;
    return pattern.endsWith('/record') ? answer.json().state : answer.statusCode;
  };
  const all = async () => {
    const found: Record<string, unknown> = {};
    for (const [pattern, [path]] of Object.entries(SAID)) found[pattern] = await said(pattern, path);
    return found;
  };
  const before = await all();
  for (const [pattern, [, refusal]] of Object.entries(SAID)) {
    expect([pattern, before[pattern]]).not.toEqual([pattern, refusal]);
  }
  expect(Object.values(before).filter((one) => one === 200)).toHaveLength(7);

  catalog.withheld.record([...HASH_TYPES.map((type) => entry(HASH, type)), entry(CUSTOM_HASH, 'keccak256')], false);
  expect(await all()).toEqual(
    Object.fromEntries(Object.entries(SAID).map(([pattern, [, refusal]]) => [pattern, refusal])),
  );
  const body = (await inject(`/v1/blobs/${HASH}`)).body;
  expect([body.includes('an order'), body.includes(HASH)]).toEqual([false, true]);
  // The name is withheld by HEAD, in parts, and from a client that has the bytes already.
  expect((await inject({ method: 'HEAD', url: `/v1/blobs/${HASH}` })).statusCode).toBe(451);
  for (const headers of [{ range: 'bytes=0-9' }, { 'if-none-match': '*' }]) {
    expect((await inject({ url: `/v1/blobs/${HASH}`, headers })).statusCode).toBe(451);
  }
});

test('servers of other tests have the same routes in the same order', async () => {
  const { archive, options, routes } = await withBoth();
  const { windowView: window, inventory, attestor: attestations, receipts } = archive;
  const features = { window, inventory, attestations, receipts };
  const ofTests = withDescription(routesOfFakes(archive, archive.chainView, { ...options, ...features }));
  const inOrder = (all: readonly Route[]) => all.map(({ verb, path }) => `${verb} ${path}`);
  expect(inOrder(ofTests)).toEqual(inOrder(routes));
});

test('no route of a reader without a catalog gives them either', async () => {
  const source = new FakeArchiveView();
  const blob = source.add(BLOB);
  let refusal: Withheld | null = null;
  const gate = { refusal: () => refusal };
  const bytes = new ProvenReader(gate, new BlobCache(1_000_000, SYSTEM_CLOCK), source);
  const stateless = new StatelessReader(gate, bytes, [], null);
  const view = {
    reader: bytes,
    proofs: stateless.proofs.bind(stateless),
    record: stateless.record.bind(stateless),
    status: () => ({ version: '1', conditions: [] }),
    conditions: () => [],
  };
  const options = { ...testOptions(), metrics: metrics(), page: PAGE };
  const { fastify } = createHttpApp(readerRoutes(view, options), options);
  const paths = new Map([
    ['GET /v1/blobs/:versionHash', `/v1/blobs/${blob.versionHash}`],
    ['GET /v1/blobs/:versionHash/proof', `/v1/blobs/${blob.versionHash}/proof`],
    ['GET /v1/blobs/:versionHash/record', `/v1/blobs/${blob.versionHash}/record`],
    ['GET /vh/:versionHash', `/vh/${blob.versionHash}`],
    ['GET /raw/vh/:versionHash', `/raw/vh/${blob.versionHash}`],
    ['GET /get/:commitment', `/get/0x00${blob.versionHash}`],
  ]);
  // The others are of no blob, or take the catalog that a reader has not.
  const others = withDescription(readerRoutes(view, options)).filter(({ verb, path, problems }) => {
    const pattern = `${verb} ${path}`;
    return !paths.has(pattern) && !GIVING_NEITHER.includes(pattern) && !problems.includes('reader/needs-archiver');
  });
  expect(patterns(others)).toEqual(['POST /']);
  const statuses = async () => {
    const found: number[] = [];
    for (const url of paths.values()) found.push((await fastify.inject(url)).statusCode);
    return found;
  };
  expect(await statuses()).toEqual([200, 503, 503, 200, 200, 200]);
  refusal = { kind: 'withheld', at: null, publicReason: null };
  expect(await statuses()).toEqual([451, 451, 451, 451, 451, 451]);
});
