import { describe, expect, onTestFinished, test } from 'vitest';
import {
  assetAllocationBalance,
  assetAllocationSend,
  assetAllocationSendMany,
  assetInfo,
  type ClientOptions,
  createBlob,
  createBlobNode,
  createClient,
  createRawBlob,
  type Dialect,
  getBestBlockHash,
  getBestChainLock,
  getBlob,
  getBlobInfo,
  getBlock,
  getBlockCount,
  getBlockchainInfo,
  getBlockHash,
  getBlockHeader,
  getNetworkInfo,
  getRawBlock,
  getRawBlockHeader,
  getRawMempool,
  getRawTransaction,
  getTransaction,
  getTxOutProof,
  listBlobs,
  listBlobsWithData,
  parseTxId,
  parseVersionHash,
  type SubmissionProgress,
  submitBlob,
  uptime,
  verifyTxOutProof,
} from '../../src/client.ts';
import { createDevnode, type DevnodeOptions } from '../../src/devnode/index.ts';
import { countCalls } from '../e2e/counted-gets.ts';
import { freePort } from '../servers/child-server.ts';

/** A token of every new emulated chain. */
const GUID = 18_446_744_073_709_551_615n;

async function devnodeOf(dialect: Dialect, options: DevnodeOptions = {}, client: Partial<ClientOptions> = {}) {
  const devnode = await createDevnode({ dialect, ...options });
  onTestFinished(() => devnode.close());
  const credentials = { user: devnode.username, password: devnode.password };
  const ours = createClient({ url: devnode.url, credentials, ...client });
  onTestFinished(() => ours.close());
  return { devnode, credentials, client: ours };
}

const text = (word: string) => new TextEncoder().encode(word);

describe.each(['svc', 'syscoin-4.4', 'syscoin-5'] as const)('blobs in %s with a detected dialect', (dialect) => {
  test('blobs are created, listed, fetched and mined', async () => {
    const { devnode, client } = await devnodeOf(dialect);
    expect(await client.release()).toMatchObject({ dialect });
    const created = await createBlob(client, text('one'));
    expect(await listBlobs(client)).toMatchObject([{ versionHash: created.versionHash, sizeBytes: 3 }]);
    expect(await getBlob(client, created.versionHash)).toMatchObject({ sizeBytes: 3 });
    devnode.mine();
    const { bytes } = await getBlob(client, created.txid ?? parseTxId(''));
    expect(Buffer.from(bytes).toString()).toBe('one');
    const again = await createBlob(client, text('one'), { overwriteExisting: false });
    expect(again).toMatchObject({ versionHash: created.versionHash, txid: null });
  });

  test('a blob is created under the caller’s version hash', async () => {
    const { client } = await devnodeOf(dialect);
    const { versionHash } = await createBlob(client, text('two'));
    expect(await createRawBlob(client, versionHash, text('two'))).toMatchObject({ versionHash });
    const custom = createRawBlob(client, parseVersionHash('ab'.repeat(32)), text('two'));
    if (dialect === 'svc') await custom;
    else await expect(custom).rejects.toMatchObject({ code: 'node/invalid-argument' });
  });

  test('the list includes data in dialects that have it', async () => {
    const { client } = await devnodeOf(dialect);
    await createBlob(client, text('three'));
    const listed = listBlobsWithData(client);
    if (dialect === 'syscoin-5') await expect(listed).rejects.toMatchObject({ code: 'node/unsupported-operation' });
    else expect(Buffer.from((await listed)[0]?.bytes ?? []).toString()).toBe('three');
  });

  test('submitBlob follows a blob to its ChainLock', async () => {
    const { devnode, client } = await devnodeOf(dialect);
    const stages: string[] = [];
    const onProgress = (progress: SubmissionProgress) => {
      if (progress.kind !== 'stage') return;
      stages.push(progress.submission.stage);
      // The ChainLock lags one block behind.
      if (progress.submission.stage !== 'sent') devnode.mine(2);
    };
    const ended = await submitBlob(client, text('four'), { until: 'chain-locked', pollMs: 5, onProgress });
    expect(ended).toMatchObject({ stage: 'chain-locked' });
    expect(stages[0]).toBe('sent');
  });

  test('a node without a transaction index finds the block by reading each block once', async () => {
    const { devnode, client } = await devnodeOf(dialect, { transactionIndex: false });
    const block = countCalls(devnode, 'getblock');
    const onProgress = (progress: SubmissionProgress) => {
      if (progress.kind !== 'stage') return;
      if (progress.submission.stage === 'listed') {
        devnode.mine(1);
        devnode.mine(5);
      }
    };
    const ended = await submitBlob(client, text('six'), { until: 'chain-locked', pollMs: 5, onProgress });
    const mined = devnode.chain.tree.find(ended.txid ?? '');
    expect(ended).toMatchObject({ stage: 'chain-locked', blockHash: mined?.block.hash, height: mined?.block.height });
    expect(block.count).toBeLessThanOrEqual(dialect === 'svc' ? 6 : 0);
  });

  test('a blob that two clients submit is mined for both, and fetched by either transaction', async () => {
    const { devnode, client } = await devnodeOf(dialect);
    const onProgress = (progress: SubmissionProgress) => {
      if (progress.kind !== 'stage' || progress.submission.stage !== 'listed') return;
      devnode.submitBlob(text('twice'));
      devnode.mine(3);
    };
    const ended = await submitBlob(client, text('twice'), { until: 'mined', pollMs: 5, onProgress });
    const mined = devnode.chain.tree.find(ended.txid ?? '');
    expect(ended).toMatchObject({ stage: 'chain-locked', blockHash: mined?.block.hash });
    const byOlder = await getBlob(client, parseTxId(ended.txid ?? ''));
    expect(byOlder).toMatchObject({ versionHash: ended.versionHash, txid: ended.txid, bytes: text('twice') });
  });

  test('a resubmission makes another transaction by default', async () => {
    const { client } = await devnodeOf(dialect);
    const first = await createBlob(client, text('renewed'));
    const second = await createBlob(client, text('renewed'));
    expect(second.txid).not.toBeNull();
    expect(second.txid).not.toBe(first.txid);
  });

  test('a dropped blob is reported as dropped', async () => {
    const { devnode, client } = await devnodeOf(dialect);
    const onProgress = (progress: SubmissionProgress) => {
      if (progress.kind === 'stage' && progress.submission.stage === 'listed') {
        devnode.dropTransaction(progress.submission.txid ?? '');
      }
    };
    expect(await submitBlob(client, text('five'), { until: 'mined', pollMs: 5, onProgress })).toMatchObject({
      stage: 'dropped',
    });
  });

  test('the archive’s node client fetches the blobs', async () => {
    const { devnode, credentials } = await devnodeOf(dialect, { seedRecordedBlobs: true });
    const node = createBlobNode({ url: devnode.url, credentials });
    onTestFinished(() => node.close());
    const { signal } = new AbortController();
    expect(await node.tip(signal)).toMatchObject({ height: devnode.chain.tip.height });
    const { entries: listed } = await node.listBlobs({ count: 1_000, from: 0 }, signal);
    const small = listed.filter(({ sizeBytes }) => sizeBytes < 100_000);
    expect(small.length).toBeGreaterThan(10);
    for (const outcome of await node.fetchBlobs(small, signal)) expect(outcome.kind).toBe('bytes');
  });
});

