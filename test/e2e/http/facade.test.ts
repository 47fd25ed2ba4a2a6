import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Devnode } from '../../../src/devnode/index.ts';
import { beforeAllSharing } from '../../cleanup.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import {
  type ArchiveProcess,
  environmentOf,
  PASSWORD,
  startArchive,
  startNode,
  untilStored,
} from '../archive-process.ts';
import { publish } from '../backends/real-backends.ts';
import { eventually } from '../eventually.ts';
import { HoldfastProcess } from '../holdfast-process.ts';

const REPLY = z.looseObject({
  result: z.unknown(),
  error: z.object({ code: z.int(), message: z.string() }).nullable(),
});
const BLOCK = z.looseObject({ hash: z.string(), tx: z.array(z.string()) });

let node: Devnode;
let daemon: ArchiveProcess;
let tip: string;

async function call(url: string, method: string, params: unknown, authorization?: string) {
  const headers = authorization === undefined ? {} : { authorization };
  const body = JSON.stringify({ id: 7, method, params });
  const answer = await fetch(`${url}/`, { method: 'POST', headers, body });
  const text = await answer.text();
  return { status: answer.status, text, ...REPLY.parse(JSON.parse(text)) };
}
const ours = (method: string, params: unknown = []) => call(daemon.client.url, method, params);
const theirs = (method: string, params: unknown = []) =>
  call(node.url, method, params, `Basic ${btoa(`devnode:${PASSWORD}`)}`);

beforeAllSharing(async (atEnd) => {
  node = await startNode({}, atEnd);
  publish(node, 'asked for as of a node', 3);
  node.mine(3);
  daemon = await startArchive({
    dataDir: temporaryFolder(atEnd),
    node,
    env: { HOLDFAST_HTTP_FACADE_PASS_THROUGH: 'getblock, getrawtransaction', HOLDFAST_START_HEIGHT: '1' },
    atEnd,
  });
  await untilStored(daemon, 3);
  const best = await eventually(async () => {
    const [ourTip, theirTip] = [await ours('getbestblockhash'), await theirs('getbestblockhash')];
    expect(ourTip.result).toBe(theirTip.result);
    return theirTip;
  });
  tip = z.string().parse(best.result);
});

test('a header is what the node shows of it, as far as the walk knows it', async () => {
  const parent = z.object({ previousblockhash: z.string() }).parse((await theirs('getblockheader', [tip])).result);
  for (const hash of [tip, parent.previousblockhash]) {
    const [mine, its] = [await ours('getblockheader', [hash]), await theirs('getblockheader', [hash, true])];
    expect([mine.status, mine.error]).toEqual([200, null]);
    const { chainlock: _, ...shown } = z.record(z.string(), z.unknown()).parse(mine.result);
    expect(its.result).toMatchObject(shown);
    expect(Object.keys(shown)).toContain('mediantime');
  }
  expect(await ours('getblockheader', ['ab'.repeat(32)])).toMatchObject({ status: 500, error: { code: -5 } });
  expect(await ours('getblockheader', ['nonsense'])).toMatchObject({ error: { code: -8 } });
  expect(await ours('getblockheader', [tip, false])).toMatchObject({ error: { code: -1 } });
});

test('a method that the operator named is handed on, to the digit; its refusals too', async () => {
  const [mine, its] = [await ours('getblock', [tip]), await theirs('getblock', [tip])];
  expect(mine.result).toEqual(its.result);
  const [txid] = BLOCK.parse(mine.result).tx;
  expect((await ours('getrawtransaction', [txid, true, tip])).result).toEqual(
    (await theirs('getrawtransaction', [txid, true, tip])).result,
  );
  const refused = await ours('getblock', ['ab'.repeat(32)]);
  expect(refused.error).toEqual((await theirs('getblock', ['ab'.repeat(32)])).error);
});

test('a method that was not named is refused, and one that spends cannot be named', async () => {
  for (const method of ['gettxoutproof', 'stop', 'sendtoaddress', 'listunspent', 'syscoincreatenevmblob']) {
    expect(await ours(method)).toMatchObject({ status: 404, error: { code: -32_601 } });
  }
  for (const method of ['sendtoaddress', 'sendrawtransaction', 'syscoincreatenevmblob', 'stop', 'dumpprivkey']) {
    const env = environmentOf({ dataDir: temporaryFolder(), node, env: { HOLDFAST_HTTP_FACADE_PASS_THROUGH: method } });
    const { code, stderr } = await new HoldfastProcess(['config'], { env }).ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining(method)]);
  }
});

test('waitfornewblock answers with the next block, or with the present one when the time is over', async () => {
  const waited = await ours('waitfornewblock', [100]);
  expect(waited.result).toMatchObject({ hash: tip });
  const waiting = ours('waitfornewblock', [30_000]);
  node.mine(1);
  const { result } = await waiting;
  expect(z.object({ hash: z.string() }).parse(result).hash).not.toBe(tip);
});

test('a node that is gone is a fault, and nothing of how it is reached gets out', async () => {
  await node.close();
  const gone = await ours('getblock', [tip]);
  expect(gone).toMatchObject({ status: 503, error: { code: -32_603 } });
  expect(gone.text).not.toMatch(/127\.0\.0\.1|devnode|ECONN|fetch/);
});
