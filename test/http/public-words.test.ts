import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { MetricsRegistry } from '../../src/core/observability/metrics.ts';
import { declareHttpMetrics } from '../../src/http/metrics.ts';
import { publicWords } from '../../src/http/public-words.ts';
import { TokenList } from '../../src/http/token-list.ts';
import { blobOf, bytesOf, FakeArchiveView, HEALTHY, recordOf } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FakeWindowView } from './fake-window-view.ts';
import { injectable } from './harness.ts';
import { rpc } from './rpc-call.ts';

const NODE = 'http://10.1.2.3:8370';
const BUCKET = 'https://minio.internal:9000/private-bucket';
const PLACES = [
  { name: 'node-1', addresses: [NODE] },
  { name: 's3', addresses: [`${BUCKET}/tenant-7`, BUCKET, 'https://minio.internal:9000'] },
  { name: 'the data folder', addresses: ['/data'] },
];
// A gauge may have the digits of a port in its value: a port follows a colon.
const SECRET = /10\.1\.2|:(8370|9000)\b|minio|bucket|tenant|fe80:|10\.9\.9|rogue/;
const words = publicWords(PLACES);

describe('public words', () => {
  test.each([
    [`The s3 store at ${BUCKET}/tenant-7 does not answer (get: 503).`, 'The s3 store does not answer (get: 503).'],
    [`The node ${NODE} cannot be reached.`, 'The node node-1 cannot be reached.'],
    [`The node at ${NODE} cannot be reached.`, 'The node node-1 cannot be reached.'],
    ['connect ECONNREFUSED 10.1.2.3:8370', 'connect ECONNREFUSED node-1'],
    ['getaddrinfo ENOTFOUND rogue.internal', 'getaddrinfo ENOTFOUND'],
    ['connect ETIMEDOUT 10.9.9.9:443', 'connect ETIMEDOUT an address'],
    ['connect ECONNREFUSED fe80::1:443', 'connect ECONNREFUSED an address'],
    ['redirected to https://rogue.example/x?y=1', 'redirected to an address'],
    [
      'User: arn:aws:iam::123456789012:user/tenant-7 may not s3:PutObject on "arn:aws:s3:::private-bucket/ab"',
      'User: an address may not s3:PutObject on "an address"',
    ],
    [
      "does not match certificate's altnames: Host: minio.internal. is not in the cert's altnames: DNS:rogue.internal, DNS:x",
      "does not match certificate's altnames: Host: an address is not in the cert's altnames: DNS:an address, DNS:an address",
    ],
    [
      'dial tcp: lookup rogue.internal on 10.9.9.9:53: no such host',
      'dial tcp: lookup an address on an address: no such host',
    ],
    ['dial tcp4 rogue.internal:5001: i/o timeout', 'dial tcp4 an address: i/o timeout'],
    ['Access key not found: GK31c2f218a2e44f485b94239e', 'Access key not found: a key'],
    ['The AWS Access Key Id AKIAIOSFODNN7EXAMPLE is not known.', 'The AWS Access Key Id a key is not known.'],
    ['/data/blobs/ab cannot be read', 'the data folder/blobs/ab cannot be read'],
    ['see /v1/transactions/ab/data or /database', 'see /v1/transactions/ab/data or /database'],
    ['5 h 40 min at 12:30:00, version 0.1.0', '5 h 40 min at 12:30:00, version 0.1.0'],
    ['connect [fe80::1]:443, a[::1], [::1]:80 and x::1', 'connect an address, aan address, an address and xan address'],
    ['a:::1 12:30: and ::ffff:10.9.9.9.', 'an address 12:30: and an address'],
    ['1.http://rogue.internal x-http://a.b/c', 'an address an address'],
  ])('%s', (text, said) => {
    expect(words(text)).toBe(said);
  });

  // Quadratic work takes minutes at this length, far more than a test may. Linear work takes milliseconds.
  test.each(['a', '0', ':', '.', '[', '[a', 'a-', 'a.', '1.', '::z', 'arn:', 'arn:a', 'dial tcp ', 'DNS:', 'CN: '])(
    'reads a long text of %j once',
    (piece) => {
      const text = piece.repeat(2 ** 19 / piece.length);
      expect(words(`${text} ${NODE}`)).toMatch(/ node-1$/);
    },
    30_000,
  );

  test('reads a long text once that looks like the beginning of an address', () => {
    for (const begin of ['http', '[', 'arn:', 'dial tcp ', '10.9.9.9:', 'DNS:', '/data']) {
      for (const piece of ['a', '1', ':', '.', '-']) {
        expect(words(`${begin}${piece.repeat(2 ** 18)} "${NODE}`)).toMatch(/ "node-1$/);
      }
    }
  });
});

test('the bucket of a peer is hidden where it is named as a place, and its word stays elsewhere', () => {
  const wordsOf = (bucket: string) => publicWords([{ name: 's3 peer-1', addresses: [`s3 ${bucket}`] }]);
  expect(wordsOf('blobs')('s3 blobs does not answer')).toBe('s3 peer-1 does not answer');
  const answers = [
    '{"statement":{"kind":"holdfast/receipt","format":1}}',
    '{"blobs":[],"next":null}',
    'holdfast_lost_blobs 0',
  ];
  for (const answer of answers) {
    expect(['holdfast', 'blobs', 'lost'].map((bucket) => wordsOf(bucket)(answer))).toEqual([answer, answer, answer]);
  }
});

const MESSAGE = `The s3 store at ${BUCKET}/tenant-7 refused; the node ${NODE} too (connect ECONNREFUSED 10.1.2.3:8370).`;
const BLOB = blobOf(bytesOf(300));

function troubled(given: Parameters<typeof injectable>[2] = {}) {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  const condition = { ...CONDITION, message: MESSAGE, hint: `Look at ${BUCKET}.` };
  view.now = () => ({ ...HEALTHY, node: { ...HEALTHY.node, name: NODE }, conditions: [condition] });
  view.reading = async () => ({ kind: 'unavailable', reason: 'store-fault', message: MESSAGE, retryAfterSeconds: 1 });
  view.losses.set('ab'.repeat(32), { recordedAt: 'then', sources: [`node ${NODE}`, BUCKET] });
  const registry = new MetricsRegistry();
  registry.counter({ name: 'calls_total', help: 'Calls.', labels: ['node'] }).inc({ node: NODE });
  const window = new FakeWindowView();
  const options = { words, window, metrics: declareHttpMetrics(registry), ...given };
  return { view, chain, ...injectable(view, chain, options) };
}
const CONDITION = { code: 'a/b', since: '', severity: 'error', blocksReadiness: true } as const;
const PATHS = ['/v1/status', '/readyz', '/v1/window', '/metrics', `/v1/blobs/${BLOB.versionHash}`];
const MORE = [`/vh/${BLOB.versionHash}`, `/v1/blobs/${'ab'.repeat(32)}`, `/v1/blobs/${BLOB.versionHash}/record`];

describe('an answer to the public', () => {
  test.each([...PATHS, ...MORE])('%s names places, and no addresses', async (path) => {
    const { inject } = troubled();
    const { body, headers } = await inject(path);
    expect(body).not.toMatch(SECRET);
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
  });

  test('a record of a blob that fails names none either', async () => {
    const { inject, view } = troubled();
    const lastFailure = { code: 'node/unreachable', message: MESSAGE, attempts: 3 };
    const replicas = [{ backend: 's3', state: 'wanted' as const, verifiedAt: null, lastFailure }];
    const record = { ...recordOf(BLOB), lastFailure, replicas };
    view.record = async () => ({ kind: 'found', record });
    const answer = await inject(`/v1/blobs/${BLOB.versionHash}/record`);
    expect(answer.body).not.toMatch(SECRET);
    const why = { ...lastFailure, message: words(MESSAGE) };
    expect(answer.json()).toMatchObject({ replicas: [{ backend: 's3', lastFailure: why }] });
    view.listing = () => ({ records: Array.from({ length: 1_000 }, () => record), next: null });
    const listed = await inject('/v1/blobs?limit=1000');
    expect(listed.json().blobs[0].replicas).toEqual([{ backend: 's3', state: 'wanted', verifiedAt: null }]);
  });

  test('nor does the façade, alone or in a batch', async () => {
    const { inject } = troubled();
    const { error } = await rpc(inject, 'getnevmblobdata', BLOB.versionHash, true);
    expect(error?.message).toMatch(/s3 store refused/);
    expect(error?.message).not.toMatch(SECRET);
  });

  test('an id that looks like an address comes back as it was sent', async () => {
    const { inject } = troubled();
    const call = { id: `${NODE} ::1 10.9.9.9`, method: 'getnevmblobdata', params: [BLOB.versionHash] };
    const single = await inject({ method: 'POST', url: '/', payload: JSON.stringify(call) });
    const batch = await inject({ method: 'POST', url: '/', payload: JSON.stringify([call]) });
    for (const { id, ...answered } of [single.json(), batch.json()[0]]) {
      expect(id).toBe(call.id);
      expect(JSON.stringify(answered)).not.toMatch(SECRET);
    }
  });

  test('proofs are not read for places, and a refusal of proofs is', async () => {
    const read: string[] = [];
    const reading = (text: string) => {
      read.push(text);
      return words(text);
    };
    const { inject, view, chain } = troubled({ words: reading });
    chain.proofs = async () => ({ kind: 'found', records: [] });
    expect((await inject(`/v1/blobs/${BLOB.versionHash}/proof`)).json()).toEqual({ records: [] });
    expect(read).toEqual([]);
    view.record = async () => ({ kind: 'unavailable', reason: 'store-fault', message: MESSAGE, retryAfterSeconds: 1 });
    chain.proofs = async () => ({ kind: 'absent' });
    const { statusCode, body } = await inject(`/v1/blobs/${BLOB.versionHash}/proof`);
    expect([statusCode, SECRET.test(body)]).toEqual([503, false]);
  });

  test('says node and backends by name', async () => {
    const { inject } = troubled();
    const { node, backends, conditions } = (await inject('/v1/status')).json();
    expect([node.name, backends[0].id]).toEqual(['node-1', 's3']);
    expect(conditions[0].message).toBe('The s3 store refused; the node node-1 too (connect ECONNREFUSED node-1).');
  });
});

describe('an operator reads addresses', () => {
  test('with an admin token', async () => {
    const adminTokens = TokenList.parse(`sha256:${createHash('sha256').update('admin').digest('hex')}`, 'f');
    const { inject } = troubled({ adminTokens });
    const headers = { authorization: 'Bearer admin' };
    expect((await inject({ url: '/v1/status', headers })).json().conditions[0].message).toBe(MESSAGE);
    expect((await inject('/v1/status')).body).not.toMatch(SECRET);
  });

  test('over the local socket', async () => {
    const { inject } = troubled({ isLocal: true });
    expect((await inject('/v1/status')).json().node.name).toBe(NODE);
    const { error } = await rpc(inject, 'getnevmblobdata', BLOB.versionHash, true);
    expect(error?.message).toBe(MESSAGE);
  });
});
