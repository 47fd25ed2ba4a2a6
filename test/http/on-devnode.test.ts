import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { decodeOccurrenceRecord, verifyOccurrence } from '../../src/verify/index.ts';
import { eventually } from '../e2e/eventually.ts';
import { Scene } from '../scenario/archive-on-devnode.ts';

const ABSENT = 'ab'.repeat(32);

const REPLY = z.object({
  result: z.unknown(),
  error: z.object({ code: z.number() }).nullable(),
});
const ENTRIES = z.array(z.looseObject({ versionhash: z.string() }));

async function ask(url: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers });
  return { status: answer.status, body: await answer.json() };
}

async function jsonAt(url: string) {
  return z.looseObject({}).parse(await (await fetch(url)).json());
}

function rpcOf(url: string, authorization = '') {
  return async (method: string, ...params: unknown[]) =>
    REPLY.parse((await ask(`${url}/`, { jsonrpc: '1.0', id: 1, method, params }, { authorization })).body);
}

/** The version hash of the blob. */
function keccakBlob(scene: Scene): string {
  const { hashType, versionHash } = scene.submit();
  return hashType === 'keccak256' ? versionHash : keccakBlob(scene);
}

function nodeRpc({ node }: Scene) {
  return rpcOf(node.url, `Basic ${Buffer.from(`${node.username}:${node.password}`).toString('base64')}`);
}

