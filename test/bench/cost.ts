import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { MALLOC_ENVIRONMENT, NODE_FLAGS } from '../../src/node-flags.mjs';
import { startKubo } from '../servers/kubo-server.ts';
import { startS3Server } from '../servers/s3-server.ts';
import { newBucket } from '../storage/s3/s3-fixture.ts';
import type { Figure } from './figure.ts';
import { startAndReadLine, stopProcess } from './process-line.ts';

/**
 * Measures what running an archive costs, as an operator reads it: by a data folder that is a spool and a bucket or a Kubo behind it,
 * from a node in another process. Blobs are listed and in no block: what an occurrence record costs comes on top.
 */

const MIB = 1_048_576;
const IDLE_SECONDS = 60;
const SIZES = [
  { name: '2 MiB', sizeBytes: 2 * MIB, count: 100, maxWritten: 2.2 },
  { name: '1 KiB', sizeBytes: 1_024, count: 3_000, maxWritten: 12 },
] as const;

/** Blobs of 1 KiB, from a list to the data folder alone. */
const SPOOLED = 20_000;

const measured = z.object({
  seconds: z.number(),
  cpuSeconds: z.number(),
  writtenBytes: z.number(),
  storedBytes: z.number(),
  sentBytes: z.number(),
  operations: z.record(z.string(), z.number()),
  peakMemoryBytes: z.number(),
  idle: z.object({ cpuSeconds: z.number(), calls: z.number(), memoryBytes: z.number(), privateBytes: z.number() }),
});
type Measured = z.output<typeof measured> & {
  /** Synced writes of the whole run; null: they were not counted. */
  readonly syncs: number | null;
};

interface Watched {
  /** Time for which the daemon is watched after it has stored all. */
  readonly idleSeconds?: number;
  /** Has strace count synced writes. The processor time of that run is of no use. */
  readonly countsSyncs?: boolean;
}

/** Words of strace that count the synced writes of all threads, and stop the program at nothing else. */
const COUNT_SYNCS = ['strace', '-f', '--seccomp-bpf', '-c', '-e', 'trace=fsync,fdatasync', '-o'];

function hasStrace(): boolean {
  const [strace = '', ...words] = COUNT_SYNCS;
  return spawnSync(strace, [...words, '/dev/null', 'true']).status === 0;
}

/** Reads the table of strace: each line tells one call, the last one their sum. */
function syncsIn(table: string): number {
  const calls = /^\s*100\.00\s+\S+\s+\S*\s+(\d+)\s+(?:\d+\s+)?total$/m.exec(table)?.[1];
  if (calls === undefined) throw new Error(`strace told no sum: ${table}`);
  return Number(calls);
}

