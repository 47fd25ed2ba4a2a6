import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  blockCall,
  cacheStatistics,
  createBlobNode,
  createClient,
  getBestBlockHash,
  getBestChainLock,
  getBlockCount,
  getBlockHash,
  getBlockHeader,
  getChainTips,
  getRawBlock,
  getRawMempool,
  getRawTransaction,
  getTransaction,
  getTxOutProof,
  listBlobs,
  parseBlockHash,
  parseTxId,
  verifyTxOutProof,
} from '../../src/client.ts';
import { nobleHasher } from '../../src/verify/hasher.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { callOf, fakeNode, json, type Seen } from './fake-node.ts';

const CHAIN = z
  .object({
    range: z.object({ from: z.int(), to: z.int() }),
    blobs: z.array(z.object({ label: z.string(), size: z.int(), versionhash: z.string(), txid: z.string() })),
    exchanges: z.record(z.string(), z.object({ status: z.int(), text: z.string() })),
  })
  .parse(JSON.parse(gunzipSync(readFileSync(new URL('../vectors/chain-5.1.json.gz', import.meta.url))).toString()));

/** The recorded answer. Blobs of 1 MiB and more were recorded without data, which their labels give. */
function answerTo(method: unknown, params: unknown, id: unknown): { status: number; text: string } {
  // The number of entries in a request for statistics has no effect.
  const key = JSON.stringify([method, params]).replace('[1,0,{"stats"', '[1000,0,{"stats"');
  const found = CHAIN.exchanges[key];
  if (found !== undefined) return { status: found.status, text: withId(found.text, id) };
  const [versionHash, data] = Array.isArray(params) ? params : [];
  const bare = CHAIN.exchanges[JSON.stringify([method, [versionHash]])];
  const blob = CHAIN.blobs.find((one) => one.versionhash === versionHash);
  if (bare === undefined || blob === undefined || data !== true)
    return {
      status: 404,
      text: `{"result":null,"error":{"code":-32601,"message":"Method not found"},"id":${JSON.stringify(id)}}`,
    };
  const hex = hash('shake256', blob.label, { outputEncoding: 'hex', outputLength: blob.size });
  return {
    status: bare.status,
    text: withId(bare.text.replace(/\},"error":null/, `,"data":"${hex}"},"error":null`), id),
  };
}

const withId = (text: string, id: unknown) => text.replace(/"id":"r"\}\s*$/, `"id":${JSON.stringify(id)}}`);

function answerAny(seen: Seen): { status: number; text: string } {
  const calls: unknown = JSON.parse(seen.body);
  if (!Array.isArray(calls)) {
    const { method, params, id } = callOf(seen);
    return answerTo(method, params, id);
  }
  return {
    status: 200,
    text: `[${calls.map(({ method, params, id }) => answerTo(method, params, id).text).join(',')}]`,
  };
}

async function recordedNode() {
  const fake = await fakeNode((response, seen) => {
    const { status, text } = answerAny(seen);
    json(response, status, text);
  });
  const client = createClient({ url: fake.url });
  const node = createBlobNode({ url: fake.url });
  onTestFinished(async () => {
    await Promise.all([client.close(), node.close()]);
  });
  return { fake, client, node };
}

const { signal } = new AbortController();

test.each([1, 4, 22])('all 22 contents of the recorded chain arrive and verify, %i at a time', async (atOnce) => {
  const { client, node } = await recordedNode();
  const listed = await listBlobs(client, { count: 1_000 });
  expect(listed).toHaveLength(22);
  const verified: string[] = [];
  for (let from = 0; from < listed.length; from += atOnce) {
    for (const outcome of await node.fetchBlobs(listed.slice(from, from + atOnce), signal)) {
      const blob = outcome.kind === 'bytes' ? verifyBlob(outcome.blob, nobleHasher) : null;
      verified.push(blob?.versionHash ?? outcome.kind);
    }
  }
  expect(verified.toSorted()).toEqual([...new Set(CHAIN.blobs.map(({ versionhash }) => versionhash))].toSorted());
});

test('the headers and blocks of the recorded chain agree', async () => {
  const { client } = await recordedNode();
  expect(await client.release()).toEqual({ dialect: 'syscoin-5', version: 50_101 });
  expect(await getBlockCount(client)).toBe(CHAIN.range.to);
  expect(await getBestChainLock(client)).toBeNull();
  expect(await getRawMempool(client)).toEqual([]);
  expect((await getChainTips(client)).map(({ status }) => status)).toEqual(['active', 'invalid']);
  let previous = await getBlockHash(client, CHAIN.range.from);
  for (let height = CHAIN.range.from + 1; height <= CHAIN.range.to; height += 1) {
    const hash = await getBlockHash(client, height);
    const header = await getBlockHeader(client, hash);
    expect(header).toMatchObject({ hash, height, previousHash: previous });
    const [block] = await client.runAll([blockCall(hash)]);
    expect(block).toMatchObject({ ok: true, value: { height, transactionCount: header.transactionCount } });
    expect((await getRawBlock(client, hash)).length).toBeGreaterThan(80);
    previous = hash;
  }
  expect(await getBestBlockHash(client)).toBe(previous);
});

test('every recorded mined transaction is read, and its proof names it', async () => {
  const { client } = await recordedNode();
  const keys = Object.keys(CHAIN.exchanges).map((key) =>
    z.tuple([z.string(), z.array(z.unknown())]).parse(JSON.parse(key)),
  );
  const proved = keys.filter(([method]) => method === 'gettxoutproof');
  let verified = 0;
  for (const [, [ids, block]] of proved) {
    const txid = parseTxId(z.array(z.string()).parse(ids)[0] ?? '');
    // The blob of the dead branch was recorded without a block.
    if (block === undefined) continue;
    const blockHash = parseBlockHash(z.string().parse(block));
    expect(await getTransaction(client, txid, { blockHash })).toMatchObject({ txid, version: 137 });
    expect((await getRawTransaction(client, txid, { blockHash })).length).toBeGreaterThan(100);
    const proof = await getTxOutProof(client, [txid], { blockHash });
    const names = await verifyTxOutProof(client, proof).catch(() => null);
    if (names !== null) {
      expect(names).toEqual([txid]);
      verified += 1;
    }
  }
  expect(proved).toHaveLength(23);
  expect(verified).toBe(22);
});

test('statistics of the cache equal those of the list', async () => {
  const { fake } = await recordedNode();
  const client = createClient({ url: fake.url, dialect: 'syscoin-5' });
  onTestFinished(() => client.close());
  const listed = await listBlobs(client, { count: 1_000 });
  const bytes = listed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await expect(cacheStatistics(client)).resolves.toMatchObject({ blobs: 22, bytes });
});
