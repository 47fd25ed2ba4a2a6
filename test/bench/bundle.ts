/**
 * Export and import of a bundle, as a share of a bare program that reads, hashes and writes the same bytes: `npm run bench -- bundle`.
 * The archive is the assembled daemon. What an import writes is durable, file by file, and so it is from the bare program. An import ends when its blobs are
 * stored: each is also read back and hashed once more, and so it is by the bare program of the last figure. The archive begins with that
 * before everything is durable, so that the figure before has no limit. Memory is what the process grows by while 96 MiB pass
 * through it, after one export and imports of the same.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Daemon, startDaemon } from '../../src/app/daemon.ts';
import { exportBundle } from '../../src/bundle/export-bundle.ts';
import { importSources } from '../../src/bundle/import-sources.ts';
import { loadConfig } from '../../src/config/index.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { createDevnode, type Devnode } from '../../src/devnode/index.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import type { BlobHasher } from '../../src/verify/hasher.ts';
import { sampleBytes } from '../sample-blobs.ts';
import { shareOf, timed } from './by-turns.ts';
import type { Figure } from './figure.ts';

const NEVER = new AbortController().signal;
const BLOBS = 96;
const BLOB_BYTES = 1_048_576;
const BLOCK_SECONDS = 150;
const AT_ONCE = 8;
const LOOK_MS = 20;

export async function benchBundle(): Promise<Figure[]> {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const node = await createDevnode({ clock: { nowSeconds: () => 1_790_000_000 }, workload: null });
  const hasher = await createNodeHasher();
  try {
    const first = await startArchive(node, join(root, 'first'));
    const hashes = publish(node);
    await until(
      () =>
        first.archive.status().content.stored === BLOBS &&
        first.archive.exporting.catalog.records.dueBetween(0, 0x7fffffff) === 0,
    );
    const files = hashes.map((hash) => join(root, 'first', 'blobs', 'keccak256', hash.slice(0, 2), hash));
    const car = join(root, 'bundle.car');
    const exporting = await shareOf(
      () => milliseconds(() => exported(first, car)),
      () => milliseconds(() => bareExport(files, join(root, 'bare.car'), hasher)),
    );
    const exportGrowth = await growthMib(() => exported(first, car));
    await first.stop();
    // The node has pruned these blobs, so no other source brings them.
    for (let block = 0; block < 8 * 24; block += 1) mine(node);
    const shares = { taken: 0, stored: 0 };
    for (const step of ['taken', 'stored'] as const) {
      shares[step] = await shareOf(
        async () => await imported(node, fresh(root), car, step),
        () => milliseconds(() => bareImport(car, fresh(root), hasher, step === 'stored')),
      );
    }
    const importGrowth = await growthMib(() => imported(node, fresh(root), car, 'stored'));
    return [
      { name: `bundle: ${BLOBS} blobs of 1 MiB`, value: BLOBS, unit: '' },
      { name: '  export, by read + hash + write', value: exporting, unit: '', least: 0.8 },
      { name: '  import until durable, by read + hash + write', value: shares.taken, unit: '' },
      { name: '  import until stored, by the same + read back + hash', value: shares.stored, unit: '', least: 0.8 },
      { name: '  memory by which an export grows', value: exportGrowth, unit: 'MiB', most: 48 },
      { name: '  memory by which an archive and its import grow', value: importGrowth, unit: 'MiB', most: 64 },
    ];
  } finally {
    await node.close();
    rmSync(root, { recursive: true, force: true });
  }
}

async function startArchive(node: Devnode, dataDir: string): Promise<Daemon> {
  const url = node.url.replace('//', `//${node.username}:${node.password}@`);
  const env = {
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_NODE_URL: url,
    HOLDFAST_HTTP_PORT: '0',
    HOLDFAST_HTTP_CACHE_BYTES: '0',
  };
  const { values: settings } = loadConfig({ env, flags: {}, file: undefined, cwd: dataDir });
  return await startDaemon({
    settings,
    version: 'bench',
    emulated: false,
    log: createLogger('silent', process.stdout),
  });
}

function publish(node: Devnode): string[] {
  const hashes: string[] = [];
  for (let index = 0; index < BLOBS; index += 1) {
    hashes.push(node.submitBlob(sampleBytes(`bundle ${index}`, BLOB_BYTES), { hashType: 'keccak256' }).versionHash);
    if (index % 2 === 1) mine(node);
  }
  for (let block = 0; block < 8; block += 1) mine(node);
  return hashes;
}

function mine(node: Devnode): void {
  node.advanceSeconds(BLOCK_SECONDS);
  node.mine();
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Peak of the resident memory, above what stood before. */
async function growthMib(work: () => Promise<unknown>): Promise<number> {
  const beforeBytes = process.memoryUsage.rss();
  let peakBytes = beforeBytes;
  const looking = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  }, LOOK_MS);
  try {
    await work();
  } finally {
    clearInterval(looking);
  }
  return (peakBytes - beforeBytes) / 2 ** 20;
}

function fresh(root: string): string {
  const folder = mkdtempSync(join(root, 'fresh-'));
  mkdirSync(folder, { recursive: true });
  return folder;
}

async function exported({ archive }: Daemon, file: string): Promise<void> {
  rmSync(file, { force: true });
  const parameters = { fromHeight: null, toHeight: null, file, folder: null, bucket: null };
  await exportBundle(parameters, archive.finalHeight(false), archive.exporting, () => {}, NEVER);
}

async function bareExport(files: readonly string[], to: string, hasher: BlobHasher): Promise<void> {
  const handle = await open(to, 'w');
  for (const file of files) {
    const bytes = await readFile(file);
    hasher.keccak256(bytes);
    await handle.write(bytes);
  }
  await handle.sync();
  await handle.close();
}

async function imported(node: Devnode, dataDir: string, car: string, step: 'taken' | 'stored'): Promise<number> {
  const daemon = await startArchive(node, dataDir);
  const { archive } = daemon;
  await until(() => archive.status().node.height !== null && archive.finalHeight(false) !== null);
  let spooled = 0;
  const all = Promise.withResolvers<void>();
  archive.activity.on('spooled', () => {
    spooled += 1;
    if (spooled === BLOBS) all.resolve();
  });
  const begun = performance.now();
  const importing = importSources([car], { ...archive.importing, openBucket: noBucket }, () => {}, NEVER);
  await all.promise;
  if (step === 'stored') await until(() => archive.status().content.stored === BLOBS);
  const took = performance.now() - begun;
  await importing;
  await daemon.stop();
  rmSync(dataDir, { recursive: true, force: true });
  return took;
}

async function bareImport(car: string, folder: string, hasher: BlobHasher, readsBack: boolean): Promise<void> {
  const handle = await open(car);
  await timed(
    Array.from({ length: BLOBS }, (_, index) => index),
    AT_ONCE,
    async (index) => {
      const bytes = new Uint8Array(BLOB_BYTES);
      await handle.read(bytes, 0, BLOB_BYTES, index * BLOB_BYTES);
      hasher.keccak256(bytes);
      const path = join(folder, `${index}`);
      await written(path, bytes);
      if (readsBack) hasher.keccak256(await readFile(path));
    },
  );
  await handle.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Writes bytes so that neither a crash nor a power failure takes them: as a blob is durable here. */
async function written(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(`${path}.new`, 'w');
  await handle.write(bytes);
  await handle.sync();
  await handle.close();
  await rename(`${path}.new`, path);
  const folder = await open(dirname(path));
  await folder.sync();
  await folder.close();
}

async function noBucket(): Promise<never> {
  throw new Error('No bucket is read here.');
}
