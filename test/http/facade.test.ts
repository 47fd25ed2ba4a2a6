import { readFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { CatalogError } from '../../src/catalog/errors.ts';
import { createClient, getBestBlockHash, getBlob, getBlobInfo, getBlockCount, listBlobs } from '../../src/client.ts';
import { parseBlockHash } from '../../src/core/blob/ids.ts';
import { createBlobNode } from '../../src/node/index.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { chainUnavailable, FakeChainView, TIP_HEIGHT } from './fake-chain-view.ts';
import { injectable, running } from './harness.ts';
import { NO_CHAIN } from './no-chain.ts';
import { rpc } from './rpc-call.ts';

const ABSENT = 'ab'.repeat(32);

function archive(height: number | null = 5) {
  const view = new FakeArchiveView();
  const chain = new FakeChainView();
  const blob = view.add(blobOf(bytesOf(300)));
  const { hashType, versionHash } = blob;
  const mined = height === null ? null : chain.mine({ hashType, versionHash, sizeBytes: 300 }, height);
  return { view, chain, blob, mined, ...injectable(view, chain) };
}

describe('getnevmblobdata', () => {
  test('gives what a node of release 5 gives, in its order', async () => {
    const { inject, blob, mined } = archive();
    const { status, result, error, id } = await rpc(inject, 'getnevmblobdata', blob.versionHash, true);
    expect([status, error, id]).toEqual([200, null, 't']);
    expect(JSON.stringify(result)).toBe(
      JSON.stringify({
        versionhash: blob.versionHash,
        mtp: 1_700_000_005,
        datasize: 300,
        txid: mined?.txid,
        blockhash: mined?.blockHash,
        height: 5,
        chainlock: true,
        data: Buffer.from(blob.bytes).toString('hex'),
      }),
    );
  });

  test('leaves height out of what is unconfirmed, and chainlock false where it is only deep', async () => {
    const unconfirmed = archive(null);
    const info = await rpc(unconfirmed.inject, 'getnevmblobdata', unconfirmed.blob.versionHash);
    expect(info.result).toEqual({ versionhash: unconfirmed.blob.versionHash, mtp: 1_700_000_000, datasize: 300 });
    const deep = archive();
    deep.chain.byChainLock = false;
    deep.chain.occurrences.splice(0);
    deep.chain.mine(deep.blob, 5);
    expect((await rpc(deep.inject, 'getnevmblobdata', deep.blob.versionHash)).result).toMatchObject({
      height: 5,
      chainlock: false,
    });
  });

  test('takes the id of a mined transaction', async () => {
    const { inject, blob, mined } = archive();
    expect((await rpc(inject, 'getnevmblobdata', mined?.txid)).result).toMatchObject({ versionhash: blob.versionHash });
  });

  test('says -32602 only for what is proved absent, or lost', async () => {
    const { inject, view } = archive();
    const absent = { code: -32602, message: `Could not find blob information for versionhash ${ABSENT}` };
    expect(await rpc(inject, 'getnevmblobdata', ABSENT, true)).toMatchObject({ status: 500, error: absent });
    view.reading = async () => ({
      kind: 'unavailable',
      reason: 'cannot-tell',
      message: 'Later.',
      retryAfterSeconds: 9,
    });
    expect(await rpc(inject, 'getnevmblobdata', ABSENT)).toMatchObject({ status: 503, error: { code: -32603 } });
    view.losses.set(ABSENT, { recordedAt: 'then', sources: [] });
    expect(await rpc(inject, 'getnevmblobdata', ABSENT)).toMatchObject({ status: 500, error: absent });
  });

  test('a reader without a walk never says -32602', async () => {
    const { inject } = injectable(new FakeArchiveView(), NO_CHAIN);
    expect(await rpc(inject, 'getnevmblobdata', ABSENT)).toMatchObject({ status: 503, error: { code: -32603 } });
  });

  test('bytes that cannot be read are a fault, told to the operator where it was not expected', async () => {
    const { inject, view, blob, reported } = archive();
    const fault = new CatalogError('catalog/fault', 'The disk is gone: /secret/path.', { retryable: true, hint: '' });
    view.reading = async () => {
      throw fault;
    };
    const answer = await rpc(inject, 'getnevmblobdata', blob.versionHash, true);
    expect(answer).toMatchObject({ status: 503, result: null, error: { code: -32603 } });
    expect(answer.error?.message).not.toContain('secret');
    expect(reported).toMatchObject([{ error: fault }]);
  });
});

const exchange = z.object({
  name: z.string(),
  request: z.object({ body: z.string() }),
  response: z.object({ status: z.int(), body: z.string() }),
});
const ALIKE = [
  'get with 0x prefix',
  'get unknown hash',
  'get unknown hash with data',
  'get short hash',
  'get 33-byte hash',
  'get non-hex',
  'get empty',
  'get null',
  'get getdata as string',
  'named params unknown name',
  'list options not an object',
  'empty cache list',
  'json-rpc 2.0 error',
  'empty batch',
  'parse error',
  'not an object',
  'params a string',
];

describe('the façade as recorded from release 5.1.1', async () => {
  const recorded = z
    .array(exchange.catch({ name: '', request: { body: '' }, response: { status: 0, body: '' } }))
    .parse(JSON.parse(await readFile(new URL('../vectors/release-5.1.json', import.meta.url), 'utf8')));

  test.each(ALIKE)('%s', async (name) => {
    const found = recorded.find((one) => one.name === name);
    if (found === undefined) throw new Error(`${name} is not among the recordings.`);
    const { inject } = injectable(new FakeArchiveView(), new FakeChainView());
    const answer = await inject({ method: 'POST', url: '/', payload: found.request.body });
    expect([answer.statusCode, answer.body]).toEqual([found.response.status, found.response.body]);
  });

  test('a batch answers 200 with errors inside, in order', async () => {
    const { inject, blob } = archive();
    const calls = [
      { id: 'a', method: 'getblockcount', params: [] },
      { id: 18446744073709551615n, method: 'getnevmblobdata', params: [ABSENT] },
      { id: 'c', method: 'getnevmblobdata', params: [blob.versionHash, true] },
      { id: 'd', method: 'stop' },
    ];
    const payload = JSON.stringify(calls, (_key, value) => (typeof value === 'bigint' ? 'BIG' : value));
    const answer = await inject({
      method: 'POST',
      url: '/',
      payload: payload.replace('"BIG"', '18446744073709551615'),
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('"id":18446744073709551615}');
    expect(answer.json()).toMatchObject([
      { result: TIP_HEIGHT, error: null, id: 'a' },
      { result: null, error: { code: -32602 } },
      { result: { data: Buffer.from(blob.bytes).toString('hex') }, id: 'c' },
      { error: { code: -32601 }, id: 'd' },
    ]);
  });
});

describe('a refused call', () => {
  test.each(['syscoincreatenevmblob', 'svccreatenevmblob', 'stop', 'getblock', 'toString', '__proto__'])(
    '-32601 for %s',
    async (method) => {
      const { inject } = archive();
      expect(await rpc(inject, method)).toMatchObject({ status: 404, error: { code: -32601 } });
    },
  );

  test('a batch of too many calls, and a body of too many bytes', async () => {
    const { inject } = archive();
    const many = JSON.stringify(Array.from({ length: 1_025 }, () => ({ method: 'getblockcount' })));
    expect((await inject({ method: 'POST', url: '/', payload: many })).json()).toMatchObject({
      error: { code: -32600 },
    });
    const huge = await inject({ method: 'POST', url: '/', payload: ' '.repeat(300_000) });
    expect([huge.statusCode, huge.json().code]).toEqual([413, 'http/body-too-large']);
    expect(huge.headers['connection']).toBe('close');
  });

  test('brackets without end do no harm', async () => {
    const { inject } = archive();
    for (const text of ['['.repeat(200_000), `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`, '\u0000', '\xff']) {
      const answer = await inject({ method: 'POST', url: '/', payload: text });
      expect([400, 500]).toContain(answer.statusCode);
    }
  });
});

test('members of the tip that only a node knows are told as the node tells them, and left out where none answers', async () => {
  const { inject, chain } = archive();
  chain.members = { difficulty: 4.656542373906925e-10, chainwork: `${'0'.repeat(62)}f2` };
  expect((await rpc(inject, 'getblockchaininfo')).result).toMatchObject(chain.members);
  chain.members = null;
  const alone = z.looseObject({ blocks: z.int() }).parse((await rpc(inject, 'getblockchaininfo')).result);
  expect(alone.blocks).toBe(TIP_HEIGHT);
  expect(Object.keys(alone).filter((name) => /^(difficulty|chainwork|size_on_disk)$/.test(name))).toEqual([]);
});

test.each([['getblockhash', 0], ['getblockchaininfo'], ['getnetworkinfo']])(
  '%s does not read the whole status',
  async (method, ...params) => {
    const { inject, view } = archive();
    view.status = () => {
      throw new Error('The whole status was read.');
    };
    view.identity = () => ({ version: '1', genesis: parseBlockHash('00'.repeat(32)), network: 'regtest' });
    expect((await rpc(inject, method, ...params)).error).toBeNull();
  },
);

describe('while the walk is behind', () => {
  test.each(['getblockcount', 'getbestblockhash', 'getblockchaininfo', 'listnevmblobdata'])(
    '%s is a fault',
    async (method) => {
      const { inject, chain } = archive();
      chain.trouble = chainUnavailable('walk-behind');
      expect(await rpc(inject, method)).toMatchObject({ status: 503, error: { code: -32603 } });
    },
  );
});

describe('clients of the node work here', () => {
  test('the typed client', async () => {
    const { view, chain, blob } = archive();
    const { url } = await running(view, {}, chain);
    const client = createClient({ url });
    onTestFinished(() => client.close());
    expect(await getBlockCount(client)).toBe(TIP_HEIGHT);
    expect(await getBestBlockHash(client)).toMatch(/^b+c$/);
    expect(await listBlobs(client)).toMatchObject([{ versionHash: blob.versionHash, sizeBytes: 300 }]);
    expect(await getBlobInfo(client, blob.versionHash)).toMatchObject({ height: 5, chainLocked: true });
    expect(Buffer.from((await getBlob(client, blob.versionHash)).bytes)).toEqual(Buffer.from(blob.bytes));
  });

  test("the archive's own", async () => {
    const { view, chain, blob } = archive();
    const other = view.add(blobOf(bytesOf(50)));
    const { url } = await running(view, {}, chain);
    const node = createBlobNode({ url });
    onTestFinished(() => node.close());
    const signal = AbortSignal.timeout(120_000);
    expect(await node.tip(signal)).toMatchObject({ height: TIP_HEIGHT, syncing: false });
    const { entries } = await node.listBlobs({ count: 10, from: 0 }, signal);
    const [listed] = entries;
    if (listed === undefined) throw new Error('Nothing is listed.');
    const gone = blobOf(bytesOf(3)).versionHash;
    const outcomes = await node.fetchBlobs(
      [listed, { versionHash: other.versionHash, sizeBytes: 50 }, { versionHash: gone, sizeBytes: 3 }],
      signal,
    );
    expect(outcomes).toMatchObject([
      { kind: 'bytes', blob: { versionHash: blob.versionHash } },
      { kind: 'bytes', blob: { versionHash: other.versionHash } },
      { kind: 'absent' },
    ]);
  });
});

describe('other dialects', () => {
  test.each([
    ['svc', {}],
    ['syscoin-4.4', { mpt: 1_700_000_005 }],
  ] as const)('%s has its own shapes, and data in lists', async (facadeDialect, more) => {
    const { view, chain, blob } = archive();
    const { inject } = injectable(view, chain, { facadeDialect });
    const data = Buffer.from(blob.bytes).toString('hex');
    expect((await rpc(inject, 'listnevmblobdata', 10, 0, { getdata: true })).result).toEqual([
      { versionhash: blob.versionHash, datasize: 300, ...more, data },
    ]);
  });

  test('release 5 has statistics', async () => {
    const { inject } = archive();
    expect((await rpc(inject, 'listnevmblobdata', 1, 0, { stats: true })).result).toEqual([
      { total_blobs: 1, total_size: 300, oldest_mpt: 1_700_000_005, newest_mpt: 1_700_000_005 },
    ]);
  });
});
