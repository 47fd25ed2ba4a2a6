import { mkdtemp, rm } from 'node:fs/promises';
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

const measured = z.object({
  seconds: z.number(),
  cpuSeconds: z.number(),
  writtenBytes: z.number(),
  storedBytes: z.number(),
  sentBytes: z.number(),
  operations: z.record(z.string(), z.number()),
  peakMemoryBytes: z.number(),
  idle: z.object({ cpuSeconds: z.number(), calls: z.number(), memoryBytes: z.number() }),
});
type Measured = z.output<typeof measured>;

/** `idleSeconds`: how long the daemon is watched after it has stored all. */
async function measure(
  sizeBytes: number,
  count: number,
  backend: Readonly<Record<string, string>>,
  idleSeconds = 0,
): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const node = await startAndReadLine('fake-node.ts', [String(count), String(sizeBytes)]);
  try {
    const env = {
      HOLDFAST_NODE_URL: node.line,
      HOLDFAST_DATA_DIR: join(folder, 'data'),
      HOLDFAST_HTTP_PORT: '0',
      HOLDFAST_LOCAL_MODE: 'cache',
      ...backend,
    };
    const told = JSON.stringify({ env, count, idleSeconds });
    const archiver = await startAndReadLine('cost-process.ts', [told], NODE_FLAGS, MALLOC_ENVIRONMENT);
    await stopProcess(archiver);
    return measured.parse(JSON.parse(archiver.line));
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

function idleFigures({ idle }: Measured): Figure[] {
  return [
    {
      name: 'cost: idle, processor time of a core',
      value: (idle.cpuSeconds / IDLE_SECONDS) * 100,
      unit: '%',
      most: 0.5,
    },
    { name: '  calls to the node an hour', value: (idle.calls / IDLE_SECONDS) * 3_600, unit: 'calls' },
    { name: '  resident memory', value: idle.memoryBytes / MIB, unit: 'MiB', most: 110 },
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
    for (const size of SIZES) {
      figures.push(...figuresOf('a bucket', size, await measure(size.sizeBytes, size.count, await freshBucket())));
    }
    figures.push(...idleFigures(await measure(1_024, 1, await freshBucket(), IDLE_SECONDS)));
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