describe('the assembled daemon on an emulated node', () => {
  test('answers as the node does, and goes on when the node has forgotten', async () => {
    const scene = await (await Scene.create()).start();
    scene.mine(3, 2);
    await scene.caughtUp();
    await scene.finalUpTo(scene.node.chain.tip.height - 1);
    const here = rpcOf(scene.url);
    const there = nodeRpc(scene);
    for (const { versionHash, txid } of scene.blobs) {
      for (const name of [versionHash, txid, versionHash.toUpperCase()]) {
        expect(await here('getnevmblobdata', name, true)).toEqual(await there('getnevmblobdata', name, true));
      }
    }
    const sorted = ({ result }: z.output<typeof REPLY>) =>
      ENTRIES.parse(result).toSorted((a, b) => (a.versionhash < b.versionhash ? -1 : 1));
    expect(sorted(await here('listnevmblobdata', 100))).toEqual(sorted(await there('listnevmblobdata', 100)));
    for (const method of ['getblockcount', 'getbestblockhash']) {
      expect(await here(method)).toEqual(await there(method));
    }
    expect(await here('getblockhash', 0)).toEqual(await there('getblockhash', 0));
    // The archive leaves out what only a node knows of a header, where the node takes longer than two seconds.
    for (const block of [scene.node.chain.tip, scene.node.chain.tip.previous]) {
      const theirs = await there('getblockheader', block?.hash);
      await eventually(async () => expect(await here('getblockheader', block?.hash)).toEqual(theirs));
    }
    const { result: theirs } = await there('getblockchaininfo');
    // An archive has no files of blocks whose size it could tell.
    const { size_on_disk: _, ...known } = z.looseObject({ size_on_disk: z.number() }).parse(theirs);
    await eventually(async () => expect((await here('getblockchaininfo')).result).toEqual(known));
    const locks = await there('getchainlocks');
    // The signature of a lock only a node has.
    const unsigned: unknown = JSON.parse(
      JSON.stringify(locks, (key, value) => (key === 'signature' ? undefined : value)),
    );
    expect(await here('getchainlocks')).toEqual(unsigned);
    const [first] = scene.blobs;
    const before = await here('getnevmblobdata', first?.versionHash, true);
    scene.mine(160);
    await scene.caughtUp();
    await scene.until('the window has moved on', async () => sorted(await here('listnevmblobdata')).length === 0);
    expect(await here('getnevmblobdata', first?.versionHash, true)).toEqual(before);
  });

  test('does not call a blob absent that was submitted a moment ago, on any route', async () => {
    const scene = await (await Scene.create()).start({ HOLDFAST_NODE_SWEEP_MS: '60000' });
    scene.mine(1, 1);
    await scene.caughtUp();
    const absent = async () => (await fetch(`${scene.url}/v1/blobs/${ABSENT}`)).status === 404;
    const statusOf = async (path: string, txid: string) =>
      (await fetch(`${scene.url}${path.replace('*', txid)}`)).status;
    await scene.until('what is unknown is absent', absent);
    const paths = ['/v1/blobs/', '/vh/', '/raw/vh/', '/get/0x00', '/v1/blobs/*/record', '/v1/blobs/*/proof'];
    for (const path of paths) {
      const hash = keccakBlob(scene);
      const url = path.includes('*') ? path.replace('*', hash) : `${path}${hash}`;
      expect([url, (await fetch(`${scene.url}${url}`)).status]).not.toEqual([url, 404]);
    }
    const { error } = await rpcOf(scene.url)('getnevmblobdata', keccakBlob(scene), true);
    expect(error?.code).not.toBe(-32602);
    // Nor the transaction that carries it, which no block has yet; an unknown one is absent all the same.
    for (const path of ['/v1/transactions/*', '/v1/transactions/*/data']) {
      expect([path, await statusOf(path, scene.submit().txid)]).toEqual([path, 503]);
      await eventually(async () => expect([path, await statusOf(path, ABSENT)]).toEqual([path, 404]));
    }
    const byTxid = async (txid: string) => (await rpcOf(scene.url)('getnevmblobdata', txid, true)).error?.code;
    expect(await byTxid(scene.submit().txid)).not.toBe(-32602);
    await eventually(async () => expect(await byTxid(ABSENT)).toBe(-32602));
  });

  test('check_vh and lastblock claim what is proven, and nothing while they cannot tell', async () => {
    const scene = await (await Scene.create()).start();
    scene.node.setChainLocks({ kind: 'none' });
    const [mined] = scene.mine(1, 1);
    await scene.caughtUp();
    const check = (...hashes: unknown[]) => ask(`${scene.url}/check_vh`, hashes);
    // Stored, in a block, and not final: a plain no.
    expect(await check(mined?.versionHash, ABSENT)).toEqual({ status: 200, body: [false, false] });
    scene.node.setChainLocks({ kind: 'follow', lagBlocks: 0 });
    scene.mine(1);
    await scene.finalUpTo(mined?.height ?? 0);
    expect(await check(mined?.versionHash, ABSENT)).toEqual({ status: 200, body: [true, false] });
    await scene.until('the last block is the final one', async () => {
      const { finalHeight } = scene.archive.status().chain;
      const block = await jsonAt(`${scene.url}/v1/blocks/${finalHeight}`);
      return (await (await fetch(`${scene.url}/lastblock`)).text()) === block['hash'];
    });
    await scene.node.goAway();
    // A list that was read lately is believed for a quarter of a minute.
    await scene.stop();
    await scene.start();
    expect(await check(mined?.versionHash)).toEqual({ status: 200, body: [true] });
    expect(await check(mined?.versionHash, ABSENT)).toMatchObject({ status: 503, body: { code: 'chain/walk-behind' } });
    expect((await fetch(`${scene.url}/lastblock`)).status).toBe(200);
    const fault = await ask(`${scene.url}/`, { id: 1, method: 'getnevmblobdata', params: [ABSENT] });
    expect(fault).toMatchObject({ status: 503, body: { error: { code: -32603 } } });
    await scene.node.comeBack();
  });

  test('proofs prove, offline', async () => {
    const scene = await (await Scene.create()).start();
    scene.mine(2, 2);
    await scene.caughtUp();
    scene.mine(1);
    await scene.finalUpTo(scene.node.chain.tip.height - 1);
    for (const { versionHash, txid, bytes } of scene.blobs) {
      const { records } = await jsonAt(`${scene.url}/v1/blobs/${versionHash}/proof`);
      const record = decodeOccurrenceRecord(z.array(z.unknown()).parse(records)[0]);
      expect(verifyOccurrence(bytes, record)).toMatchObject({ ok: true });
      expect(record.txid).toBe(txid);
    }
  });

  test('a reorganisation takes the claim back, and brings it again', async () => {
    const scene = await (await Scene.create()).start();
    scene.node.setChainLocks({ kind: 'none' });
    scene.mine(2);
    const [mined] = scene.mine(1, 1);
    await scene.caughtUp();
    const url = `${scene.url}/v1/transactions/${scene.blobs[0]?.txid}`;
    expect(await (await fetch(url)).json()).toMatchObject({
      state: 'mined',
      height: mined?.height,
      chainLocked: false,
    });
    scene.node.reorganise(2, { remine: false });
    // In no block, and listed again: neither found nor absent.
    await scene.until('the transaction is gone', async () =>
      (await (await fetch(url)).text()).includes('A node lists it'),
    );
    const here = rpcOf(scene.url);
    const { result } = await here('getnevmblobdata', mined?.versionHash);
    expect(result).not.toHaveProperty('height');
    expect((await here('getnevmblobdata', scene.blobs[0]?.txid)).error).toMatchObject({ code: -32603 });
  });
});
