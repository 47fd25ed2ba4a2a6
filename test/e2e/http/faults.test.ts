import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Devnode } from '../../../src/devnode/index.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type ArchiveProcess, startArchive, startNode, untilStored } from '../archive-process.ts';

const LABEL = 'asked for while things break';
const SIZE_BYTES = 2_097_152;
/** 64 MiB of hex. */
const ANSWERS = 16;
const ABSENT = 'ab'.repeat(32);

let node: Devnode;
let dataDir: string;
let daemon: ArchiveProcess;
let hash: string;

beforeEach(async () => {
  node = await startNode();
  dataDir = temporaryFolder();
  hash = node.submitLabelled({ label: LABEL, sizeBytes: SIZE_BYTES, hashType: 'keccak256' }).versionHash;
  node.mine(2);
  daemon = await startArchive({ dataDir, node });
  await untilStored(daemon, 1);
});

function open(): Promise<Socket> {
  const { hostname, port } = new URL(daemon.client.url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => resolve(socket));
    socket.on('error', reject);
    onTestFinished(() => {
      socket.destroy();
    });
  });
}

test('killed in the middle of an answer: the client gets less than was announced, and the next process gives it all', async () => {
  const socket = await open();
  socket.on('error', () => undefined);
  const got: Buffer[] = [];
  const begun = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      got.push(Buffer.from(chunk));
      socket.pause();
      resolve();
    });
  });
  // One answer may be in the sockets' buffers whole; so many are not.
  socket.write(`GET /vh/${hash} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(ANSWERS));
  await begun;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  daemon.kill('SIGKILL');
  await daemon.ended;
  socket.removeAllListeners('data');
  socket.on('data', (chunk) => got.push(Buffer.from(chunk)));
  socket.resume();
  await closed;
  const right = Buffer.from(Buffer.from(sampleBytes(LABEL, SIZE_BYTES)).toString('hex'));
  let rest = Buffer.concat(got);
  expect(rest.length).toBeLessThan(ANSWERS * right.length);
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) break;
    expect(rest.toString('latin1', 0, end)).toContain(`content-length: ${right.length}`);
    const body = rest.subarray(end + 4, end + 4 + right.length);
    expect(body.equals(right.subarray(0, body.length))).toBe(true);
    rest = rest.subarray(end + 4 + body.length);
  }
  const again = await startArchive({ dataDir, node });
  expect((await again.client.blob(hash)).body.equals(sampleBytes(LABEL, SIZE_BYTES))).toBe(true);
});

test('the index points at nothing: 503 until the bytes are there again, never 404', async () => {
  node.faults.add({ fault: { kind: 'work-queue-full' }, methods: ['getnevmblobdata'] });
  rmSync(join(dataDir, 'blobs', 'keccak256', hash.slice(0, 2), hash));
  for (const path of [`/v1/blobs/${hash}`, `/vh/${hash}`, `/get/0x00${hash}`]) {
    const { status, body } = await daemon.client.get(path);
    expect([path, status, body.length > 0]).toEqual([path, 503, true]);
  }
});

test('while another process holds the catalog, answers are right or 503, and it goes on afterwards', async () => {
  const other = new Database(join(dataDir, 'catalog.sqlite'));
  onTestFinished(() => {
    other.close();
  });
  let isHeld = true;
  try {
    other.exec('BEGIN IMMEDIATE');
  } catch {
    // The daemon does not let anybody near it: better still.
    isHeld = false;
  }
  for (let round = 0; round < 5; round += 1) {
    const [known, absent] = [await daemon.client.blob(hash), await daemon.client.get(`/vh/${ABSENT}`)];
    expect([200, 503]).toContain(known.status);
    expect([404, 503]).toContain(absent.status);
    const check = await fetch(`${daemon.client.url}/check_vh`, { method: 'POST', body: JSON.stringify([hash]) });
    expect([200, 503]).toContain(check.status);
  }
  if (isHeld) other.exec('ROLLBACK');
  expect((await daemon.client.blob(hash)).status).toBe(200);
});
