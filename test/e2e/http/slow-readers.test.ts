import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Devnode } from '../../../src/devnode/index.ts';
import { beforeAllSharing } from '../../cleanup.ts';
import { get } from '../../http/raw-client.ts';
import { sampleBytes } from '../../sample-blobs.ts';
import { SlowReaders, testWithSlowReaders } from '../../servers/slow-readers.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type ArchiveProcess, startArchive, startNode, untilStored } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { getFrom } from '../get-from.ts';

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
    { length: BLOBS + 1 },
    (_, index) =>
      node.submitLabelled({ label: labelOf(index), sizeBytes: SIZE_BYTES, hashType: 'keccak256' }).versionHash,
  );
  node.mine(2);
  const env = { HOLDFAST_HTTP_CONCURRENT_PER_CLIENT: '0', HOLDFAST_HTTP_RATE_PER_SECOND: '0' };
  daemon = await startArchive({ dataDir, node, env, atEnd });
  await untilStored(daemon, BLOBS + 1);
});

function residentBytes(): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1_024;
}

/** Answers that slow readers have lost to others. */
async function cutAnswers(): Promise<number> {
  const { body } = await getFrom('127.0.0.3', `${daemon.client.url}/metrics`);
  const counts = [...body.toString().matchAll(/^holdfast_http_answer_memory_cuts_total(?:\{.*\})? (\d+)$/gm)];
  expect(counts).not.toEqual([]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

for (const [what, pathOf] of [
  ['bytes', (hash: string) => `/v1/blobs/${hash}`],
  ['hex text', (hash: string) => `/vh/${hash}`],
] as const) {
  testWithSlowReaders(
    `a thousand readers of 2 MiB as ${what} that do not read add little to its memory, and keep nobody else waiting`,
    async () => {
      // Each blob is proven once: from then on its file is.
      for (const hash of hashes.slice(0, BLOBS)) expect((await daemon.client.blob(hash)).status).toBe(200);
      const before = residentBytes();
      let most = 0;
      const look = () => {
        most = Math.max(most, residentBytes());
      };
      const looking = setInterval(look, 50);
      onTestFinished(() => clearInterval(looking));
      const requests = Array.from({ length: READERS }, (_, index) => get(pathOf(hashes[index % BLOBS] ?? '')));
      const readers = await SlowReaders.ask(daemon.client.url, requests);
      expect(new Set(await readers.statuses())).toEqual(new Set([200]));
      const hash = hashes[7] ?? '';
      const right = [200, true];
      const given = async (localAddress: string) => {
        const { status, body } = await getFrom(localAddress, `${daemon.client.url}/v1/blobs/${hash}`);
        return [status, body.equals(sampleBytes(labelOf(7), SIZE_BYTES))];
      };
      // One more from their address has to wait for its turn among them, and a busy server may turn it away at first.
      await eventually(async () => expect(await given('127.0.0.1')).toEqual(right));
      // The least of several: a busy machine is late at times, a server that lets readers keep others waiting is late every time.
      const cuts = await cutAnswers();
      let leastMs = Number.POSITIVE_INFINITY;
      for (let fetch = 0; fetch < 5; fetch += 1) {
        const begunMs = performance.now();
        expect(await given('127.0.0.2')).toEqual(right);
        leastMs = Math.min(leastMs, performance.now() - begunMs);
      }
      expect(leastMs).toBeLessThan(2_000);
      // No answer was cut to make room for these fetches: the thousand readers were there all the time.
      expect(await cutAnswers()).toBe(cuts);
      look();
      process.stdout.write(`resident: ${before >> 20} MiB, with ${READERS} slow readers ${most >> 20} MiB\n`);
      expect(most - before).toBeLessThan(MAX_MORE_BYTES);
      await readers.leave();
      // Answers hold memory until the server sees that their readers are gone: the next thousand are not to share it with them.
      await eventually(() => expect(readdirSync(`/proc/${daemon.pid}/fd`).length).toBeLessThan(READERS / 2));
      await eventually(async () => expect((await daemon.client.blob(hashes[9] ?? '')).status).toBe(200));
    },
  );
}

testWithSlowReaders(
  'a file that is changed while it is sent ends the answer short: no byte behind the change gets out',
  async () => {
    // The others were asked for often, and are in memory. This one is proven by its first answer, and read from its file after.
    const hash = hashes[BLOBS] ?? '';
    const right = Buffer.from(sampleBytes(labelOf(BLOBS), SIZE_BYTES));
    expect((await daemon.client.blob(hash)).body.equals(right)).toBe(true);
    const readers = await SlowReaders.ask(daemon.client.url, [get(`/v1/blobs/${hash}`)]);
    expect(await readers.statuses()).toEqual([200]);
    const path = join(dataDir, 'blobs', 'keccak256', hash.slice(0, 2), hash);
    const bytes = readFileSync(path);
    writeFileSync(
      path,
      bytes.map((byte) => byte ^ 0xff),
    );
    const [rest] = await readers.rest();
    expect(rest?.lengthBytes).toBeLessThan(SIZE_BYTES);
    expect(right.includes(Buffer.from(rest?.tail ?? '', 'hex'))).toBe(true);
  },
);

test('forty readers at once get forty right blobs', async () => {
  const answers = await Promise.all(hashes.slice(0, BLOBS).map((hash) => daemon.client.blob(hash)));
  for (const [index, { status, body }] of answers.entries()) {
    expect([status, body.equals(sampleBytes(labelOf(index), SIZE_BYTES))]).toEqual([200, true]);
  }
});
