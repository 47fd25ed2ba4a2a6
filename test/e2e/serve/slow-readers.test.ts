import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { testOnLinux } from '../../promised.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchive, startNode, untilStored } from '../archive-process.ts';
import { LyingServer } from '../backends/lying-server.ts';
import { eventually } from '../eventually.ts';
import { type ReaderProcess, startReader } from './reader-process.ts';

const SIZE_BYTES = 2_097_152;
const BLOBS = 8;
const READERS = 1_000;
/** Answers may hold 256 MiB; what is fetched, hashed and collected meanwhile comes on top. */
const MAX_MORE_BYTES = 600 * 1_048_576;
const labelOf = (index: number) => `for slow readers without a folder ${index}`;

async function bucketOf(count: number): Promise<{ bucket: LyingServer; hashes: string[] }> {
  const node = await startNode();
  const bucket = await LyingServer.start();
  const hashes = Array.from(
    { length: count },
    (_, index) =>
      node.submitLabelled({ label: labelOf(index), sizeBytes: SIZE_BYTES, hashType: 'keccak256' }).versionHash,
  );
  node.mine(2);
  const env = { ...bucket.environment, HOLDFAST_LOCAL_MODE: 'cache' };
  const archiver = await startArchive({ dataDir: temporaryFolder(), node, env });
  await untilStored(archiver, count, 60_000);
  archiver.kill('SIGTERM');
  await archiver.ended;
  return { bucket, hashes };
}

function residentBytes({ pid }: ReaderProcess): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024;
}

/** Asks, and takes nothing at all. */
function slowReader({ client }: ReaderProcess, path: string): Socket {
  const { hostname, port } = new URL(client.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  socket.on('error', () => socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  onTestFinished(() => {
    socket.destroy();
  });
  return socket;
}

testOnLinux(
  'a thousand readers that do not read hold what answers may hold, and others still get their bytes',
  async () => {
    const { bucket, hashes } = await bucketOf(BLOBS);
    const env = {
      HOLDFAST_HTTP_CONCURRENT_PER_CLIENT: '0',
      HOLDFAST_HTTP_RATE_PER_SECOND: '0',
      HOLDFAST_HTTP_CACHE_BYTES: '0',
    };
    const reader = await startReader({ ...bucket.environment, ...env });
    const right = sampleBytes(labelOf(0), SIZE_BYTES);
    await eventually(async () => expect((await reader.client.blob(hashes[0] ?? '')).body.equals(right)).toBe(true));
    const before = residentBytes(reader);
    let most = 0;
    const looking = setInterval(() => {
      most = Math.max(most, residentBytes(reader));
    }, 200);
    onTestFinished(() => clearInterval(looking));
    for (let index = 0; index < READERS; index += 1) slowReader(reader, `/v1/blobs/${hashes[index % BLOBS]}`);
    const begun = performance.now();
    const statuses: string[] = [];
    await eventually(async () => {
      const answer = await reader.client.blob(hashes[0] ?? '');
      statuses.push(`${answer.status}@${Math.round(performance.now() - begun)}`);
      expect([200, 503]).toContain(answer.status);
      expect(answer.body.equals(right)).toBe(true);
    }, 100_000);
    process.stdout.write(
      `${statuses.join(' ')}; resident: ${before >> 20} MiB, with ${READERS} slow readers ${most >> 20} MiB\n`,
    );
    expect(most - before).toBeLessThan(MAX_MORE_BYTES);
  },
  180_000,
);
