import { createHash } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { z } from 'zod';
import { openDurableDatabase } from '../../src/core/sqlite/durable-database.ts';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import type { Figure } from './figure.ts';
import { startAndReadLine, stopProcess } from './process-line.ts';

const MIB = 1_048_576;
const FULL_BYTES = 2 * MIB;
const REFERENCE_BLOBS = 40;

const drained = z.object({
  seconds: z.number(),
  bytes: z.number(),
  blobs: z.number(),
  peakMemoryBytes: z.number(),
  cpuSeconds: z.number(),
  calls: z.record(z.string(), z.number()),
});
const usage = z.object({ cpuSeconds: z.number(), blocks: z.number(), hashes: z.array(z.string()) });

async function usageOf(nodeUrl: string): Promise<z.infer<typeof usage>> {
  const answer = await request(nodeUrl);
  return usage.parse(await answer.body.json());
}

/** One after the other: bare download, native keccak of as many bytes, one synced write. Bytes of blobs a second. */
async function referenceRate(nodeUrl: string, folder: string): Promise<number> {
  const { hashes } = await usageOf(nodeUrl);
  const begun = performance.now();
  for (let index = 0; index < REFERENCE_BLOBS; index++) {
    const body = JSON.stringify({ id: '0', method: 'getnevmblobdata', params: [hashes[index % hashes.length], true] });
    const answer = await request(nodeUrl, { method: 'POST', body, headers: { 'content-type': 'text/plain' } });
    const bytes = Buffer.from(await answer.body.arrayBuffer()).subarray(0, FULL_BYTES);
    createHash('keccak-256').update(bytes).digest();
    const file = await open(join(folder, `reference-${index}`), 'wx');
    await file.write(bytes);
    await file.sync();
    await file.close();
  }
  return (REFERENCE_BLOBS * FULL_BYTES) / ((performance.now() - begun) / 1_000);
}

const ROWS = 20_000;
const ROWS_A_COMMIT = 256;

/** Nothing but the rows: as many a second as one durable SQLite file takes in synced commits of the same size. */
function bareRowRate(folder: string): number {
  const database = openDurableDatabase(join(folder, 'bare.sqlite'));
  database.exec('CREATE TABLE bare (id INTEGER PRIMARY KEY, name BLOB UNIQUE, bytes BLOB)');
  const insert = database.prepare('INSERT INTO bare (name, bytes) VALUES (?, ?)');
  const bytes = Buffer.alloc(1_024, 'row');
  const names = Array.from({ length: ROWS }, (_, index) => createHash('sha256').update(String(index)).digest());
  const begun = performance.now();
  for (let at = 0; at < ROWS; at += ROWS_A_COMMIT) {
    database.transaction(() => {
      for (const name of names.slice(at, at + ROWS_A_COMMIT)) insert.run(name, bytes);
    })();
  }
  const seconds = (performance.now() - begun) / 1_000;
  database.close();
  return ROWS / seconds;
}

async function drain(count: number, sizeBytes: number, withReference: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const node = await startAndReadLine('fake-node.ts', [String(count), String(sizeBytes)]);
  try {
    const before = withReference ? await referenceRate(node.line, folder) : 0;
    const { cpuSeconds: cpuBefore } = await usageOf(node.line);
    const archiver = await startAndReadLine(
      'archiver-process.ts',
      [node.line, join(folder, 'data'), String(count)],
      NODE_FLAGS,
    );
    await stopProcess(archiver);
    const { cpuSeconds: cpuAfter, blocks } = await usageOf(node.line);
    const after = withReference ? await referenceRate(node.line, await mkdtemp(join(folder, 'again-'))) : 0;
    const figures = drained.parse(JSON.parse(archiver.line));
    const bareRows = bareRowRate(folder);
    return { ...figures, reference: (before + after) / 2, bareRows, nodeCpuSeconds: cpuAfter - cpuBefore, blocks };
  } finally {
    await stopProcess(node);
    await rm(folder, { recursive: true, force: true });
  }
}

function otherCalls({ calls, seconds, blocks }: z.infer<typeof drained> & { readonly blocks: number }): number {
  const { fetchRequests = 0, blobsAsked = 0, ...others } = calls;
  if (fetchRequests > blobsAsked) throw new Error('The bench asked more often than for blobs.');
  return Object.values(others).reduce((sum, count) => sum + count, 0) / (6 * blocks + seconds);
}

/** Listed → spooled, by the assembled daemon, from a fake node in another process. */
export async function benchDrain(): Promise<Figure[]> {
  const full = await drain(200, FULL_BYTES, true);
  const small = await drain(40_000, 1_024, false);
  const rate = full.bytes / full.seconds;
  return [
    { name: 'drain of 2 MiB blobs, listed to spooled', value: rate / MIB, unit: 'MiB/s' },
    { name: '  one after the other: download + keccak + synced write', value: full.reference / MIB, unit: 'MiB/s' },
    { name: '  ratio', value: rate / full.reference, unit: '×', least: 1 },
    { name: '  fetches per blob', value: (full.calls['blobsAsked'] ?? 0) / full.blobs, unit: '', most: 1.01 },
    { name: '  all other calls, against 6 a block and one a second', value: otherCalls(full), unit: '×', most: 1 },
    { name: '  peak resident memory', value: full.peakMemoryBytes / MIB, unit: 'MiB', most: 300 },
    { name: '  CPU of the archiver', value: full.cpuSeconds, unit: 's' },
    { name: '  CPU of the fake node meanwhile', value: full.nodeCpuSeconds, unit: 's' },
    { name: 'drain of 1 KiB blobs, durable', value: small.blobs / small.seconds, unit: 'blobs/s', least: 10_000 },
    { name: '  bare rows in synced commits, the disk’s own limit just now', value: small.bareRows, unit: 'rows/s' },
    { name: '  ratio', value: small.blobs / small.seconds / small.bareRows, unit: '×' },
    { name: '  all other calls, against 6 a block and one a second', value: otherCalls(small), unit: '×', most: 1 },
    { name: '  peak resident memory', value: small.peakMemoryBytes / MIB, unit: 'MiB', most: 300 },
    { name: '  CPU of the archiver', value: small.cpuSeconds, unit: 's' },
    { name: '  CPU of the fake node meanwhile', value: small.nodeCpuSeconds, unit: 's' },
  ];
}
