import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type BlockHash, parseBlockHash, parseVersionHash } from '../../src/core/blob/ids.ts';
import { createBlobNode } from '../../src/node/index.ts';
import { callOf, type FakeNode, fakeNode, json, result, rpcError, type Seen } from './fake-node.ts';

const { signal } = new AbortController();
const HEIGHTS = 6;
const HOUR_MS = 3_600_000;

const blockHash = (height: number): BlockHash => parseBlockHash(hash('sha256', `block ${height}`));
const blobs = Array.from({ length: HEIGHTS }, (_, index) => {
  const bytes = Buffer.alloc(100 + index, index);
  return { versionHash: parseVersionHash(hash('sha256', bytes)), sizeBytes: bytes.length, bytes };
});

/** The node's result of one call. */
function resultOf(method: unknown, params: unknown): unknown {
  const [first] = Array.isArray(params) ? params : [];
  if (method === 'getblockhash') return blockHash(Number(first));
  if (method === 'getblock') return String(first);
  const blob = blobs.find(({ versionHash }) => versionHash === first);
  return { versionhash: first, datasize: blob?.sizeBytes, data: blob?.bytes.toString('hex') };
}

type OnBatch = (response: ServerResponse, answers: readonly object[], seen: Seen) => unknown;

interface Calls {
  readonly batches: number;
  readonly alone: number;
}

function callsTo({ seen }: FakeNode): Calls {
  const batches = seen.filter(({ body }) => body.startsWith('[')).length;
  return { batches, alone: seen.length - batches };
}

/** A node that answers single calls, and batches as the test says. */
async function nodeThat(onBatch: OnBatch) {
  const told: (string | null)[] = [];
  let atOnce = 0;
  let maxAtOnce = 0;
  const fake = await fakeNode((response, seen) => {
    const parsed: unknown = JSON.parse(seen.body);
    if (Array.isArray(parsed)) {
      const answers = parsed.map(({ id, method, params }) => ({ result: resultOf(method, params), error: null, id }));
      onBatch(response, answers, seen);
      return;
    }
    atOnce += 1;
    maxAtOnce = Math.max(maxAtOnce, atOnce);
    setImmediate(() => {
      atOnce -= 1;
      const { method, params } = callOf(seen);
      result(response, seen, resultOf(method, params));
    });
  });
  const onBatches = (_name: string, refusal: Error | null) => told.push(refusal === null ? null : refusal.message);
  const node = createBlobNode({ url: fake.url, connections: 16, onBatches });
  onTestFinished(() => node.close());
  return { fake, node, told, maxAtOnce: () => maxAtOnce };
}

const INVALID = JSON.stringify({ result: null, error: { code: -32600, message: 'Invalid Request' }, id: null });
const html = (status: number) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'text/html' }).end('<html>no</html>');

const REFUSALS: readonly (readonly [how: string, onBatch: OnBatch])[] = [
  ['400 with an error', (response) => json(response, 400, INVALID)],
  ['200 with an error', (response) => json(response, 200, INVALID)],
  ['an unknown method', (response) => json(response, 404, INVALID.replace('-32600', '-32601'))],
  ['400 with a page', html(400)],
  ['403', html(403)],
  ['413', html(413)],
  ['the first answer as an object', (response, answers) => json(response, 200, JSON.stringify(answers[0]))],
  ['the first answer in a list', (response, answers) => json(response, 200, JSON.stringify(answers.slice(0, 1)))],
  ['an empty list', (response) => json(response, 200, '[]')],
  ['a list that lacks two', (response, answers) => json(response, 200, JSON.stringify(answers.slice(0, -2)))],
  [
    'a refusal for each',
    (response, answers) =>
      json(response, 200, JSON.stringify(answers.map((one) => ({ ...one, error: { code: -32600, message: 'no' } })))),
  ],
];

/** Answers that can have another reason than a refusal of batches. */
const BROKEN: readonly (readonly [how: string, onBatch: OnBatch])[] = [
  ['a closed connection', (response) => response.socket?.destroy()],
  ['a page of a proxy', html(502)],
  ['a page with 200', html(200)],
  ['half an answer', (response, answers) => json(response, 200, JSON.stringify(answers).slice(0, 40))],
];

