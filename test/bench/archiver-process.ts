/**
 * The assembled daemon in a process of its own, so that its memory and CPU are its own. Words: node address, data
 * folder, number of blobs. Prints one JSON line when all of them are spooled, and stops.
 */

import { startDaemon } from '../../src/app/daemon.ts';
import { weighOutsideMemory } from '../../src/cli/outside-memory.ts';
import { loadConfig } from '../../src/config/index.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { cpuSeconds } from './cpu-time.ts';

weighOutsideMemory();
const [nodeUrl = '', dataDir = '', count = '0'] = process.argv.slice(2);
const { values } = loadConfig({
  env: {},
  flags: { '--node-url': nodeUrl, '--data-dir': dataDir, '--http-port': '0' },
  file: undefined,
  cwd: process.cwd(),
});
const log = createLogger('warn', process.stderr);
const daemon = await startDaemon({ settings: values, version: 'bench', emulated: false, log });
const { activity } = daemon.archive;

let listedAt: number | null = null;
let cpuBefore = 0;
let spooled = 0;
let bytes = 0;
activity.on('listed', () => {
  if (listedAt === null) cpuBefore = cpuSeconds();
  listedAt ??= performance.now();
});
await new Promise<void>((done) => {
  activity.on('spooled', ({ sizeBytes }) => {
    spooled += 1;
    bytes += sizeBytes;
    if (spooled === Number(count)) done();
  });
});
const seconds = (performance.now() - (listedAt ?? 0)) / 1_000;
const usage = process.resourceUsage();
const { calls } = daemon.archive.status().node;
process.stdout.write(
  `${JSON.stringify({
    seconds,
    bytes,
    blobs: spooled,
    peakMemoryBytes: usage.maxRSS * 1_024,
    cpuSeconds: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    listedCpuSeconds: cpuSeconds() - cpuBefore,
    calls,
  })}\n`,
);
await daemon.stop();
process.exit();
