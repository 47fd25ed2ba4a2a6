import { readFileSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { get } from '../../http/raw-client.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { SlowReaders, testWithSlowReaders } from '../../servers/slow-readers.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startArchive, startNode, untilStored } from '../archive-process.ts';
import { LyingServer } from '../backends/lying-server.ts';
import { eventually } from '../eventually.ts';
import { getFrom } from '../get-from.ts';
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
  await untilStored(archiver, count);
  archiver.kill('SIGTERM');
  await archiver.ended;
  return { bucket, hashes };
}

function residentBytes({ pid }: ReaderProcess): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024;
}

testWithSlowReaders(
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
    const requests = Array.from({ length: READERS }, (_, index) => get(`/v1/blobs/${hashes[index % BLOBS]}`));
    await SlowReaders.ask(reader.client.url, requests);
    const others = await getFrom('127.0.0.2', `${reader.client.url}/v1/blobs/${hashes[0]}`);
    expect([others.status, others.body.equals(right)]).toEqual([200, true]);
    const begun = performance.now();
    const waited = new Set<number>();
    // From their address it has to wait until the first of them have had their time.
    await eventually(async () => {
      const answer = await reader.client.blob(hashes[0] ?? '');
      waited.add(answer.status);
      expect(answer.body.equals(right)).toBe(true);
    }, 200_000);
    expect([...waited].filter((status) => status !== 503)).toEqual([200]);
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
    process.stdout.write(
      `one more of theirs after ${seconds} s; resident: ${before >> 20} MiB, with ${READERS} slow readers ${most >> 20} MiB\n`,
    );
    expect(most - before).toBeLessThan(MAX_MORE_BYTES);
  },
);
