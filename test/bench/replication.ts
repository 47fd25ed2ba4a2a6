import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { startKubo } from '../servers/kubo-server.ts';
import { startS3Server } from '../servers/s3-server.ts';
import { newBucket } from '../storage/s3/s3-fixture.ts';
import { cpuSecondsOf } from './cpu-time.ts';
import type { Figure } from './figure.ts';
import { startAndReadLine, stopProcess } from './process-line.ts';

const SIZES = [
  { name: '2 MiB', sizeBytes: 2_097_152, count: 64 },
  { name: '1 KiB', sizeBytes: 1_024, count: 3_000 },
];
/** Blobs that the archive has under way by default. */
const AT_ONCE = 8;
const MIB = 1_048_576;

const outcome = z.object({
  seconds: z.number(),
  cpuSeconds: z.number(),
  left: z.number().default(0),
  peakMemoryBytes: z.number().default(0),
});
type Outcome = z.infer<typeof outcome> & { readonly serverCpuSeconds: number };

interface Place {
  readonly name: string;
  readonly serverPid: number | null;
  /** A lean client of it is measured as well, to know what is the server's part. */
  readonly hasLean: boolean;
  /** Settings of the archive, for a fresh place: nothing is there already. */
  environment(): Promise<Record<string, string>>;
  /** The words by which the bare client reaches one. */
  bare(): Promise<Record<string, string | null>>;
}

async function run(place: Place, script: string, told: object, env: Record<string, string>, flags: readonly string[]) {
  const before = { ...process.env };
  const cpuBefore = cpuSecondsOf(place.serverPid);
  Object.assign(process.env, env);
  const child = await startAndReadLine(script, [JSON.stringify(told)], flags);
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  const serverCpuSeconds = cpuSecondsOf(place.serverPid) - cpuBefore;
  await stopProcess(child);
  return { ...outcome.parse(JSON.parse(child.line)), serverCpuSeconds };
}

type Work = 'put' | 'get' | 'hash' | 'lean';

async function oneRound(place: Place, sizeBytes: number, count: number): Promise<Record<Work | 'ours', Outcome>> {
  const bare = async (work: Work) => {
    const told = { ...(await place.bare()), work, sizeBytes, count, atOnce: AT_ONCE };
    return await run(place, 'bare-process.ts', told, {}, []);
  };
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const env = { ...(await place.environment()), HOLDFAST_DATA_DIR: dataDir };
  try {
    const put = await bare('put');
    const get = await bare('get');
    const ours = await run(place, 'replication-process.ts', { work: 'fill', sizeBytes, count }, env, NODE_FLAGS);
    const hash = await bare('hash');
    const lean = place.hasLean ? await bare('lean') : hash;
    if (ours.left > 0) throw new Error(`${ours.left} are not stored`);
    return { put, get, hash, lean, ours };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/**
 * `stored` asks for more than a put: the copy is fetched back and hashed. So the bare client is measured three times. All
 * of that without the archive is a share of bare put alone, which no program can pass with this client on this machine. The
 * lean client's share is what no program can pass at all. Processor time does not depend on what else the machine does.
 */
async function compare(place: Place, size: (typeof SIZES)[number], roundCount: number): Promise<Figure[]> {
  const { name, sizeBytes, count } = size;
  const rounds: Awaited<ReturnType<typeof oneRound>>[] = [];
  for (let round = 0; round < roundCount; round += 1) rounds.push(await oneRound(place, sizeBytes, count));
  const of = (value: (round: (typeof rounds)[number]) => number) => median(rounds.map(value));
  const work = (one: Outcome) => one.cpuSeconds + one.serverCpuSeconds;
  const times = (what: string, value: (round: (typeof rounds)[number]) => number): Figure => ({
    name: what,
    value: of(value),
    unit: '×',
  });
  return [
    {
      name: `replication of ${name} to ${place.name}, proven, of bare put and get`,
      value: of(({ get, ours }) => get.seconds / ours.seconds),
      unit: '×',
      least: 0.8,
    },
    times('  of bare put and get, hashed on a thread', (one) => one.hash.seconds / one.ours.seconds),
    times('  of bare put alone', (one) => one.put.seconds / one.ours.seconds),
    times('    that bare put, get and hash come to', (one) => one.put.seconds / one.hash.seconds),
    ...(place.hasLean
      ? [times('    that undici alone, put, get and hash, comes to', (one) => one.put.seconds / one.lean.seconds)]
      : []),
    times('  of bare put alone, by processor time, the server’s own included', (one) => work(one.put) / work(one.ours)),
    times('    that bare put, get and hash come to', (one) => work(one.put) / work(one.hash)),
    ...(place.hasLean
      ? [times('    that undici alone, put, get and hash, comes to', (one) => work(one.put) / work(one.lean))]
      : []),
    { name: '  blobs', value: of(({ ours }) => count / ours.seconds), unit: '/s' },
    {
      name: '  processors busy, the server’s own included',
      value: of(({ ours }) => work(ours) / ours.seconds),
      unit: '',
    },
    { name: '    of them, the server', value: of(({ ours }) => ours.serverCpuSeconds / ours.seconds), unit: '' },
    times('  CPU of ours, of bare put, get and hash', (one) => one.ours.cpuSeconds / one.hash.cpuSeconds),
    {
      name: '  peak resident memory',
      value: Math.max(...rounds.map(({ ours }) => ours.peakMemoryBytes)) / MIB,
      unit: 'MiB',
      most: 300,
    },
  ];
}

/** Moves what a daemon has just spooled to S3, against the bare SDK with the same concurrency on the same real server. */
export async function benchReplicationToS3(roundCount: number): Promise<Figure[]> {
  const server = await startS3Server({ keepAlive: true });
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  const place: Place = {
    name: 'S3',
    serverPid: server.pid,
    hasLean: false,
    environment: async () => ({
      HOLDFAST_S3_ENDPOINT: endpoint,
      HOLDFAST_S3_BUCKET: (await newBucket(server)).bucket,
      HOLDFAST_S3_ACCESS_KEY_ID: accessKeyId,
      HOLDFAST_S3_SECRET_ACCESS_KEY: secretAccessKey,
    }),
    bare: async () => ({ endpoint, region, accessKeyId, secretAccessKey, bucket: (await newBucket(server)).bucket }),
  };
  try {
    const figures: Figure[] = [];
    for (const size of SIZES) figures.push(...(await compare(place, size, roundCount)));
    return figures;
  } finally {
    await server.stop();
  }
}

/** The same to Kubo, against kubo-rpc-client. */
export async function benchReplicationToKubo(roundCount: number): Promise<Figure[]> {
  const kubo = await startKubo();
  const place: Place = {
    name: 'Kubo',
    serverPid: kubo.pid,
    hasLean: true,
    environment: async () => ({ HOLDFAST_IPFS_API_URL: kubo.apiUrl }),
    bare: async () => ({ endpoint: kubo.apiUrl, bucket: null, region: '', accessKeyId: '', secretAccessKey: '' }),
  };
  try {
    const figures: Figure[] = [];
    for (const size of SIZES) figures.push(...(await compare(place, size, roundCount)));
    return figures;
  } finally {
    await kubo.stop();
  }
}
