import { describe, expect, onTestFinished, test } from 'vitest';
import {
  blockCountCall,
  type ClientOptions,
  cacheStatistics,
  createBlob,
  createClient,
  createRawBlob,
  getBestChainLock,
  getBlob,
  getBlobInfo,
  getBlobInfoCall,
  getBlock,
  getBlockchainInfo,
  getBlockHeader,
  getMempoolInfo,
  getNetworkInfo,
  getRawBlockHeader,
  getRawTransaction,
  getTransaction,
  getTxOutProof,
  listBlobs,
  type NodeClient,
  uptime,
  verifyTxOutProof,
  waitForNewBlock,
} from '../../src/client.ts';
import { parseBlockHash, parseTxId, parseVersionHash } from '../../src/core/blob/ids.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { type Answering, fakeNode } from './fake-node.ts';
import { bodyWithId, type Recording, recorded } from './recordings.ts';

async function clientThat(answer: Answering, options: Partial<ClientOptions> = {}) {
  const fake = await fakeNode(answer);
  const client = createClient({ url: fake.url, dialect: 'syscoin-5', ...options });
  onTestFinished(() => client.close());
  return { fake, client };
}

/** Answers as recorded, and compares the request with the recorded one, except for its id. */
async function replaying(
  name: string,
  run: (client: NodeClient) => Promise<unknown>,
  options: Partial<ClientOptions> = {},
) {
  const exchange = recorded(name);
  const { fake, client } = await clientThat((response) => {
    response.writeHead(
      exchange.response.status,
      exchange.response.headers['content-type'] === undefined
        ? {}
        : { 'content-type': exchange.response.headers['content-type'] },
    );
    response.end(bodyWithId(exchange, 'holdfast'));
  }, options);
  const outcome = await run(client).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  expect(fake.seen.map(({ path }) => path)).toEqual([exchange.request.path]);
  expect(callWithoutId(fake.seen[0]?.body ?? '')).toEqual(callWithoutId(exchange.request.body));
  return outcome;
}