describe.each([...REFUSALS, ...BROKEN])('a node that answers a batch with %s', (_how, onBatch) => {
  test('single calls replace the batch, and every result is in order', async () => {
    const { node, maxAtOnce } = await nodeThat(onBatch);
    const hashes = await node.blockHashesFrom(10, HEIGHTS, signal);
    expect(hashes).toEqual(Array.from({ length: HEIGHTS }, (_, index) => blockHash(10 + index)));
    const raw = await node.rawBlocks([blockHash(1), blockHash(2)], signal);
    expect(raw.map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual([blockHash(1), blockHash(2)]);
    const outcomes = await node.fetchBlobs(blobs, signal);
    expect(outcomes.map((one) => one.kind === 'bytes' && Buffer.from(one.blob.bytes).toString('hex'))).toEqual(
      blobs.map(({ bytes }) => bytes.toString('hex')),
    );
    expect(maxAtOnce()).toBeLessThanOrEqual(4);
  });
});

test.each(REFUSALS)('%s: one batch suffices as evidence, and one report is made', async (_how, onBatch) => {
  const { fake, node, told } = await nodeThat(onBatch);
  for (let turn = 0; turn < 3; turn += 1) await node.blockHashesFrom(1, HEIGHTS, signal);
  expect(callsTo(fake).batches).toBe(1);
  expect(told).toEqual([expect.stringMatching(/\w/)]);
});

test.each(BROKEN)('%s: the second failure counts as evidence, the first one does not', async (_how, onBatch) => {
  let good = 0;
  const { fake, node, told } = await nodeThat((response, answers, seen) => {
    good += 1;
    if (good === 2) json(response, 200, JSON.stringify(answers));
    else onBatch(response, answers, seen);
  });
  await node.blockHashesFrom(1, HEIGHTS, signal);
  expect(told).toEqual([]);
  for (let turn = 0; turn < 5; turn += 1) await node.blockHashesFrom(1, HEIGHTS, signal);
  expect(told).toEqual([expect.stringMatching(/\w/)]);
  const { batches } = callsTo(fake);
  await node.blockHashesFrom(1, HEIGHTS, signal);
  expect(callsTo(fake).batches).toBe(batches);
});

describe('an hour later', () => {
  afterEach(() => void vi.useRealTimers());

  test('a batch is sent again and accepted by a node that accepts batches by then', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    let takesThem = false;
    const { fake, node, told } = await nodeThat((response, answers) =>
      takesThem ? json(response, 200, JSON.stringify(answers)) : json(response, 400, INVALID),
    );
    await node.blockHashesFrom(1, HEIGHTS, signal);
    vi.advanceTimersByTime(HOUR_MS - 1);
    await node.blockHashesFrom(1, HEIGHTS, signal);
    expect(callsTo(fake).batches).toBe(1);
    vi.advanceTimersByTime(1);
    await node.blockHashesFrom(1, HEIGHTS, signal);
    expect(callsTo(fake).batches).toBe(2);
    expect(told).toHaveLength(1);
    takesThem = true;
    vi.advanceTimersByTime(HOUR_MS);
    await node.blockHashesFrom(1, HEIGHTS, signal);
    await node.blockHashesFrom(1, HEIGHTS, signal);
    expect(callsTo(fake).batches).toBe(4);
    expect(told).toEqual([expect.stringMatching(/\w/), null]);
  });
});

test('a node that is away or starting has refused nothing, and gets no single calls', async () => {
  const told: unknown[] = [];
  const fake = await fakeNode((response, seen) => {
    if (seen.body.startsWith('[')) json(response, 500, INVALID.replace('-32600', '-28'));
    else rpcError(response, seen, -28, 'Loading');
  });
  const node = createBlobNode({ url: fake.url, onBatches: (_name, refusal) => told.push(refusal) });
  onTestFinished(() => node.close());
  await expect(node.blockHashesFrom(1, HEIGHTS, signal)).rejects.toMatchObject({ code: 'node/warming-up' });
  expect(callsTo(fake)).toEqual({ batches: 1, alone: 0 });
  expect(told).toEqual([]);
});

test('a call that fails alone too is no evidence against batches, and one failure ends the others', async () => {
  const told: unknown[] = [];
  const fake = await fakeNode((response) => html(404)(response));
  const node = createBlobNode({ url: fake.url, onBatches: (_name, refusal) => told.push(refusal) });
  onTestFinished(() => node.close());
  await expect(node.blockHashesFrom(1, HEIGHTS, signal)).rejects.toMatchObject({ code: 'node/not-a-node' });
  expect(callsTo(fake)).toEqual({ batches: 1, alone: 1 });
  expect(told).toEqual([]);
});

test('a blob larger than listed fails alone, and the others arrive', async () => {
  const { node } = await nodeThat((response) => json(response, 400, INVALID));
  const large = Buffer.alloc(50_000, 9);
  const listedTooSmall = { versionHash: parseVersionHash(hash('sha256', large)), sizeBytes: 1, bytes: large };
  blobs.push(listedTooSmall);
  onTestFinished(() => void blobs.pop());
  const outcomes = await node.fetchBlobs(blobs, signal);
  expect(outcomes.map(({ kind }) => kind)).toEqual([...Array(HEIGHTS).fill('bytes'), 'failed']);
  expect(outcomes.at(-1)).toMatchObject({ error: { code: 'node/body-too-large' } });
});
