/**
 * `rebuild` of a bucket against the bare SDK, which lists the same objects and gets each of them, as many at a time. Words: objects
 * (default 20,000; 1000000 takes an hour, most of it to put them there).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { type S3Server, startS3Server } from '../servers/s3-server.ts';
import { newBucket } from '../storage/s3/s3-fixture.ts';
import { cpuSecondsOf } from './cpu-time.ts';
import { describe, type Figure } from './figure.ts';
import { startAndReadLine, stopProcess } from './process-line.ts';

const OBJECTS = 20_000;
const SIZE_BYTES = 1_024;
/** Objects that a rebuild reads at a time. */
const AT_ONCE = 8;
const MIB = 1_048_576;

const outcome = z.object({
  seconds: z.number(),
  cpuSeconds: z.number(),
  counted: z.number().default(0),
  peakMemoryBytes: z.number().default(0),
});
type Outcome = z.output<typeof outcome> & { readonly serverCpuSeconds: number };

async function run(server: S3Server, script: string, told: object, env: Readonly<Record<string, string>> = {}) {
  const cpuBefore = cpuSecondsOf(server.pid);
  const child = await startAndReadLine(script, [JSON.stringify(told)], NODE_FLAGS, env);
  const serverCpuSeconds = cpuSecondsOf(server.pid) - cpuBefore;
  await stopProcess(child);
  return { ...outcome.parse(JSON.parse(child.line)), serverCpuSeconds };
}

async function rebuilt(server: S3Server, bucket: string, count: number): Promise<Outcome> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  try {
    const found = await run(
      server,
      'replication-process.ts',
      { work: 'rebuild' },
      {
        HOLDFAST_DATA_DIR: dataDir,
        HOLDFAST_S3_ENDPOINT: server.endpoint,
        HOLDFAST_S3_BUCKET: bucket,
        HOLDFAST_S3_ACCESS_KEY_ID: server.accessKeyId,
        HOLDFAST_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
      },
    );
    if (found.counted !== count) throw new Error(`${found.counted} of ${count} objects came back`);
    return found;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export async function benchRebuild(roundCount: number, count = OBJECTS): Promise<Figure[]> {
  const server = await startS3Server({ keepAlive: true });
  try {
    const { endpoint, region, accessKeyId, secretAccessKey } = server;
    const { bucket } = await newBucket(server);
    const told = { endpoint, region, accessKeyId, secretAccessKey, bucket, sizeBytes: SIZE_BYTES, count };
    await run(server, 'bare-process.ts', { ...told, work: 'fill', atOnce: 4 * AT_ONCE });
    const rounds: { readonly ours: Outcome; readonly bare: Outcome }[] = [];
    for (let round = 0; round < roundCount; round += 1) {
      const bare = () => run(server, 'bare-process.ts', { ...told, work: 'walk', atOnce: AT_ONCE });
      // The two begin by turns: the rest of the machine hits both.
      const first = round % 2 === 0 ? await bare() : null;
      const ours = await rebuilt(server, bucket, count);
      rounds.push({ ours, bare: first ?? (await bare()) });
    }
    const of = (value: (round: (typeof rounds)[number]) => number) => median(rounds.map(value));
    return [
      {
        name: `rebuild of ${count.toLocaleString('en')} objects from S3, of bare list and get`,
        value: of(({ ours, bare }) => bare.seconds / ours.seconds),
        unit: '×',
        least: 0.8,
      },
      { name: '  by processor time', value: of(({ ours, bare }) => bare.cpuSeconds / ours.cpuSeconds), unit: '×' },
      {
        name: '  by processor time, the server’s own included',
        value: of(
          ({ ours, bare }) => (bare.cpuSeconds + bare.serverCpuSeconds) / (ours.cpuSeconds + ours.serverCpuSeconds),
        ),
        unit: '×',
      },
      { name: '  processor time an object', value: of(({ ours }) => (ours.cpuSeconds / count) * 1e6), unit: 'µs' },
      { name: '  objects a second', value: of(({ ours }) => count / ours.seconds), unit: '/s' },
      {
        name: '  peak resident memory',
        value: Math.max(...rounds.map(({ ours }) => ours.peakMemoryBytes)) / MIB,
        unit: 'MiB',
        most: 300,
      },
    ];
  } finally {
    await server.stop();
  }
}

if (import.meta.main) {
  const [count = OBJECTS, rounds = 3] = process.argv.slice(2).map(Number);
  for (const figure of await benchRebuild(rounds, count)) process.stdout.write(`${describe(figure)}\n`);
}
