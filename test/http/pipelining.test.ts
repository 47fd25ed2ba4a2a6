import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { eventually } from '../e2e/eventually.ts';
import { blobOf, bytesOf, FakeArchiveView } from './fake-archive-view.ts';
import { running } from './harness.ts';
import { get, headAndBody, RawClient } from './raw-client.ts';

const LARGE = Array.from({ length: 8 }, (_, index) => blobOf(bytesOf(60_000 + index)));
const SMALL = Array.from({ length: 8 }, (_, index) => blobOf(bytesOf(900 + index)));
/** More than the socket buffers of both sides hold, so that the server meets back-pressure. */
const LARGE_REQUESTS = 240;
const MIDWAY_BYTES = 4_000_000;

async function pipeliningClient() {
  const view = new FakeArchiveView(1_048_576);
  for (const blob of [...LARGE, ...SMALL]) view.add(blob);
  const { port } = await running(view, { ratePerSecond: 0, concurrentPerClient: 0 });
  const client = await RawClient.open(port);
  client.socket.setNoDelay(true);
  client.socket.pause();
  return client;
}

interface ReceivedAnswer {
  readonly status: string;
  readonly requestId: string;
  readonly body: Buffer;
}

/** The whole answers in the order of their arrival. Every answer says its length. */
function answersIn(received: Buffer): ReceivedAnswer[] {
  const answers: ReceivedAnswer[] = [];
  for (let rest = received; rest.includes('\r\n\r\n'); ) {
    const { head } = headAndBody(rest.toString('latin1', 0, 2_048));
    const begin = head.length + 4;
    const end = begin + Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
    if (rest.length < end) break;
    const requestId = /^x-request-id: (\S+)$/im.exec(head)?.[1] ?? '';
    answers.push({ status: head.slice(9, 12), requestId, body: rest.subarray(begin, end) });
    rest = rest.subarray(end);
  }
  return answers;
}

/** Takes one piece of what the server has sent, and stops reading again. */
async function readPiece(client: RawClient): Promise<void> {
  client.socket.resume();
  await once(client.socket, 'data');
  client.socket.pause();
}

/** Lets the server, which runs in this process, read each request by itself. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
}

/** Asks for one blob; a header that changes nothing makes some of the requests differ. */
function ask(client: RawClient, asked: string[], index: number, blobs: typeof LARGE): void {
  const blob = blobs[index % blobs.length];
  if (blob === undefined) return;
  const requestId = `request-${asked.length}`;
  asked.push(blob.versionHash);
  client.send(get(`/v1/blobs/${blob.versionHash}`, index % 5 === 4 ? { 'X-Request-Id': requestId } : {}));
}

function servedHashes(answers: readonly ReceivedAnswer[]): (string | undefined)[] {
  return answers.map(({ body }) => [...LARGE, ...SMALL].find((blob) => body.equals(blob.bytes))?.versionHash);
}

test('a client that pipelines and reads late gets every answer in the order of its requests', async () => {
  const client = await pipeliningClient();
  const asked: string[] = [];
  for (let index = 0; index < LARGE_REQUESTS; index += 1) {
    ask(client, asked, index, LARGE);
    await turns();
  }
  for (let index = 0; index < 150; index += 1) {
    ask(client, asked, index, SMALL);
    await turns();
    await readPiece(client);
  }
  client.socket.resume();
  await eventually(() => expect(answersIn(client.received)).toHaveLength(asked.length));
  expect(servedHashes(answersIn(client.received))).toEqual(asked);
});

test('the body of a POST that waits behind unread answers is never run as a request', async () => {
  const client = await pipeliningClient();
  const asked: string[] = [];
  for (let index = 0; index < LARGE_REQUESTS; index += 1) {
    ask(client, asked, index, LARGE);
    await turns();
  }
  const body = get('/get/SMUGGLED', { 'X-Request-Id': 'smuggled' });
  client.send(`POST /check_vh HTTP/1.1\r\nHost: a\r\nX-Request-Id: the-post\r\nContent-Length: ${body.length}\r\n\r\n`);
  while (client.socket.bytesRead < MIDWAY_BYTES) await readPiece(client);
  client.send(body);
  await turns();
  client.send(get('/healthz', { 'X-Request-Id': 'the-last' }));
  client.socket.resume();
  await eventually(() => expect(answersIn(client.received)).toHaveLength(asked.length + 2));
  const answers = answersIn(client.received);
  expect(servedHashes(answers.slice(0, asked.length))).toEqual(asked);
  expect(answers.slice(-2).map(({ status, requestId }) => [status, requestId])).toEqual([
    ['400', 'the-post'],
    ['200', 'the-last'],
  ]);
});
