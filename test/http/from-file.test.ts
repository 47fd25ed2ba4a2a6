import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually } from '../e2e/eventually.ts';
import { sampleBlob } from '../sample-blobs.ts';
import { HUGE_BYTES, hugeBlob } from './fake-archive-view.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { FileView } from './fake-file.ts';
import { running, STOPPED_CLOCK } from './harness.ts';
import { get, RawClient } from './raw-client.ts';

const BLOB = sampleBlob('for its name', 10);
const PATH = `/v1/blobs/${BLOB.versionHash}`;
const LARGE_BYTES = 2_097_152 - 17;

async function serving(sizeBytes = LARGE_BYTES) {
  const view = new FileView(BLOB, sizeBytes);
  const server = await running(view);
  return { view, ...server, get: (init: RequestInit = {}) => fetch(`${server.url}${PATH}`, init) };
}

async function bytesOf(answer: Response): Promise<Buffer> {
  return Buffer.from(await answer.arrayBuffer());
}

test('a proven file is sent in parts, whole, and closed behind them', async () => {
  const { view, get } = await serving();
  const answer = await get();
  expect(answer.headers.get('content-length')).toBe(String(LARGE_BYTES));
  expect((await bytesOf(answer)).equals(view.whole())).toBe(true);
  expect(view.reads).toBeGreaterThan(1);
  expect(view.asked).toHaveLength(0);
  await eventually(() => expect(view.opened).toBe(0));
});

test('a file that changes before its first part is read is promised to no reader', async () => {
  const { view, get, reported } = await serving();
  view.changedFrom = 100;
  const answer = await get();
  expect([answer.status, answer.headers.get('etag')]).toEqual([500, null]);
  expect(reported).toMatchObject([{ error: { message: 'it changed' } }]);
  await eventually(() => expect(view.opened).toBe(0));
});

test('a file that changes behind the first part ends the answer short, with none of it sent, and is told', async () => {
  const { view, port, reported } = await serving();
  view.changedFrom = LARGE_BYTES - 1;
  const client = await RawClient.open(port);
  client.send(get(PATH));
  await client.closed();
  const body = client.received.subarray(client.received.indexOf('\r\n\r\n') + 4);
  expect(body.length).toBeLessThan(LARGE_BYTES);
  expect(body.equals(view.whole().subarray(0, body.length))).toBe(true);
  await eventually(() => expect(reported).toMatchObject([{ error: { message: 'it changed' } }]));
  await eventually(() => expect(view.opened).toBe(0));
});

test('a reader that stops holds one part, keeps no other waiting, and gets the rest when it goes on', async () => {
  const { view, port, get: ask } = await serving(HUGE_BYTES);
  const slow = await RawClient.open(port);
  slow.socket.pause();
  const before = view.reads;
  slow.send(get(PATH, { Connection: 'close' }));
  await eventually(() => expect(view.reads).toBeGreaterThan(before));
  expect((await bytesOf(await ask())).length).toBe(HUGE_BYTES);
  await eventually(() => expect(view.opened).toBe(1));
  slow.socket.resume();
  await slow.closed();
  const got = slow.received.subarray(slow.received.indexOf('\r\n\r\n') + 4);
  expect(got.equals(view.whole())).toBe(true);
  await eventually(() => expect(view.opened).toBe(0));
});

test('while others leave all memory taken, the one large answer of a client still comes in large parts', async () => {
  const view = new FileView(BLOB, HUGE_BYTES);
  // A reader on a starved machine is slow by the clock, and a slow one has small parts.
  const given = { trustProxy: 1, clock: STOPPED_CLOCK };
  const { url, port } = await running(view, { answerBytes: 8 * 1_048_576 }, new FakeChainView(), given);
  const from = (address: string) => ({ 'X-Forwarded-For': address });
  const slow = await Promise.all(Array.from({ length: 30 }, () => RawClient.open(port)));
  for (const { socket } of slow) socket.pause();
  for (const reader of slow) reader.send(get(PATH, from('192.0.2.1')));
  await eventually(() => expect(view.opened).toBe(30));
  // Readers are sent as much as the kernel takes for them.
  await expect.poll(() => stands(() => view.reads)).toBe(true);
  const before = view.reads;
  const answer = await fetch(`${url}${PATH}`, { headers: from('192.0.2.2') });
  expect((await bytesOf(answer)).length).toBe(HUGE_BYTES);
  expect(view.reads - before).toBeLessThan(HUGE_BYTES / 262_144);
  for (const { socket } of slow) socket.destroy();
});

/** Reports whether a number stays what it is, in turns of the event loop that come after each halt of the machine too. */
async function stands(read: () => number): Promise<boolean> {
  const before = read();
  for (let look = 0; look < 10; look += 1) await pause(10);
  return read() === before;
}

test('a reader that goes away leaves nothing open, and is no fault', async () => {
  const { view, port, reported } = await serving(HUGE_BYTES);
  const slow = await RawClient.open(port);
  const before = view.reads;
  slow.send(get(PATH));
  await eventually(() => expect(view.reads).toBeGreaterThan(before));
  slow.socket.destroy();
  await eventually(() => expect(view.opened).toBe(0));
  expect(reported).toEqual([]);
});

test('two on one connection, one behind the other, come in order', async () => {
  const { view, port } = await serving();
  const client = await RawClient.open(port);
  client.send(get(PATH) + get('/healthz') + get(PATH, { Connection: 'close' }));
  const text = await client.closed();
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '200', '200']);
  expect(client.received.subarray(-LARGE_BYTES).equals(view.whole())).toBe(true);
  await eventually(() => expect(view.opened).toBe(0));
});

test('ranges, conditions and HEAD are answered from a file, and a withheld blob is given no more', async () => {
  const { view, get } = await serving();
  const etag = (await get({ method: 'HEAD' })).headers.get('etag') ?? '';
  const part = await get({ headers: { range: 'bytes=4096-4098' } });
  expect([part.status, await bytesOf(part)]).toEqual([206, Buffer.of(1, 1, 1)]);
  expect((await get({ headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await get({ method: 'HEAD' })).headers.get('content-length')).toBe(String(LARGE_BYTES));
  view.refusing = { kind: 'withheld', at: null, publicReason: null };
  expect((await get()).status).toBe(451);
});

test('while many ask for what is worth keeping in memory, few read all of it and the others get it from its file', async () => {
  const view = new FileView(BLOB, LARGE_BYTES, 8 * 1_048_576);
  const server = await running(view);
  const blob = hugeBlob();
  const path = `/v1/blobs/${blob.versionHash}`;
  view.name = blob;
  const gate = Promise.withResolvers<void>();
  view.reading = async () => {
    await gate.promise;
    return { kind: 'found', blob };
  };
  const fromFiles: number[] = [];
  const asked = Array.from({ length: 12 }, async () => {
    const { byteLength } = await (await fetch(`${server.url}${path}`)).arrayBuffer();
    if (byteLength === LARGE_BYTES) fromFiles.push(byteLength);
  });
  await eventually(() => expect(fromFiles).toHaveLength(asked.length - 2));
  expect(view.asked).toHaveLength(2);
  gate.resolve();
  await Promise.all(asked);
  expect(fromFiles).toHaveLength(asked.length - 2);
});
