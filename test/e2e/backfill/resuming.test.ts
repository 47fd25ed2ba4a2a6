import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fakeSentinel } from '../../backfill/source/imitations.ts';
import { misbehavingServer } from '../../storage/misbehaving-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startNode } from '../archive-process.ts';
import { eventually } from '../eventually.ts';
import { backfill, eventsIn, type OldBlob, passTime, publishBlocks, startBackfill } from './history.ts';

const REQUESTS = 4;

/** A peer that takes its time, and counts how often each blob is asked for. */
async function countingPeer(blobs: readonly OldBlob[], delayMs: number) {
  const asked = new Map<string, number>();
  const byName = new Map(
    blobs.map(({ hashType, versionHash, bytes }) => [
      hashType === 'keccak256' ? versionHash : `01${versionHash}`,
      bytes,
    ]),
  );
  const { endpoint } = await misbehavingServer(({ path }, response) => {
    const name = path.split('/').at(-1) ?? '';
    asked.set(name.slice(-64), (asked.get(name.slice(-64)) ?? 0) + 1);
    const bytes = byName.get(name);
    setTimeout(() => {
      if (bytes === undefined) {
        response.writeHead(404, { 'content-type': 'application/problem+json' }).end('{"code":"blob/absent"}');
      } else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
    }, delayMs);
  });
  return { endpoint, asked };
}

test('kill -9 in the middle, again and again: what was fetched is never fetched again, and at the end all is there', async () => {
  const node = await startNode();
  const blobs = publishBlocks(node, 'killed', 20, 5);
  passTime(node);
  const peer = await countingPeer(blobs, 20);
  const setup = { node, dataDir: temporaryFolder() };
  const words = ['--from-height', String(blobs[0]?.height), '--source', `peer=${peer.endpoint}`];
  /** The number of times each had been asked for when it was told that it is here. */
  const acknowledged = new Map<string, number>();
  for (let kills = 1; kills <= 2; kills += 1) {
    const run = startBackfill(setup, ...words, '--requests', String(REQUESTS));
    const fetched = () => eventsIn(run.stdout.toString()).filter((one) => one.event === 'fetched');
    await eventually(() => expect(fetched().length).toBeGreaterThan(15));
    run.kill('SIGKILL');
    await run.ended;
    for (const one of fetched())
      acknowledged.set(String(one['versionHash']), peer.asked.get(String(one['versionHash'])) ?? 0);
  }
  expect(acknowledged.size).toBeGreaterThan(30);
  const last = await backfill(setup, ...words);
  expect(last.report).toMatchObject({ exitCode: 0, missingCount: 0 });
  for (const [versionHash, times] of acknowledged) expect(peer.asked.get(versionHash)).toBe(times);
  const again = [...peer.asked.values()].filter((times) => times > 1);
  // Only what was under way when it was killed can have been asked for twice.
  expect(again.length).toBeLessThanOrEqual(2 * REQUESTS);
  expect(peer.asked.size).toBe(blobs.length);
});

test('Ctrl-C ends it cleanly, with 130', async () => {
  const node = await startNode();
  const blobs = publishBlocks(node, 'interrupted', 4, 5);
  passTime(node);
  const peer = await countingPeer(blobs, 200);
  const setup = { node, dataDir: temporaryFolder() };
  const run = startBackfill(setup, '--from-height', String(blobs[0]?.height), '--source', `peer=${peer.endpoint}`);
  await run.says(/"event":"fetched"/);
  run.kill('SIGINT');
  expect(await run.ended).toMatchObject({ code: 130 });
});

test('memory stays bounded: 2 MiB blobs as hex, sixteen under way', async () => {
  const node = await startNode({ hexCacheBytes: 0 });
  const blobs = publishBlocks(node, 'large', 3, 16, 2_097_000);
  passTime(node);
  const sentinel = await fakeSentinel(new Map(blobs.map(({ versionHash, bytes }) => [versionHash, bytes])));
  const setup = { node, dataDir: temporaryFolder() };
  const words = ['--from-height', String(blobs[0]?.height), '--source', `peer=${sentinel.endpoint}/vh/`];
  const run = startBackfill(setup, ...words, '--requests', '16');
  let peakKib = 0;
  const watching = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${run.pid}/status`, 'utf8');
      peakKib = Math.max(peakKib, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    } catch {
      // The job has ended: its earlier output counts.
    }
  }, 50);
  const ended = await run.ended;
  clearInterval(watching);
  expect(ended.stdout).toContain('"fetched":48');
  process.stdout.write(`peak of the process: ${(peakKib / 1_024).toFixed(0)} MiB\n`);
  expect(peakKib / 1_024).toBeLessThan(300);
});