describe.each(['svc', 'syscoin-4.2'] as const)('assets in %s', (dialect) => {
  test('assets are described, counted and sent with every digit', async () => {
    const { devnode, client } = await devnodeOf(dialect, { wallets: ['a', 'b'] }, { wallet: 'a' });
    expect(await assetInfo(client, GUID)).toMatchObject({ guid: GUID, totalSupply: '12345678901.23', precision: 2 });
    const address = devnode.assets.addressOf('b');
    const before = await assetAllocationBalance(client, GUID);
    expect(before.assetAmount).toBe('12345678901.23');
    const sent = await assetAllocationSend(client, { guid: GUID, address, amount: '0.01' }, { zdag: true });
    expect(sent.allocations).toMatchObject([{ guid: GUID, amount: '0.01' }]);
    expect(sent.allocationCount).toBe(1);
    const many = await assetAllocationSendMany(client, [
      { guid: GUID, address, amount: '1.00', nativeAmount: '0' },
      { guid: GUID, address, amount: '2.5', nativeAmount: '0.00000546' },
    ]);
    expect(many.txid).not.toBe(sent.txid);
    expect((await assetAllocationBalance(client, GUID, { addresses: [address] })).assetAmount).toBe('3.51');
    expect((await assetAllocationBalance(client, GUID)).assetAmount).toBe('12345678897.72');
  });
});

describe.each([
  ['syscoin-4.4', 'assetInfo'],
  ['syscoin-5', 'assetInfo'],
  ['syscoin-4.2', 'createBlob'],
] as const)('%s', (dialect, operation) => {
  test(`the dialect lacks ${operation}, and the client sends nothing`, async () => {
    const { client } = await devnodeOf(dialect);
    const call = operation === 'assetInfo' ? assetInfo(client, 1n) : createBlob(client, text('x'));
    await expect(call).rejects.toMatchObject({ code: 'node/unsupported-operation' });
  });
});

test('the node’s own calls agree with each other', async () => {
  const { devnode, client } = await devnodeOf('syscoin-5');
  const { txid } = await createBlob(client, text('six'));
  if (txid === null) throw new Error('A new blob makes a transaction.');
  expect(await getRawMempool(client)).toEqual([txid]);
  expect(await getTransaction(client, txid)).toMatchObject({ version: 137, blockHash: null });
  devnode.mine(2);
  const info = await getBlockchainInfo(client);
  expect(info).toMatchObject({ height: await getBlockCount(client), bestBlockHash: await getBestBlockHash(client) });
  const blockHash = await getBlockHash(client, info.height - 1);
  expect((await getBlock(client, blockHash)).transactions).toContain(txid);
  expect(await getBlockHeader(client, blockHash)).toMatchObject({
    height: info.height - 1,
    nextHash: info.bestBlockHash,
  });
  expect((await getRawBlockHeader(client, blockHash)).length).toBe(80);
  expect((await getRawBlock(client, blockHash)).length).toBeGreaterThan(200);
  expect((await getRawTransaction(client, txid, { blockHash })).length).toBeGreaterThan(100);
  expect(await verifyTxOutProof(client, await getTxOutProof(client, [txid], { blockHash }))).toEqual([txid]);
  expect(await getBestChainLock(client)).toMatchObject({ height: info.height - 1 });
  expect(await getNetworkInfo(client)).toMatchObject({ release: '5.1.1' });
  expect(await uptime(client)).toBeGreaterThanOrEqual(0);
});

test('a client recovers when its node comes back', async () => {
  const { devnode, client } = await devnodeOf(
    'syscoin-5',
    { port: await freePort() },
    { retry: { repetitions: 0, firstDelayMs: 0, maxDelayMs: 0 } },
  );
  const { versionHash } = await createBlob(client, text('seven'));
  await devnode.goAway();
  await expect(getBlobInfo(client, versionHash)).rejects.toMatchObject({ retryable: true });
  await devnode.comeBack();
  expect(await getBlobInfo(client, versionHash)).toMatchObject({ versionHash });
});
