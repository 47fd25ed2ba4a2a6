import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { RecordedComparison } from './recorded-comparison.ts';
import { type Exchange, parseExchanges, replay } from './recorded-exchange.ts';

/** Origin: release 5.1.1 in regtest, one wallet `w`: submissions with null and without a parameter, and resubmissions. */
const exchanges = parseExchanges(
  readFileSync(new URL('../vectors/release-5.1-submissions.json', import.meta.url), 'utf8'),
);

const SEED = 'recorded 8';
/** Recorded median time of block 121. */
const MEDIAN = 1_795_313_495;

/** Expected differences with their reasons. No other difference passes. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  'raw transaction of the first': 'which of its coins the wallet spends, and so the form of the witness',
  'raw transaction of the second': 'which coin it spends, where its change is, and a lock time that the wallet draws',
  'block with both': 'the nonce, and the order of two transactions of one fee: both follow from hashes',
};

const comparison = new RecordedComparison();
let devnode: Devnode;
let now = MEDIAN - 60;

beforeAll(async () => {
  devnode = await createDevnode({
    seed: SEED,
    network: 'test',
    initialBlocks: 115,
    clock: { nowSeconds: () => now },
    username: 'user',
    password: 'pass',
  });
  // The recorded median times imply the times of the blocks: six blocks in one second, six in the next.
  now = MEDIAN;
  devnode.mine(6);
  now = MEDIAN + 1;
});

afterAll(() => devnode.close());

/** Blocks that the recorder mined between its exchanges, by the name of the exchange that follows. */
const BEFORE: Readonly<Record<string, () => void>> = {
  'it, before it is sent again': () => devnode.mine(),
  'the same again, one parameter': () => devnode.mine(4),
  'by the first txid when both are mined': () => devnode.mine(),
  'raw create of known content, three parameters': () => devnode.mine(),
  'same content twice before a block: first': () => devnode.mine(),
  'block with both': () => {
    now += 1;
    devnode.mine();
    comparison.learn('3ef74c639b215931edd1b69e873c51c82342a4b7b64642a245d73ec5948d159d', devnode.chain.tip.hash);
  },
};

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
