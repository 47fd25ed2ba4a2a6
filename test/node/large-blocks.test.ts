import { hash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createClient, getRawBlock } from '../../src/client.ts';
import { type BlockHash, parseBlockHash } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { BatchedReads } from '../../src/node/batched-reads.ts';
import { NodeError } from '../../src/node/errors.ts';
import { chainCalls } from '../../src/node/rpc-chain-calls.ts';
import type { NodeTransport } from '../../src/node/transport.ts';
import { fakeNode } from './fake-node.ts';

const { signal } = new AbortController();
const MIB = 1_048_576;
/** The longest answer that is asked for at first. */
const FIRST_LIMIT = 16 * MIB;
const [ONE, TWO] = ['1', '2'].map((digit) => parseBlockHash(digit.repeat(64)));
const BLOCK_BYTES = 8 * MIB + 1;

/** An answer to `getblock` of a block whose bytes are all the same. */
function blockAnswer(bytes: number, head = '{"result":"', tail = '","error":null,"id":"getblock"}\n'): Buffer {
  return Buffer.concat([Buffer.from(head), Buffer.alloc(bytes * 2, 'ab'), Buffer.from(tail)]);
}

/** A node whose answers are cut off at the limit, and that counts the requests with a higher limit. */
function nodeThat(answers: (length: number) => Buffer) {
  const limits: number[] = [];
  const seen = { largeAtOnce: 0, maxLargeAtOnce: 0, limits };
  const transport: NodeTransport = {
    name: 'large',
    async send({ limitBytes }, read) {
      limits.push(limitBytes);
      const isLarge = limitBytes > FIRST_LIMIT;
      if (isLarge) seen.maxLargeAtOnce = Math.max(seen.maxLargeAtOnce, ++seen.largeAtOnce);
      await new Promise(setImmediate);
      if (isLarge) seen.largeAtOnce -= 1;
      const body = answers(limits.length);
      if (body.length <= limitBytes) return read(body);
      throw new NodeError('node/body-too-large', 'cut off', { retryable: false, hint: '' });
    },
    close: async () => {},
  };
  const node = chainCalls(transport, new BatchedReads(transport, () => undefined, SYSTEM_CLOCK));
  return { rawBlock: (name: BlockHash | undefined) => node.rawBlock(name ?? parseBlockHash(''), signal), seen };
}

const digest = (bytes: Uint8Array) => hash('sha256', bytes);

test('a block with many execution-layer data is asked for again with the limit of consensus, one at a time', async () => {
  const answer = blockAnswer(BLOCK_BYTES);
  const { rawBlock, seen } = nodeThat(() => answer);
  const blocks = await Promise.all([rawBlock(ONE), rawBlock(TWO)]);
  const expected = digest(Buffer.alloc(BLOCK_BYTES, 0xab));
  expect(blocks.map(digest)).toEqual([expected, expected]);
  expect(seen.maxLargeAtOnce).toBe(1);
  expect(seen.limits.toSorted((a, b) => a - b)).toEqual([FIRST_LIMIT, FIRST_LIMIT, ...seen.limits.slice(2)]);
  expect(seen.limits[3]).toBeGreaterThanOrEqual(2 * (4_000_000 + 32 * MIB));
  expect(seen.limits[3]).toBeLessThan(74 * MIB);
});

test('a longer answer is refused, and the next large block is asked for all the same', async () => {
  const [tooLong, long] = [Buffer.alloc(74 * MIB), blockAnswer(BLOCK_BYTES)];
  const { rawBlock, seen } = nodeThat((asked) => (asked <= 2 ? tooLong : long));
  await expect(rawBlock(ONE)).rejects.toMatchObject({ code: 'node/body-too-large' });
  expect(seen.limits).toHaveLength(2);
  expect(await rawBlock(ONE)).toHaveLength(BLOCK_BYTES);
});

test.each([
  ['a list', blockAnswer(BLOCK_BYTES, '{"result":["', '"],"error":null,"id":"getblock"}')],
  ['another id', blockAnswer(BLOCK_BYTES, '{"result":"', '","error":null,"id":"getblockhash"}')],
  ['no end', blockAnswer(BLOCK_BYTES, '{"result":"', '')],
  ['no result', blockAnswer(BLOCK_BYTES, '{"other":"')],
  ['two texts', blockAnswer(BLOCK_BYTES, `{"result":"ab","other":"`)],
  ['other characters', blockAnswer(BLOCK_BYTES, '{"result":"zz')],
])('a large answer with %s is malformed', async (_what, answer) => {
  await expect(nodeThat(() => answer).rawBlock(ONE)).rejects.toMatchObject({ code: 'node/malformed-answer' });
});

test('the client reads such a block too', async () => {
  const answer = blockAnswer(BLOCK_BYTES, undefined, '","error":null,"id":"holdfast"}\n');
  const fake = await fakeNode((response) => response.end(answer));
  const client = createClient({ url: fake.url, dialect: 'syscoin-5' });
  onTestFinished(() => client.close());
  if (ONE === undefined) throw new Error('It is parsed above.');
  expect(digest(await getRawBlock(client, ONE))).toEqual(digest(Buffer.alloc(BLOCK_BYTES, 0xab)));
});
