/**
 * A walk over history against bare `getblock` calls of the same blocks, from an emulated node in a process of its own
 * (it costs the same in both). Words: blocks (default 3,000), blobs in each (default 12).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { loadConfig } from '../../src/config/index.ts';
import { startDaemon } from '../../src/daemon.ts';
import { createBlobNode } from '../../src/node/index.ts';
import { createLogger } from '../../src/observability/logger.ts';
import type { Figure } from './figure.ts';

/** As many as the walk asks for ahead. */
const LOOK_AHEAD = 4;
const NEVER = new AbortController().signal;
const started = z.object({ url: z.string(), height: z.number() });

const DEVNODE = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.devnode).then(async ({ createDevnode }) => {
  const node = await createDevnode({ clock: { nowSeconds: () => 1790000000 }, workload: null });
  let number = 0;
  for (let block = 0; block < workerData.blocks; block += 1) {
    for (let blob = 0; blob < workerData.blobs; blob += 1) {
      number += 1;
      node.submitLabelled({ label: 'history ' + number, sizeBytes: 16, hashType: 'keccak256' });
    }
    node.advanceSeconds(150);
    node.mine();
  }
  const url = node.url.replace('//', '//' + node.username + ':' + node.password + '@');
  parentPort.postMessage({ url, height: node.chain.tip.height });
});`;

export async function benchHistory(blocks = 3_000, blobs = 12): Promise<Figure[]> {
  const devnode = new URL('../../src/devnode/index.ts', import.meta.url).href;
  const worker = new Worker(DEVNODE, { eval: true, workerData: { devnode, blocks, blobs } });
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    const message: unknown = await new Promise((resolve, reject) =>
      worker.once('message', resolve).once('error', reject),
    );
    const { url, height } = started.parse(message);
    // Before and after: what else the machine does hits both.
    const before = await bareRate(url, height);
    const walk = await walkRate(url, height, dataDir);
    const bare = (before + (await bareRate(url, height))) / 2;
    return [
      { name: 'history: bare getblock', value: bare, unit: 'blocks/s' },
      { name: 'history: the walk, recorded durably', value: walk, unit: 'blocks/s' },
      { name: 'history: the walk by bare getblock', value: walk / bare, unit: '', least: 0.8 },
      { name: 'history: memory of this process', value: process.memoryUsage().rss / 1_048_576, unit: 'MiB' },
    ];
  } finally {
    await worker.terminate();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The same questions, as many at a time, and nothing done with the answers. */
async function bareRate(url: string, height: number): Promise<number> {
  const node = createBlobNode({ url, connections: LOOK_AHEAD });
  const begun = performance.now();
  let next = 1;
  const ask = async () => {
    while (next <= height) {
      const at = next;
      next += 1;
      const hash = await node.blockHashAt(at, NEVER);
      if (hash !== null) await node.rawBlock(hash, NEVER);
    }
  };
  await Promise.all(Array.from({ length: LOOK_AHEAD }, ask));
  const seconds = (performance.now() - begun) / 1_000;
  await node.close();
  return height / seconds;
}

async function walkRate(url: string, height: number, dataDir: string): Promise<number> {
  const env = {
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_NODE_URL: url,
    HOLDFAST_HTTP_PORT: '0',
    HOLDFAST_START_HEIGHT: '1',
  };
  const { values: settings } = loadConfig({ env, flags: {}, file: undefined, cwd: dataDir });
  const log = createLogger('silent', process.stdout);
  const begun = performance.now();
  const daemon = await startDaemon({ settings, version: 'bench', emulated: false, log });
  let first: number | null = null;
  await new Promise<void>((resolve) => {
    daemon.archive.activity.on('walked', (walked) => {
      first ??= performance.now();
      if (walked.height >= height) resolve();
    });
  });
  const seconds = (performance.now() - (first ?? begun)) / 1_000;
  await daemon.stop();
  return height / seconds;
}

if (import.meta.main) {
  const [blocks, blobs] = process.argv.slice(2).map(Number);
  for (const { name, value, unit } of await benchHistory(blocks, blobs))
    process.stdout.write(`${name}: ${value.toFixed(2)} ${unit}\n`);
}
