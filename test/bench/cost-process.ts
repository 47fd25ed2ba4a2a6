/**
 * The assembled daemon in a process of its own, so that what it costs is its own. Word: what to do, as JSON. Prints one JSON line:
 * what archiving all blobs has cost, and what the daemon costs afterwards while nothing happens.
 */
import { readFileSync } from 'node:fs';
import { request } from 'undici';
import { z } from 'zod';
import { startDaemon } from '../../src/app/daemon.ts';
import { collectWhenIdle } from '../../src/cli/idle-memory.ts';
import { weighOutsideMemory } from '../../src/cli/outside-memory.ts';
import { loadConfig } from '../../src/config/index.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { pause, pollUntil } from '../../src/core/time/run-loop.ts';
import { cpuSeconds } from './cpu-time.ts';

const told = z.object({ env: z.record(z.string(), z.string()), count: z.number(), idleSeconds: z.number() });
const NEVER = new AbortController().signal;
const LOOK_MS = 50;
/**
 * After the last blob: timers, checkpoints, and the one collection of all garbage that follows a start (`collectWhenIdle`). That
 * collection comes by the second look, 20 s after the start; it is no part of what each further idle minute costs.
 */
const SETTLING_MS = 30_000;

weighOutsideMemory();
collectWhenIdle();
const { env, count, idleSeconds } = told.parse(JSON.parse(process.argv[2] ?? ''));
const { values: settings } = loadConfig({ env, flags: {}, file: undefined, cwd: process.cwd() });
const log = createLogger('warn', process.stderr);

/** Bytes that this process made the kernel write to disks, so far. */
function writtenBytes(): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? Number.NaN);
}

/** Memory that is this process's own; what it has mapped of files is shared with the page cache, and given up first. */
function privateBytes(): number {
  return Number(/^Anonymous:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))?.[1]) * 1_024;
}

/** Sums of a metric over its other labels, by one label. */
async function metric(url: string, name: string, label: string): Promise<Record<string, number>> {
  const { body } = await request(`${url}/metrics`);
  const sums: Record<string, number> = {};
  for (const line of (await body.text()).split('\n')) {
    if (!line.startsWith(`${name}{`)) continue;
    const key = new RegExp(`${label}="([^"]*)"`).exec(line)?.[1] ?? '';
    sums[key] = (sums[key] ?? 0) + Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return sums;
}

const daemon = await startDaemon({ settings, version: 'bench', emulated: false, log });
const { archive, url } = daemon;
const callsOf = () => Object.values(archive.status().node.calls).reduce((sum, calls) => sum + calls, 0);

const before = { cpuSeconds: cpuSeconds(), writtenBytes: writtenBytes() };
const begunMs = performance.now();
const isStored = () => (archive.status().content.stored < count ? null : true);
await pollUntil(isStored, () => LOOK_MS, NEVER);
const seconds = (performance.now() - begunMs) / 1_000;
const work = { cpuSeconds: cpuSeconds() - before.cpuSeconds, writtenBytes: writtenBytes() - before.writtenBytes };
const operations = await metric(url, 'holdfast_backend_operation_duration_seconds_count', 'operation');
const sent = await metric(url, 'holdfast_backend_bytes_total', 'direction');
const storedBytes = archive.status().content.storedBytes;
const peakMemoryBytes = process.resourceUsage().maxRSS * 1_024;

if (idleSeconds > 0) await pause(SETTLING_MS, NEVER);
const idle = { cpuSeconds: cpuSeconds(), calls: callsOf() };
await pause(idleSeconds * 1_000, NEVER);
process.stdout.write(
  `${JSON.stringify({
    seconds,
    ...work,
    storedBytes,
    sentBytes: sent['sent'] ?? 0,
    operations,
    peakMemoryBytes,
    idle: {
      cpuSeconds: cpuSeconds() - idle.cpuSeconds,
      calls: callsOf() - idle.calls,
      memoryBytes: process.memoryUsage.rss(),
      privateBytes: privateBytes(),
    },
  })}\n`,
);
await daemon.stop();
process.exit();