function callWithoutId(body: string): unknown {
  return JSON.parse(body.replace(/"id":("[^"]*"|\d+)/, '"id":0'));
}

const HELLO = parseVersionHash('afb797712b25b18ec5c6cb72a7972b4740f6afd5ed34fb6709076a69fe802aee');
const HELLO_TX = parseTxId('1fe820a412af7164c40b0aabd0507f32937946e95002adb17f64d7888dca581b');
const BLOCK = parseBlockHash('174d222bbe4c9cf18c9ab50542503df77342acac134b5ef543f04c88f58a90d2');
const hello = new TextEncoder().encode('hello blob, first of its name');
const wallet = { wallet: 'w' };

describe('the recorded node accepts requests and its answers decode', () => {
  const cases: [string, (client: NodeClient) => Promise<unknown>, unknown][] = [
    [
      'node version',
      getNetworkInfo,
      { version: 50_101, release: '5.1.1', subversion: '/Satoshi:5.1.1/', connections: 0 },
    ],
    ['chain info', getBlockchainInfo, { chain: 'regtest', height: 120, initialBlockDownload: false, pruned: false }],
    ['best chainlock', getBestChainLock, null],
    ['empty cache list', listBlobs, []],
    [
      'list count 3 from 3',
      (client) => listBlobs(client, { count: 3, from: 3 }),
      [{ sizeBytes: 44, medianTimeSeconds: 1_795_197_852 }, { sizeBytes: 40 }, { sizeBytes: 53 }],
    ],
    [
      'duplicate, overwrite false, confirmed',
      (client) => createBlob(client, hello, { overwriteExisting: false }),
      { versionHash: HELLO, txid: null },
    ],
    [
      'create blake2s',
      (client) =>
        createBlob(client, new TextEncoder().encode('a blake2s blob'), {
          overwriteExisting: true,
          hashType: 'blake2s256',
        }),
      { versionHash: '273b6413c5b5cc74e09a7a27568442384a1587ca64d66b87d3baa7fd6daac4ee' },
    ],
    [
      'get unconfirmed by version hash',
      (client) => getBlobInfo(client, HELLO),
      { sizeBytes: 29, height: null, blockHash: null, chainLocked: null },
    ],
    ['get confirmed by version hash', (client) => getBlobInfo(client, HELLO), { height: 121, chainLocked: false }],
    ['get confirmed by version hash with data', (client) => getBlob(client, HELLO), { height: 121, bytes: hello }],
    [
      'get confirmed by txid with data',
      (client) => getBlob(client, parseTxId('364e50054cd1b4f2e76679572c2adf06110e633531b48a446271e6779c31a0e5')),
      { versionHash: HELLO, bytes: hello },
    ],
    [
      'block header of a blob block',
      (client) => getBlockHeader(client, BLOCK),
      { hash: BLOCK, height: 122, confirmations: 6, transactionCount: 2, chainLocked: false },
    ],
    [
      'block verbosity 1',
      (client) => getBlock(client, BLOCK),
      { height: 122, transactions: [expect.any(String), HELLO_TX] },
    ],
    [
      'raw transaction verbose',
      (client) => getTransaction(client, HELLO_TX, { blockHash: BLOCK }),
      { version: 137, blockHash: BLOCK, outputs: [{ value: '49.99993560' }, { value: '0.00000000' }] },
    ],
    ['mempool info', getMempoolInfo, { transactions: 0, totalFee: '0.00000000', minimumFee: '0.00001000' }],
    ['uptime', uptime, 24],
    ['wait for new block, times out', (client) => waitForNewBlock(client, 200), { height: 127 }],
  ];
  test.each(cases)('%s', async (name, run, expected) => {
    const outcome = await replaying(name, run, name.startsWith('create') || name.startsWith('duplicate') ? wallet : {});
    if (typeof expected === 'object' && expected !== null) expect(outcome).toMatchObject({ value: expected });
    else expect(outcome).toEqual({ value: expected });
  });

  test('header, transaction and proof are raw bytes', async () => {
    const header = await replaying('block header hex', (client) => getRawBlockHeader(client, BLOCK));
    expect(header).toMatchObject({ value: { length: 80 } });
    expect(
      await replaying('raw transaction hex', (client) => getRawTransaction(client, HELLO_TX, { blockHash: BLOCK })),
    ).toMatchObject({ value: { length: 206 } });
    expect(
      await replaying('tx out proof', (client) => getTxOutProof(client, [HELLO_TX], { blockHash: BLOCK })),
    ).toMatchObject({ value: expect.any(Uint8Array) });
    const proof = Buffer.from(resultText(recorded('tx out proof')), 'hex');
    expect(await replaying('verify tx out proof', (client) => verifyTxOutProof(client, proof))).toEqual({
      value: [HELLO_TX],
    });
  });

  const refusals: [string, (client: NodeClient) => Promise<unknown>, object][] = [
    [
      'get unknown hash',
      (client) => getBlobInfo(client, parseVersionHash('ab'.repeat(32))),
      { code: 'node/absent', rpcCode: -32602 },
    ],
    [
      'get txid of a coinbase (no blob)',
      (client) => getBlobInfo(client, parseTxId('6c535324a4eed68fcbc1fc52fa9cebded4a51e67e2e6272e60bc08a07fd2b5f8')),
      { code: 'node/rpc-error', rpcCode: -32602 },
    ],
  ];
  test.each(refusals)('%s', async (name, run, expected) => {
    expect(await replaying(name, run)).toMatchObject({ error: expected });
  });

  test('an unknown wallet is refused by name', async () => {
    const { fake, client } = await clientThat((response) => {
      response.writeHead(500).end(bodyWithId(recorded('create with unknown wallet'), 'holdfast'));
    });
    const created = createBlob(client, Uint8Array.of(0xaa, 0xbb, 0x05), { wallet: 'nope' });
    await expect(created).rejects.toMatchObject({ code: 'node/unknown-wallet', rpcCode: -18 });
    expect(fake.seen[0]?.path).toBe('/wallet/nope');
  });

  test('statistics of the cache are decoded', async () => {
    const { client } = await clientThat((response) =>
      response.end(bodyWithId(recorded('list with stats'), 'holdfast')),
    );
    expect(await cacheStatistics(client)).toMatchObject({ blobs: 18, bytes: 710 });
  });
});

test('a batch is one request, and each call has its own result', async () => {
  const { fake, client } = await clientThat((response) => {
    const [count, absent, found]: unknown[] = JSON.parse(recorded('batch').response.body);
    response.end(JSON.stringify([withId(found, '2'), withId(count, '0'), withId(absent, '1')]));
  });
  const ended = await client.runAll<unknown>([
    blockCountCall(),
    getBlobInfoCall(parseVersionHash('ab'.repeat(32))),
    getBlobInfoCall(HELLO),
  ]);
  expect(ended).toMatchObject([
    { ok: true, value: 126 },
    { ok: false, error: { code: 'node/absent' } },
    { ok: true, value: { versionHash: HELLO } },
  ]);
  expect(fake.seen).toHaveLength(1);
});

test('a custom commitment is refused where the node would drop it', async () => {
  const { fake, client } = await clientThat((response) => response.end());
  await expect(createRawBlob(client, HELLO, Uint8Array.of(1), { hasher: nobleHasher })).rejects.toMatchObject({
    code: 'node/invalid-argument',
  });
  expect(fake.seen).toEqual([]);
});

function withId(answer: unknown, id: string): unknown {
  return { ...(typeof answer === 'object' ? answer : {}), id };
}

function resultText(exchange: Recording): string {
  const parsed: unknown = JSON.parse(exchange.response.body);
  return typeof parsed === 'object' && parsed !== null && 'result' in parsed ? String(parsed.result) : '';
}
