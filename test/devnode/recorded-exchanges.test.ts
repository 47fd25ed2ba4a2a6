import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { parseVersionHash } from '../../src/core/blob/ids.ts';
import { versionHashOf } from '../../src/devnode/chain/content.ts';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { RecordedComparison } from './recorded-comparison.ts';
import { type Exchange, elidedContent, parseExchanges, replay } from './recorded-exchange.ts';

/** Origin: release 5.1.1 in regtest, one wallet `w`, 120 blocks (test/vectors/release-5.1.json). */
const exchanges = parseExchanges(readFileSync(new URL('../vectors/release-5.1.json', import.meta.url), 'utf8'));

/** With this seed the wallet places its change, and the miner finds the nonce of block 122, as in the recording. */
const SEED = 'recorded 8';
/** Recorded median time of block 120. */
const MEDIAN_120 = 1_795_197_851;

/** Start of the recorded node, which had been up for 24 seconds at the end. */
const STARTED = MEDIAN_120 + 2 - 24;

/** Expected differences with their reasons. No other difference passes. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  'chain info': 'size_on_disk: the real genesis block and the undo files of a real node have other lengths',
};

const Created = z.object({ result: z.object({ versionhash: z.string() }) });
const Listed = z.object({ result: z.array(z.object({ versionhash: z.string(), datasize: z.int() })) });

const comparison = new RecordedComparison();
let devnode: Devnode;
let now = STARTED;

beforeAll(async () => {
  devnode = await createDevnode({
    seed: SEED,
    network: 'test',
    initialBlocks: 109,
    clock: { nowSeconds: () => now },
    username: 'user',
    password: 'pass',
  });
  for (const exchange of exchanges) {
    const bytes = elidedContent(exchange);
    if (bytes === null) continue;
    const { result } = Created.parse(JSON.parse(exchange.response.body));
    comparison.learn(result.versionhash, versionHashOf('keccak256', bytes));
  }
  // The recorded median times imply the times of the blocks: six blocks in one second, five in the next.
  now = MEDIAN_120;
  devnode.mine(6);
  now = MEDIAN_120 + 1;
  devnode.mine(5);
});

afterAll(() => devnode.close());

/** Actions of the recorder between its exchanges, by the name of the exchange that follows. */
const BEFORE: Readonly<Record<string, () => void>> = {
  'get confirmed by version hash': () => devnode.mine(),
  'list after resubmission, confirmed': () => {
    now += 1;
    devnode.mine();
  },
  'list after custom mined': () => devnode.mine(),
  'list default page': () => submitPagedBlobs(),
  'get txid of a coinbase (no blob)': () => {
    const [coinbase] = devnode.chain.tip.transactions;
    comparison.learn('6c535324a4eed68fcbc1fc52fa9cebded4a51e67e2e6272e60bc08a07fd2b5f8', coinbase?.txid ?? '');
  },
  'get 2 MiB, metadata': () => devnode.mine(),
};

/** Submits 14 contents whose bytes were not recorded: only sizes and version hashes are known. */
function submitPagedBlobs(): void {
  const all = exchanges.find(({ name }) => name === 'list negative count');
  const { result } = Listed.parse(JSON.parse(all?.response.body ?? ''));
  for (const { versionhash, datasize } of result.filter(({ datasize }) => datasize >= 40)) {
    devnode.chain.submit({
      content: {
        versionHash: parseVersionHash(versionhash),
        hashType: 'keccak256',
        sizeBytes: datasize,
        source: { kind: 'label', label: versionhash },
      },
      acceptable: true,
      feeSatsPerVbyte: null,
    });
  }
  devnode.mine(3);
}

test('the recording has 97 exchanges', () => {
  expect(exchanges).toHaveLength(97);
});

test.for(exchanges.map((exchange, index): [string, Exchange] => [`${index} ${exchange.name}`, exchange]))(
  'the emulated node answers as recorded: %s',
  async ([, exchange]) => {
    BEFORE[exchange.name]?.();
    const differences = await replay(devnode, exchange, comparison);
    const reason = DIFFERENCES[exchange.name];
    if (reason === undefined) expect(differences.join('\n')).toBe('');
    else expect(differences.join('\n'), reason).not.toBe('');
  },
);
