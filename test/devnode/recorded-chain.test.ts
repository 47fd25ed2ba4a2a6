import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { HASH_TYPES, parseVersionHash } from '../../src/core/blob/ids.ts';
import type { Content } from '../../src/devnode/chain/content.ts';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { RecordedComparison } from './recorded-comparison.ts';
import { post } from './rpc-client.ts';

/** Origin: release 5.1.1 in regtest, 126 blocks, three of them disconnected again (test/vectors/chain-5.1.json.gz). */
const Recording = z.object({
  losing: z.array(z.string()),
  blobs: z.array(
    z.object({
      label: z.string(),
      size: z.int(),
      hashType: z.enum(HASH_TYPES),
      txid: z.string(),
      versionhash: z.string(),
    }),
  ),
  snapshots: z.record(z.string(), z.object({ best: z.string(), list: z.string(), stats: z.string() })),
  exchanges: z.record(z.string(), z.object({ status: z.int(), text: z.string() })),
});
const recording = Recording.parse(
  JSON.parse(gunzipSync(readFileSync(new URL('../vectors/chain-5.1.json.gz', import.meta.url))).toString()),
);

const Header = z.object({ hash: z.string(), height: z.int(), time: z.int(), mediantime: z.int() });
const BlockView = z.object({ result: Header.extend({ tx: z.array(z.string()) }) });

/** Recorded blocks with their transactions. */
const blocks = Object.entries(recording.exchanges)
  .filter(([key]) => key.startsWith('["getblock",') && key.endsWith(',1]]'))
  .map(([, { text }]) => BlockView.parse(JSON.parse(text)).result);
const branch = blocks.filter(({ hash }) => !recording.losing.includes(hash)).sort((a, b) => a.height - b.height);
const dead = blocks.filter(({ hash }) => recording.losing.includes(hash)).sort((a, b) => a.height - b.height);

/**
 * Fields that depend on coins and hashes are not compared: the recorded wallet chose other coins. It also moved one
 * lock time in ten back, against fee sniping.
 */
const OF_COINS = new Set('size strippedsize vsize weight vin vout fee hex size_on_disk nonce locktime'.split(' '));

const comparison = new RecordedComparison();
let devnode: Devnode;
let now = 0;

/** Submits the blobs of a recorded block in its order, and mines it at its time. */
function repeat(block: z.infer<typeof BlockView>['result']): void {
  now = block.time;
  for (const txid of block.tx.slice(1)) {
    const blob = recording.blobs.find((candidate) => candidate.txid === txid);
    if (blob === undefined) throw new Error(`No blob was recorded for ${txid}.`);
    const content: Content = {
      versionHash: parseVersionHash(blob.versionhash),
      hashType: blob.hashType,
      sizeBytes: blob.size,
      source: { kind: 'label', label: blob.label },
    };
    const submitted = devnode.chain.submit({ content, acceptable: true, feeSatsPerVbyte: null });
    comparison.learn(txid, submitted?.transaction.txid ?? '');
  }
  for (const { hash } of devnode.mine()) comparison.learn(block.hash, hash);
}

async function expectSnapshot(name: string): Promise<void> {
  const recorded = recording.snapshots[name];
  const list = await post(devnode, '{"id":"r","method":"listnevmblobdata","params":[1000]}');
  expect(comparison.differences(recorded?.list ?? '', list.text)).toEqual([]);
  const stats = await post(devnode, '{"id":"r","method":"listnevmblobdata","params":[1000,0,{"stats":true}]}');
  expect(stats.text).toBe(recorded?.stats);
  const best = await post(devnode, '{"id":"r","method":"getblockchaininfo","params":[]}');
  expect(comparison.differences(recorded?.best ?? '', best.text, OF_COINS)).toEqual([]);
}

/** Answers that are hex of transactions and blocks, whose lengths depend on coins too. */
const RAW = /^\["(getblock",.*,0|getrawtransaction",.*,false.*)\]/;

beforeAll(async () => {
  const first = branch[0];
  if (first === undefined) throw new Error('The recording has no blocks.');
  // The median times of the first recorded blocks imply the times before: six blocks in one second, four in the next.
  now = first.time - 10;
  devnode = await createDevnode({
    seed: 'recorded chain',
    network: 'test',
    initialBlocks: first.height - 11,
    clock: { nowSeconds: () => now },
  });
  now = first.time - 1;
  devnode.mine(6);
  now = first.time;
  devnode.mine(4);
  for (const block of branch.filter(({ height }) => height <= 121)) repeat(block);
});

afterAll(() => devnode.close());

describe('a reorganisation of three blocks matches the recording', () => {
  test('the chain before the reorganisation', () => expectSnapshot('before reorganisation'));

  test('the chain on the first branch', async () => {
    for (const block of dead) repeat(block);
    await expectSnapshot('on the first branch');
  });

  test('both blobs stay listed after the first branch is disconnected', async () => {
    devnode.reorganise(3, { blocks: 0 });
    await expectSnapshot('after the first branch was taken back');
  });

  test('both blobs are unconfirmed on the second branch', async () => {
    now = branch.at(-1)?.time ?? 0;
    devnode.mine(4, { selection: { kind: 'only', txids: [] } });
    await expectSnapshot('on the second branch, blobs unconfirmed again');
  });

  test('one blob is mined again, and the other one stays in the cache', async () => {
    const lost = comparison.translate(recording.blobs.at(-1)?.txid ?? '');
    devnode.dropTransaction(lost);
    devnode.mine();
    await expectSnapshot('on the second branch, blobs mined again');
  });
});

describe('every recorded call answers alike after the reorganisation', () => {
  const entries = Object.entries(recording.exchanges);
  // Calls that make proofs come before calls that verify them, so that the comparison has learned each proof.
  const ordered = entries.toSorted(([a], [b]) => Number(a.includes('verifytxout')) - Number(b.includes('verifytxout')));

  test.for(ordered)('%s', async ([key, recorded]) => {
    const [method, params] = z.tuple([z.string(), z.unknown()]).parse(JSON.parse(key));
    const body = comparison.translate(JSON.stringify({ id: 'r', method, params }));
    const answer = await post(devnode, body);
    expect(answer.status).toBe(recorded.status);
    if (RAW.test(key)) expect(answer.text).toMatch(/^\{"result":"[0-9a-f]+","error":null,"id":"r"\}\n$/);
    else if (!recorded.text.includes('elided')) {
      expect(comparison.differences(recorded.text, answer.text, OF_COINS).join('\n')).toBe('');
    }
  });
});
