/**
 * The assembled daemon in a process of its own, so that its memory is its own. Words: node address, data folder, the height that
 * counts. Prints one JSON line when the walk is there, and stops.
 */

import { startDaemon } from '../../src/app/daemon.ts';
import { loadConfig } from '../../src/config/index.ts';
import { createLogger } from '../../src/core/observability/logger.ts';

const [url = '', dataDir = '', height = '0'] = process.argv.slice(2);
const env = {
  HOLDFAST_DATA_DIR: dataDir,
  HOLDFAST_NODE_URL: url,
  HOLDFAST_HTTP_PORT: '0',
  HOLDFAST_START_HEIGHT: '1',
};
const { values: settings } = loadConfig({ env, flags: {}, file: undefined, cwd: dataDir });
const log = createLogger('silent', process.stdout);
const daemon = await startDaemon({ settings, version: 'bench', emulated: false, log });
let first: { readonly height: number; readonly atMs: number } | null = null;
const walked = await new Promise<{ blocks: number; seconds: number }>((resolve) => {
  daemon.archive.activity.on('walked', (at) => {
    const nowMs = performance.now();
    first ??= { height: at.height, atMs: nowMs };
    if (at.height >= Number(height))
      resolve({ blocks: at.height - first.height, seconds: (nowMs - first.atMs) / 1_000 });
  });
});
const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6;
process.stdout.write(`${JSON.stringify({ ...walked, cpuSeconds, peakMemoryBytes: maxRSS * 1_024 })}\n`);
await daemon.stop();
process.exit();
