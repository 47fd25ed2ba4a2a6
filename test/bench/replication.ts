import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import { z } from 'zod';
import { parseBlockHash, parseVersionHash } from '../../src/blob/ids.ts';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { SpooledContent } from '../../src/catalog/content-table.ts';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { DataFolder } from '../../src/storage/local/data-folder.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import type { VerifiedBlob } from '../../src/verify/verified-blob.ts';
import { startKubo } from '../servers/kubo-server.ts';
import { type S3Server, startS3Server } from '../servers/s3-server.ts';
import { bareClient, newBucket } from '../storage/s3/s3-fixture.ts';
import { blobMaker, timed } from './by-turns.ts';
import type { Figure } from './figure.ts';
import { startAndReadLine, stopProcess } from './process-line.ts';

const SIZES = [
  { name: '2 MiB', sizeBytes: 2_097_152, count: 64 },
  { name: '1 KiB', sizeBytes: 1_024, count: 3_000 },
];
/** As many as the archive has under way by default. */
const AT_ONCE = 8;
const ROUNDS = 3;
const LISTED = 100_000;
const MIB = 1_048_576;
const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));
const { signal } = new AbortController();

const outcome = z.object({ seconds: z.number(), left: z.number(), peakMemoryBytes: z.number() });

/** A data folder whose catalog says what is spooled, as a daemon leaves it that could not reach its backend. */
async function preparedFolder(backend: string, contents: readonly SpooledContent[], proven: boolean): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const folder = await DataFolder.claim(path);
  await folder.settleMode('cache', true);
  await folder.bindTo(parseBlockHash('ab'.repeat(32)));
  const catalog = Catalog.open({
    path: join(path, 'catalog.sqlite'),
    migrationsFolder: MIGRATIONS,
    backends: [backend],
    localIsCache: true,
    replicasRequired: 1,
    nowMs: Date.now,
  });
  catalog.recordSpooled(contents);
  if (proven) {
    catalog.recordProven(
      backend,
      contents.flatMap(({ versionHash }) => catalog.find(versionHash)),
    );
  }
  catalog.recordRebuilt();
  catalog.close();
  await folder.release();
  return path;
}

function contentOf({ hashType, versionHash, bytes }: VerifiedBlob): SpooledContent {
  return { hashType, versionHash, sizeBytes: bytes.length, txid: null, medianTimeSeconds: 0, firstSeenMs: 0 };
}

async function runIn(dataDir: string, work: 'fill' | 'check', env: Record<string, string>) {
  const before = { ...process.env };
  Object.assign(process.env, env, { HOLDFAST_DATA_DIR: dataDir });
  const child = await startAndReadLine('replication-process.ts', [work], NODE_FLAGS);
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  await stopProcess(child);
  return outcome.parse(JSON.parse(child.line));
}

interface Place {
  readonly id: string;
  readonly name: string;
  /** A fresh place each time, so that nothing is there already. */
  environment(): Promise<Record<string, string>>;
  /** What the bare client needs to reach it. */
  bare(): Promise<Record<string, string | null>>;
}

const bareOutcome = z.object({ bothMs: z.number(), putMs: z.number() });

async function runBare(told: Record<string, string | number | null>) {
  const child = await startAndReadLine('bare-process.ts', [JSON.stringify(told)]);
  await stopProcess(child);
  return bareOutcome.parse(JSON.parse(child.line));
}

async function compare(place: Place, { name, sizeBytes, count }: (typeof SIZES)[number]): Promise<Figure[]> {
  const newBlobs = await blobMaker(count, sizeBytes);
  const shares: number[] = [];
  const puts: number[] = [];
  let peak = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const blobs = newBlobs();
    const dataDir = await preparedFolder(place.id, blobs.map(contentOf), false);
    const store = await LocalStore.open(dataDir);
    await timed(blobs, 64, (blob) => store.put(blob, signal));
    await store.close();
    const { seconds, peakMemoryBytes } = await runIn(dataDir, 'fill', await place.environment());
    peak = Math.max(peak, peakMemoryBytes);
    const { bothMs, putMs } = await runBare({ ...(await place.bare()), sizeBytes, count, atOnce: AT_ONCE });
    shares.push(bothMs / 1_000 / seconds);
    puts.push(putMs / 1_000 / seconds);
    await rm(dataDir, { recursive: true, force: true });
  }
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
  return [
    {
      name: `replication of ${name} to ${place.name}, proven, of bare put and get`,
      value: median(shares),
      unit: '×',
      least: 0.8,
    },
    { name: '  of bare put alone (we read back and hash besides)', value: median(puts), unit: '×' },
    { name: '  peak resident memory', value: peak / MIB, unit: 'MiB', most: 300 },
  ];
}

