/**
 * The archive's own parts in a process of their own, so that their memory and CPU are their own. Told by one line of
 * JSON: `fill` spools blobs, as a daemon does that fetched them, and brings them to the backend; `check` compares the
 * listing of a prepared folder; `rebuild` makes a catalog of what the backend holds. Configured by the environment. Prints one JSON line when it is done.
 */
import { z } from 'zod';
import { openUpkeep } from '../../src/app/daemon.ts';
import { weighOutsideMemory } from '../../src/cli/outside-memory.ts';
import { loadConfig } from '../../src/config/index.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { forgetBytes } from '../../src/verify/verified-blob.ts';
import { oneBlobMaker, timed } from './by-turns.ts';
import { cpuSeconds } from './cpu-time.ts';
import { openReplication } from './open-replication.ts';

weighOutsideMemory();
const told = z.discriminatedUnion('work', [
  z.object({ work: z.literal('fill'), sizeBytes: z.int(), count: z.int() }),
  z.object({ work: z.literal('check') }),
  z.object({ work: z.literal('rebuild') }),
]);
const asked = told.parse(JSON.parse(process.argv[2] ?? '{}'));
const { values: settings } = loadConfig({ env: process.env, flags: {}, file: undefined, cwd: process.cwd() });
const log = createLogger('error', process.stderr);
const { signal } = new AbortController();
// The hashing thread keeps no process alive.
const alive = setInterval(() => {}, 60_000);

async function fill({ sizeBytes, count }: { readonly sizeBytes: number; readonly count: number }) {
  const archive = await openReplication(settings, log);
  await archive.admit(signal);
  const make = await oneBlobMaker();
  const numbers = Array.from({ length: count }, (_, index) => index);
  await timed(numbers, sizeBytes > 65_536 ? 4 : 64, async () => {
    const blob = make(new Uint8Array(sizeBytes));
    await archive.spool(blob, signal);
    forgetBytes(blob);
  });
  const cpuBefore = cpuSeconds();
  const begun = performance.now();
  await archive.drain(signal);
  const seconds = (performance.now() - begun) / 1_000;
  const left = count - archive.stored();
  return { seconds, left, cpuSeconds: cpuSeconds() - cpuBefore, close: archive.close };
}

async function check() {
  const { upkeep, close } = await openUpkeep({ settings, version: 'bench', emulated: false, log });
  await upkeep.admit(signal);
  const cpuBefore = cpuSeconds();
  const begun = performance.now();
  const { leftCount } = await upkeep.check({ subset: null, backend: null, repair: false }, () => {}, signal);
  const seconds = (performance.now() - begun) / 1_000;
  return { seconds, left: leftCount, cpuSeconds: cpuSeconds() - cpuBefore, close };
}

async function rebuild() {
  const { upkeep, close } = await openUpkeep({ settings, version: 'bench', emulated: false, log });
  const cpuBefore = cpuSeconds();
  const begun = performance.now();
  const { backends, faults } = await upkeep.rebuild(null, () => {}, signal);
  const seconds = (performance.now() - begun) / 1_000;
  for (const fault of Object.values(faults)) throw new Error(fault);
  const counted = Object.values(backends).reduce((sum, { adopted }) => sum + adopted, 0);
  return { seconds, counted, cpuSeconds: cpuSeconds() - cpuBefore, close };
}

const WORKS = { check, rebuild } as const;
const { close, ...outcome } = await (asked.work === 'fill' ? fill(asked) : WORKS[asked.work]());
const { maxRSS } = process.resourceUsage();
process.stdout.write(`${JSON.stringify({ ...outcome, peakMemoryBytes: maxRSS * 1_024 })}\n`);
await close();
clearInterval(alive);
process.disconnect?.();
