import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Devnode } from '../../../src/devnode/index.ts';
import { beforeAllSharing } from '../../cleanup.ts';
import { testOnLinux } from '../../promised.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type ArchiveProcess, startArchive, startNode, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';

const SIZE_BYTES = 2_097_152;
const BLOBS = 40;
const READERS = 1_000;
/** Resident memory that a thousand readers may add. Their answers have 2,000 MiB. */
const MAX_MORE_BYTES = 200 * 1_048_576;

let node: Devnode;
let daemon: ArchiveProcess;
let dataDir: string;
let hashes: string[];
const labelOf = (index: number) => `for slow readers ${index}`;

beforeAllSharing(async (atEnd) => {
  node = await startNode({}, atEnd);
  dataDir = temporaryFolder(atEnd);
  hashes = Array.from(
    { length: BLOBS },
    (_, index) =>
      node.submitLabelled({ label: labelOf(index), sizeBytes: SIZE_BYTES, hashType: 'keccak256' }).versionHash,
  );
  node.mine(2);
  const env = { HOLDFAST_HTTP_CONCURRENT_PER_CLIENT: '0', HOLDFAST_HTTP_RATE_PER_SECOND: '0' };
  daemon = await startArchive({ dataDir, node, env, atEnd });
  await untilStored(daemon, BLOBS, 60_000);
}, 120_000);

function residentBytes(): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1_024;
}

/** Asks, and takes nothing but the first piece that the system gives. */
function slowReader(path: string): Promise<Socket> {
  const { hostname, port } = new URL(daemon.client.url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.once('error', reject);
    socket.once('data', () => {
      socket.pause();
      socket.on('error', () => undefined);
      resolve(socket);
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  });
}

/** The slow readers come from 127.0.0.1: from another address asks another client, and from theirs one more of them. */
function blobFor(localAddress: string, hash: string): Promise<{ status: number | undefined; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const url = `${daemon.client.url}/v1/blobs/${hash}`;
    get(url, { localAddress, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode, body: Buffer.concat(parts) }));
    }).once('error', reject);
  });
}

for (const [what, pathOf] of [
  ['bytes', (hash: string) => `/v1/blobs/${hash}`],
  ['hex text', (hash: string) => `/vh/${hash}`],
] as const) {
  testOnLinux(
    `a thousand readers of 2 MiB as ${what} that do not read add little to its memory, and keep nobody else waiting`,
    async () => {
      // Each blob is proven once: from then on its file is.
      for (const hash of hashes) expect((await daemon.client.blob(hash)).status).toBe(200);
      const before = residentBytes();
      const readers: Socket[] = [];
      let most = 0;
      for (let begun = 0; begun < READERS; begun += 100) {
        const paths = Array.from({ length: 100 }, (_, index) => pathOf(hashes[(begun + index) % BLOBS] ?? ''));
        readers.push(...(await Promise.all(paths.map(slowReader))));
        most = Math.max(most, residentBytes());
      }
      const hash = hashes[7] ?? '';
      const right = [200, true];
      const given = async (localAddress: string) => {
        const { status, body } = await blobFor(localAddress, hash);
        return [status, body.equals(sampleBytes(labelOf(7), SIZE_BYTES))];
      };
      // One more from their address has to wait for its turn among them, and a busy server may turn it away at first.
      await eventually(async () => expect(await given('127.0.0.1')).toEqual(right));
      const begunMs = performance.now();
      expect(await given('127.0.0.2')).toEqual(right);
      expect(performance.now() - begunMs).toBeLessThan(2_000);
      most = Math.max(most, residentBytes());
      process.stdout.write(`resident: ${before >> 20} MiB, with ${READERS} slow readers ${most >> 20} MiB\n`);
      expect(most - before).toBeLessThan(MAX_MORE_BYTES);
      for (const reader of readers) reader.destroy();
      // Answers hold memory until the server sees that their readers are gone: the next thousand are not to share it with them.
      await eventually(() => expect(readdirSync(`/proc/${daemon.pid}/fd`).length).toBeLessThan(READERS / 2));
      await eventually(async () => expect((await daemon.client.blob(hashes[9] ?? '')).status).toBe(200));
    },
    120_000,
  );
}

test('a file that is changed while it is sent ends the answer short: no byte behind the change gets out', async () => {
  const hash = hashes[11] ?? '';
  const right = sampleBytes(labelOf(11), SIZE_BYTES);
  const reader = await slowReader(`/v1/blobs/${hash}`);
  const path = join(dataDir, 'blobs', 'keccak256', hash.slice(0, 2), hash);
  const bytes = readFileSync(path);
  const wrong = Buffer.from(bytes.map((byte) => byte ^ 0xff));
  writeFileSync(path, wrong);
  const got: Buffer[] = [];
  const ended = new Promise((resolve) => reader.once('close', resolve));
  reader.on('data', (chunk) => got.push(Buffer.from(chunk)));
  reader.resume();
  await Promise.race([
    ended,
    eventually(() => expect(Buffer.concat(got).length).toBeGreaterThan(SIZE_BYTES - 600_000)),
  ]);
  reader.destroy();
  const tail = Buffer.concat(got).subarray(-1_000);
  expect(Buffer.from(right).includes(tail)).toBe(true);
});

test('forty readers at once get forty right blobs', async () => {
  const answers = await Promise.all(hashes.map((hash) => daemon.client.blob(hash)));
  for (const [index, { status, body }] of answers.entries()) {
    if (index === 11) continue;
    expect([status, body.equals(sampleBytes(labelOf(index), SIZE_BYTES))]).toEqual([200, true]);
  }
});
