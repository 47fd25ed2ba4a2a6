/**
 * Attacks on the public port of this machine, all at once, bounded in connections and time. Words: port, seconds, the version hash
 * of a blob of 2 MiB, the version hash of a small one. Prints one JSON line when the connections are open, and one with what was
 * answered. It runs at a lower priority than the archive: elsewhere its processor would be another machine's.
 */
import { connect, type Socket } from 'node:net';
import { getPriority, setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

const HOST = '127.0.0.1';
/** A connection that the server ends is followed by another one after so long. */
const AGAIN_MS = 250;
const PIPELINE_UNREAD_MS = 2_000;
const LOWER_PRIORITY = 5;
const LOWEST_PRIORITY = 19;

const [port = 0, seconds = 0] = process.argv.slice(2, 4).map(Number);
const [large = '', small = ''] = process.argv.slice(4);

interface Attack {
  readonly name: string;
  /** Last bytes of the loopback addresses that it comes from. */
  readonly from: readonly number[];
  readonly connections: number;
  /** The bytes that the connection of this number sends. */
  readonly bytes: (number: number) => string;
  /** false: it reads nothing of the answers. */
  readonly reads: boolean;
}

function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
}

function post(body: string, headers = ''): string {
  return `POST / HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

const CLOSE = 'Connection: close\r\n';
const CALL = `{"method":"getnevmblobdata","params":["${large}",true],"id":1}`;
const BATCH = `[${Array.from({ length: 16 }, () => CALL).join(',')}]`;
const NUMBERS = `[${'1,'.repeat(131_070)}1]`;
/** Calls that wait for a block; blocks come meanwhile, so each is asked again. */
const WAITS = ['"listnevmblobdata true"', '"true"', `1${' '.repeat(100_000)}`].map(
  (id) => `{"method":"waitfornewblock","params":[55000],"id":${id}}`,
);
const FOREIGN = [
  'DESCRIBE rtsp://a/ RTSP/1.0\r\nHost: a\r\nConnection: close\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  `${get('/healthz')}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`,
];
const LONG_NAME = 'x'.repeat(8_000);

/** The address .50 is a trusted proxy of the archive; the others are not. */
const ATTACKS: readonly Attack[] = [
  {
    name: 'waiting calls',
    from: [12, 13],
    connections: 84,
    bytes: (n) => post(WAITS[n % 3] ?? '', CLOSE),
    reads: true,
  },
  {
    name: 'unread blobs',
    from: [2, 20, 21, 22],
    connections: 400,
    bytes: () => get(`/v1/blobs/${large}`),
    reads: false,
  },
  { name: 'unread hex', from: [3, 23], connections: 120, bytes: () => get(`/vh/${large}`), reads: false },
  { name: 'unread calls', from: [4, 24], connections: 120, bytes: () => post(CALL), reads: false },
  { name: 'unread batches', from: [5, 25], connections: 60, bytes: () => post(BATCH), reads: false },
  { name: 'JSON floods', from: [6, 26], connections: 8, bytes: () => post(NUMBERS, CLOSE), reads: true },
  { name: 'nesting', from: [7], connections: 4, bytes: () => post('['.repeat(250_000), CLOSE), reads: true },
  {
    name: 'endless bodies',
    from: [8, 28],
    connections: 120,
    bytes: () => post(NUMBERS).slice(0, 200_000),
    reads: true,
  },
  { name: 'idle connections', from: [9], connections: 300, bytes: () => '', reads: true },
  { name: 'event streams', from: [10, 11], connections: 150, bytes: () => get('/v1/events'), reads: true },
  { name: 'other protocols', from: [14], connections: 12, bytes: (n) => FOREIGN[n % 3] ?? '', reads: true },
  { name: 'two hosts', from: [15], connections: 8, bytes: () => get('/healthz', `Host: b\r\n${CLOSE}`), reads: true },
  {
    name: 'X-Forwarded-For',
    from: [16, 50],
    connections: 24,
    bytes: (n) => get('/healthz', `X-Forwarded-For: ${n}${LONG_NAME}, name-${n}\r\n${CLOSE}`),
    reads: true,
  },
];

const answered: Record<string, Record<string, number>> = {};
let isOver = false;

function note(name: string, status: string): void {
  const counts = answered[name] ?? {};
  answered[name] = counts;
  counts[status] = (counts[status] ?? 0) + 1;
}

function open(from: number): Socket {
  const socket = connect({ host: HOST, port, localAddress: `127.0.0.${from}` });
  // A reset is one of the ways in which a server ends a connection.
  socket.on('error', () => undefined);
  return socket;
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

/** One of the connections of an attack; another one takes its place when it ends. */
async function keepOpen({ name, from, bytes, reads }: Attack, lane: number): Promise<void> {
  for (let number = lane; !isOver; number += 1_000) {
    const socket = open(from[lane % from.length] ?? 2);
    const sent = bytes(number);
    if (sent !== '') socket.write(sent, 'latin1');
    if (reads) {
      socket.once('data', (chunk: Buffer) => note(name, chunk.toString('latin1', 9, 12)));
    } else {
      socket.pause();
      socket.once('connect', () => note(name, 'unread'));
    }
    await closed(socket);
    await pause(AGAIN_MS);
  }
}

const pipelined = { connections: 0, answers: 0, outOfOrder: 0, smuggled: 0 };

/** Requests that follow each other without waiting, read late: large answers, and bodies that look like requests. */
async function pipeline(from: number): Promise<void> {
  const body = `{"method":"getblockcount","id":1}\r\n\r\n${get('/healthz', 'X-Request-Id: smuggled\r\n')}`;
  const kinds = [
    (id: string) => get(`/v1/blobs/${large}`, id),
    (id: string) => post(body, id),
    (id: string) => get(`/v1/blobs/${small}`, id),
    (id: string) => get('/healthz', id),
  ];
  while (!isOver) {
    const socket = open(from);
    pipelined.connections += 1;
    socket.pause();
    const count = 16;
    for (let n = 0; n < count; n += 1) {
      const id = `X-Request-Id: p-${n}\r\n${n === count - 1 ? CLOSE : ''}`;
      socket.write(kinds[n % kinds.length]?.(id) ?? '', 'latin1');
    }
    await pause(PIPELINE_UNREAD_MS);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.resume();
    await closed(socket);
    const text = Buffer.concat(chunks).toString('latin1');
    if (text.includes('x-request-id: smuggled')) pipelined.smuggled += 1;
    const ids = [...text.matchAll(/x-request-id: p-(\d+)\r\n/gi)].map(([, id]) => Number(id));
    pipelined.answers += ids.length;
    pipelined.outOfOrder += ids.filter((id, at) => id !== at).length;
    await pause(AGAIN_MS);
  }
}

setPriority(Math.min(LOWEST_PRIORITY, getPriority() + LOWER_PRIORITY));
for (const attack of ATTACKS) {
  for (let lane = 0; lane < attack.connections; lane += 1) void keepOpen(attack, lane);
}
for (const from of [17, 18, 19]) void pipeline(from);
process.stdout.write(
  `${JSON.stringify({ connections: ATTACKS.reduce((sum, { connections }) => sum + connections, 3) })}\n`,
);
process.on('disconnect', () => process.exit());
await pause(seconds * 1_000);
isOver = true;
process.send?.({ answered, pipelined }, () => process.exit());
