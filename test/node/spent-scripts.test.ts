import { expect, onTestFinished, test } from 'vitest';
import { parseBlockHash, parseTxId } from '../../src/core/blob/ids.ts';
import { createBlobNode } from '../../src/node/index.ts';
import { fakeNode, json } from './fake-node.ts';

const { signal } = new AbortController();
const BLOCK = parseBlockHash('bb'.repeat(32));
const [told, untold, refused] = ['01', '02', '03'].map((byte) => parseTxId(byte.repeat(32)));
const PREVIOUS = 'ee'.repeat(32);
const SCRIPT = `5120${'ab'.repeat(32)}`;

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

function answerTo({ id, params: [txid] }: Call): object {
  if (txid === refused) return { id, result: null, error: { code: -5, message: 'No such transaction found' } };
  const vin = { txid: PREVIOUS, vout: 1, sequence: 1 };
  const prevout = { generated: false, height: 1, value: 0.5, scriptPubKey: { hex: SCRIPT } };
  // Without undo data, and on older releases, the answer is that of verbosity 1.
  return { id, result: { txid, vin: [txid === told ? { ...vin, prevout } : vin] }, error: null };
}

test.each([
  ['in one request', true, 1],
  ['one by one where the node refuses batches', false, 4],
])('asks for the outputs that transactions spend %s', async (_how, takesBatches, requests) => {
  const asked: (readonly [string, ...unknown[]])[] = [];
  const fake = await fakeNode((response, { body }) => {
    const given: Call | Call[] = JSON.parse(body);
    if (Array.isArray(given) && !takesBatches) return json(response, 403, '');
    const calls = Array.isArray(given) ? given : [given];
    for (const { method, params } of calls) asked.push([method, ...params.slice(1)]);
    const answers = calls.map(answerTo);
    return json(response, 200, JSON.stringify(Array.isArray(given) ? answers : answers[0]));
  });
  const node = createBlobNode({ url: fake.url });
  onTestFinished(() => node.close());
  const txids = [told, untold, refused].filter((txid) => txid !== undefined);
  expect(await node.spentScripts(BLOCK, txids, signal)).toEqual([
    [{ txid: PREVIOUS, vout: 1, script: SCRIPT }],
    [{ txid: PREVIOUS, vout: 1, script: null }],
    null,
  ]);
  expect(asked).toEqual(txids.map(() => ['getrawtransaction', 2, BLOCK]));
  expect(fake.seen.length).toBe(requests);
});
