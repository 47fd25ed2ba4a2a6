import { expect, test } from 'vitest';
import { readBlock } from '../../src/chain/read-block.ts';
import { SenderLookup } from '../../src/chain/sender-lookup.ts';
import { decodeHex, encodeHex } from '../../src/core/blob/hex.ts';
import { parseBlockHash, type TxId } from '../../src/core/blob/ids.ts';
import type { Raised } from '../../src/core/conditions/condition-board.ts';
import type { SpentScript } from '../../src/node/chain-node.ts';
import { parseBlockHex } from '../../src/verify/block.ts';
import { blocks } from '../verify/recorded-chain.ts';

const NEVER = new AbortController().signal;
/** Every transaction of the recorded chain. The older ones, which some of them spend, were not recorded. */
const transactions = new Map(
  blocks.flatMap(({ hex }) => parseBlockHex(hex).transactions.map((one) => [one.txid, one] as const)),
);
const proven = blocks.map(({ view, hex }) => readBlock(decodeHex(hex), parseBlockHash(view.hash), view.height));
const withBlobs = proven.filter(({ occurrences }) => occurrences.length > 0);

type Answer = readonly (readonly SpentScript[] | null)[];

/** The answer of a node with undo data about a recorded transaction. */
function spendsOf(txid: TxId): readonly SpentScript[] {
  return (transactions.get(txid)?.spentOutputs() ?? []).map((spent) => {
    const script = transactions.get(spent.txid)?.outputs()[spent.vout]?.script;
    return { ...spent, script: script === undefined ? null : encodeHex(script) };
  });
}

function lookup(answer: (txids: readonly TxId[]) => Answer | Promise<Answer>) {
  const asked: TxId[] = [];
  const raised: (Raised | null)[] = [];
  const clock = { ms: 0 };
  const node = {
    spentScripts: async (_block: unknown, txids: readonly TxId[]) => {
      asked.push(...txids);
      return await answer(txids);
    },
  };
  const conditions = { set: (_subject: unknown, condition: Raised | null) => void raised.push(condition) };
  return { asked, raised, clock, senders: new SenderLookup(node, conditions, { steadyMs: () => clock.ms }) };
}

function firstBlock() {
  const [block] = withBlobs.filter(({ occurrences }) => occurrences.length === 1);
  if (block === undefined) throw new Error('The recording has blocks of one blob.');
  return block;
}

test('learns the senders of the recorded blobs: each script is that of the output which the transaction spends', async () => {
  const { senders, asked } = lookup((txids) => txids.map(spendsOf));
  const learned = (await Promise.all(withBlobs.map((block) => senders.learn(block, NEVER)))).flat();
  const known = learned.filter((one) => one.senders !== null);
  expect([learned.length, known.length]).toEqual([24, 12]);
  for (const { txid, senders: found } of known) expect(found).toEqual(spendsOf(txid).map(({ script }) => script));
  // All of these wallets spend their own change, which is taproot.
  expect(known.every((one) => one.senders?.every((script) => script.startsWith('5120')))).toBe(true);
  // One question for each transaction of each block: a reorganisation brought one into two blocks.
  expect(asked).toEqual(learned.map(({ txid }) => txid));
});

test('calls the senders unknown where the node does not tell, and says so until it tells', async () => {
  const script = `0014${'ab'.repeat(20)}`;
  let told: string | null = null;
  const { senders, raised } = lookup((txids) =>
    txids.map((txid) => spendsOf(txid).map((spent) => ({ ...spent, script: told }))),
  );
  expect(await senders.learn(firstBlock(), NEVER)).toMatchObject([{ senders: null }]);
  expect(raised.at(-1)).toMatchObject({ code: 'chain/senders-unknown', blocksReadiness: false });
  told = script;
  expect(await senders.learn(firstBlock(), NEVER)).toMatchObject([{ senders: [script] }]);
  expect(raised.at(-1)).toBeNull();
});

test.each<[string, (spent: readonly SpentScript[]) => readonly SpentScript[] | null]>([
  ['refuses', () => null],
  ['answers of other outputs', (spent) => spent.map((one) => ({ ...one, vout: one.vout + 1, script: '51' }))],
  ['leaves an input out', () => []],
  ['gives a script that is no hex', (spent) => spent.map((one) => ({ ...one, script: 'OP_TRUE' }))],
  ['gives a script that is too long', (spent) => spent.map((one) => ({ ...one, script: '51'.repeat(129) }))],
])('takes no sender from a node that %s', async (_what, alter) => {
  const { senders } = lookup((txids) => txids.map((txid) => alter(spendsOf(txid))));
  expect(await senders.learn(firstBlock(), NEVER)).toMatchObject([{ senders: null }]);
});

test('goes on without senders when the node fails, and leaves it alone for a minute', async () => {
  const { senders, asked, raised, clock } = lookup(() => Promise.reject(new Error('The node went away.')));
  expect(await senders.learn(firstBlock(), NEVER)).toMatchObject([{ senders: null }]);
  expect(raised.at(-1)?.message).toContain('The node went away');
  // Without a rule by sender they may well be left out, and a filter that names `unknown` passes them.
  expect(raised.at(-1)?.message).toContain(
    'A rule by sender archives them all the same, and a filter by sender passes them only as `unknown`.',
  );
  await senders.learn(firstBlock(), NEVER);
  expect(asked).toHaveLength(1);
  clock.ms += 60_000;
  await senders.learn(firstBlock(), NEVER);
  expect(asked).toHaveLength(2);
});

test('throws when the process stops', async () => {
  const stop = new AbortController();
  const { senders } = lookup(() => {
    stop.abort(new Error('stopped'));
    return Promise.reject(new Error('aborted'));
  });
  await expect(senders.learn(firstBlock(), stop.signal)).rejects.toThrow('stopped');
});
