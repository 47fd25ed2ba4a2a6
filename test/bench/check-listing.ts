import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { z } from 'zod';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { SpooledContent } from '../../src/catalog/content-table.ts';
import { parseBlockHash, parseVersionHash } from '../../src/core/blob/ids.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { DataFolder } from '../../src/storage/local/data-folder.ts';
import { startS3Server } from '../servers/s3-server.ts';
import { bareClient, newBucket } from '../storage/s3/s3-fixture.ts';
import type { Figure } from './figure.ts';
import { startAndReadLine, stopProcess } from './process-line.ts';

const LISTED = 100_000;
const MIB = 1_048_576;
const BACKEND = 's3';
const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));

const outcome = z.object({ seconds: z.number(), left: z.number(), peakMemoryBytes: z.number() });

/** A data folder whose catalog says that the backend holds all of them. */
async function preparedFolder(contents: readonly SpooledContent[]): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const folder = await DataFolder.claim(path);
  await folder.settleMode('cache', true);
  await folder.bindTo(parseBlockHash('ab'.repeat(32)));
  const catalog = Catalog.open({
    path: join(path, 'catalog.sqlite'),
    migrationsFolder: MIGRATIONS,
    backends: [BACKEND],
    localIsCache: true,
    replicasRequired: 1,
    clock: SYSTEM_CLOCK,
  });
  catalog.recordSpooled(contents);
  catalog.recordProven(
    BACKEND,
    contents.flatMap(({ versionHash }) => catalog.find(versionHash)),
  );
  catalog.recordRebuilt();
  catalog.close();
  await folder.release();
  return path;
}

/** `check` without reading, against the bare SDK's listing. Objects are made as files of the server: puts take minutes. */
export async function benchCheckListing(): Promise<Figure[]> {
  const server = await startS3Server();
  const bare = bareClient(server);
  try {
    if (server.folder === null) return [];
    const { bucket } = await newBucket(server);
    const folder = join(server.folder, bucket, 'blobs', 'keccak256');
    await mkdir(folder, { recursive: true });
    const contents = Array.from({ length: LISTED }, (_, index): SpooledContent => {
      const versionHash = parseVersionHash(createHash('sha256').update(String(index)).digest('hex'));
      return { hashType: 'keccak256', versionHash, sizeBytes: 1, txid: null, medianTimeSeconds: 0, firstSeenMs: 0 };
    });
    for (const { versionHash } of contents) await writeFile(join(folder, versionHash), 'x');
    const dataDir = await preparedFolder(contents);
    Object.assign(process.env, {
      HOLDFAST_DATA_DIR: dataDir,
      HOLDFAST_S3_ENDPOINT: server.endpoint,
      HOLDFAST_S3_BUCKET: bucket,
      HOLDFAST_S3_ACCESS_KEY_ID: server.accessKeyId,
      HOLDFAST_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
    });
    const child = await startAndReadLine('replication-process.ts', [JSON.stringify({ work: 'check' })], NODE_FLAGS);
    await stopProcess(child);
    const { seconds, left, peakMemoryBytes } = outcome.parse(JSON.parse(child.line));
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
  } finally {
    bare.destroy();
    await server.stop();
  }
}