function s3Place(server: S3Server): Place {
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  return {
    id: 's3',
    name: 'S3',
    environment: async () => environmentOf(server, (await newBucket(server)).bucket),
    bare: async () => {
      const { bucket } = await newBucket(server);
      return { endpoint, region, accessKeyId, secretAccessKey, bucket };
    },
  };
}

function environmentOf(server: S3Server, bucket: string): Record<string, string> {
  return {
    HOLDFAST_S3_ENDPOINT: server.endpoint,
    HOLDFAST_S3_BUCKET: bucket,
    HOLDFAST_S3_ACCESS_KEY_ID: server.accessKeyId,
    HOLDFAST_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
  };
}

/** Objects made as files of the server, where they are ours: a hundred thousand puts would take minutes. */
async function listing(server: S3Server, bare: S3Client): Promise<Figure[]> {
  if (server.folder === null) return [];
  const { bucket } = await newBucket(server);
  const folder = join(server.folder, bucket, 'blobs', 'keccak256');
  await mkdir(folder, { recursive: true });
  const contents = Array.from({ length: LISTED }, (_, index): SpooledContent => {
    const versionHash = parseVersionHash(createHash('sha256').update(String(index)).digest('hex'));
    return { hashType: 'keccak256', versionHash, sizeBytes: 1, txid: null, medianTimeSeconds: 0, firstSeenMs: 0 };
  });
  for (const { versionHash } of contents) await writeFile(join(folder, versionHash), 'x');
  const dataDir = await preparedFolder('s3', contents, true);
  const { seconds, left, peakMemoryBytes } = await runIn(dataDir, 'check', environmentOf(server, bucket));
  if (left > 0) throw new Error(`${left} objects were called missing`);
  const begun = performance.now();
  let seen = 0;
  for await (const page of paginateListObjectsV2({ client: bare }, { Bucket: bucket, Prefix: 'blobs/' })) {
    seen += page.Contents?.length ?? 0;
  }
  const bareSeconds = (performance.now() - begun) / 1_000;
  if (seen !== LISTED) throw new Error(`${seen} listed`);
  await rm(dataDir, { recursive: true, force: true });
  return [
    {
      name: 'check of 100,000 objects without reading, of bare listing',
      value: bareSeconds / seconds,
      unit: '×',
      least: 0.8,
    },
    { name: '  objects a second', value: LISTED / seconds, unit: '/s' },
    { name: '  peak resident memory', value: peakMemoryBytes / MIB, unit: 'MiB', most: 300 },
  ];
}

/** The assembled archive fills a backend, against the bare client with the same concurrency on the same real server. */
export async function benchReplication(): Promise<Figure[]> {
  const figures: Figure[] = [];
  const server = await startS3Server();
  const bare = bareClient(server);
  try {
    for (const size of SIZES) figures.push(...(await compare(s3Place(server), size)));
    figures.push(...(await listing(server, bare)));
  } finally {
    bare.destroy();
    await server.stop();
  }
  const kubo = await startKubo();
  const place: Place = {
    id: 'ipfs',
    name: 'Kubo',
    environment: async () => ({ HOLDFAST_IPFS_API_URL: kubo.apiUrl }),
    bare: async () => ({ endpoint: kubo.apiUrl, bucket: null, region: '', accessKeyId: '', secretAccessKey: '' }),
  };
  try {
    for (const size of SIZES) figures.push(...(await compare(place, size)));
    return figures;
  } finally {
    await kubo.stop();
  }
}