async function measure(
  sizeBytes: number,
  count: number,
  backend: Readonly<Record<string, string>>,
  { idleSeconds = 0, countsSyncs = false }: Watched = {},
): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const node = await startAndReadLine('fake-node.ts', [String(count), String(sizeBytes)]);
  const table = join(folder, 'syncs');
  try {
    const env = {
      HOLDFAST_NODE_URL: node.line,
      HOLDFAST_DATA_DIR: join(folder, 'data'),
      HOLDFAST_HTTP_PORT: '0',
      HOLDFAST_LOCAL_MODE: 'cache',
      ...backend,
    };
    const told = JSON.stringify({ env, count, idleSeconds });
    const under = countsSyncs ? [...COUNT_SYNCS, table] : [];
    const archiver = await startAndReadLine('cost-process.ts', [told], NODE_FLAGS, MALLOC_ENVIRONMENT, under);
    // The archiver stops by itself, and strace writes its table then.
    if (countsSyncs && archiver.child.exitCode === null) await once(archiver.child, 'exit');
    await stopProcess(archiver);
    const syncs = countsSyncs ? syncsIn(await readFile(table, 'utf8')) : null;
    return { ...measured.parse(JSON.parse(archiver.line)), syncs };
  } finally {
    await stopProcess(node);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Questions that carry or look at a blob; markers and records are none. */
function blobRequests({ operations }: Measured): number {
  return Object.entries(operations).reduce(
    (sum, [name, many]) => sum + (/(Record|Binding|Mark|probe)/i.test(name) ? 0 : many),
    0,
  );
}

function figuresOf(place: string, size: (typeof SIZES)[number], cost: Measured): Figure[] {
  const amplification = (cost.writtenBytes + cost.sentBytes) / cost.storedBytes;
  return [
    {
      name: `cost: ${size.name} to ${place}, processor time a blob`,
      value: (cost.cpuSeconds / size.count) * 1_000,
      unit: 'ms',
    },
    { name: '  blobs stored a second', value: size.count / cost.seconds, unit: 'blobs/s' },
    { name: '  bytes written and sent a byte stored', value: amplification, unit: '×', most: size.maxWritten },
    { name: '  questions to the backend a blob', value: blobRequests(cost) / size.count, unit: '', most: 2.05 },
    { name: '  peak resident memory', value: cost.peakMemoryBytes / MIB, unit: 'MiB', most: 256 },
  ];
}

/** Synced writes of so many blobs, without those of a start: `few` is the same with one blob. */
function syncFigure(name: string, count: number, { syncs: many }: Measured, { syncs: few }: Measured): Figure {
  return { name, value: ((many ?? Number.NaN) - (few ?? Number.NaN)) / (count - 1), unit: '' };
}

async function spooledFigure(): Promise<Figure> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const node = await startAndReadLine('fake-node.ts', [String(SPOOLED), '1024']);
  try {
    const words = [node.line, join(folder, 'data'), String(SPOOLED)];
    const archiver = await startAndReadLine('archiver-process.ts', words, NODE_FLAGS, MALLOC_ENVIRONMENT);
    await stopProcess(archiver);
    const { listedCpuSeconds } = z.object({ listedCpuSeconds: z.number() }).parse(JSON.parse(archiver.line));
    const value = (listedCpuSeconds / SPOOLED) * 1e6;
    return { name: 'cost: 1 KiB, listed to spooled, processor time a blob', value, unit: 'µs', most: 120 };
  } finally {
    await stopProcess(node);
    await rm(folder, { recursive: true, force: true });
  }
}

function idleFigures({ idle }: Measured): Figure[] {
  return [
    {
      name: 'cost: idle, from 30 s after the last blob, processor time of a core',
      value: (idle.cpuSeconds / IDLE_SECONDS) * 100,
      unit: '%',
      most: 0.5,
    },
    { name: '  calls to the node an hour', value: (idle.calls / IDLE_SECONDS) * 3_600, unit: 'calls' },
    { name: '  resident memory', value: idle.memoryBytes / MIB, unit: 'MiB', most: 110 },
    { name: '    of it anonymous: the rest is shared pages of files', value: idle.privateBytes / MIB, unit: 'MiB' },
  ];
}

export async function benchCost(): Promise<Figure[]> {
  const figures: Figure[] = [];
  const s3 = await startS3Server();
  const freshBucket = async () => ({
    HOLDFAST_S3_ENDPOINT: s3.endpoint,
    HOLDFAST_S3_BUCKET: (await newBucket(s3)).bucket,
    HOLDFAST_S3_ACCESS_KEY_ID: s3.accessKeyId,
    HOLDFAST_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
  });
  try {
    // Modules are compiled once, as the launcher's first start does it.
    await measure(1_024, 1, await freshBucket());
    figures.push(await spooledFigure());
    for (const size of SIZES) {
      figures.push(...figuresOf('a bucket', size, await measure(size.sizeBytes, size.count, await freshBucket())));
    }
    figures.push(...idleFigures(await measure(1_024, 1, await freshBucket(), { idleSeconds: IDLE_SECONDS })));
    if (hasStrace()) {
      const counted = async (sizeBytes: number, count: number) =>
        await measure(sizeBytes, count, await freshBucket(), { countsSyncs: true });
      for (const { name, sizeBytes, count } of SIZES) {
        const [many, few] = [await counted(sizeBytes, count), await counted(sizeBytes, 1)];
        figures.push(syncFigure(`cost: ${name} to a bucket, synced writes a blob`, count, many, few));
      }
    }
  } finally {
    await s3.stop();
  }
  const kubo = await startKubo();
  try {
    const [size] = SIZES;
    const cost = await measure(size.sizeBytes, size.count, { HOLDFAST_IPFS_API_URL: kubo.apiUrl });
    figures.push(...figuresOf('Kubo', size, cost));
  } finally {
    await kubo.stop();
  }
  return figures;
}
