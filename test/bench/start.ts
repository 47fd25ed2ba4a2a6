import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Figure } from './figure.ts';

/**
 * Measures what it costs to start a command that asks no server, against the least that this Node costs, `node -e 0`, in the same
 * run. The least of all rounds counts: whatever else runs on the machine only adds to it.
 */

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const MEASURE = `data:text/javascript,${encodeURIComponent(
  'import{writeSync}from"node:fs";process.on("exit",()=>writeSync(3,JSON.stringify(process.resourceUsage())))',
)}`;
const usage = z.object({ userCPUTime: z.number(), systemCPUTime: z.number(), maxRSS: z.number() });

interface Cost {
  readonly cpuSeconds: number;
  readonly mebibytes: number;
}

async function costOf(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Cost> {
  const child = spawn(process.execPath, ['--import', MEASURE, ...words], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const told = child.stdio[3];
  if (told === undefined || told === null || !('readable' in told)) throw new Error('no channel');
  const [measured] = await Promise.all([text(told), once(child, 'close')]);
  const { userCPUTime, systemCPUTime, maxRSS } = usage.parse(JSON.parse(measured));
  return { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, mebibytes: maxRSS / 1_024 };
}

export async function benchStart(roundCount: number): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  try {
    return figuresOf(await leastCosts(roundCount, { NODE_COMPILE_CACHE: folder }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function leastCosts(
  roundCount: number,
  env: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, Cost>> {
  const commands = {
    'node -e 0': ['-e', '0'],
    '--version': [MAIN, '--version'],
    '--help': [MAIN, '--help'],
    'status --help': [MAIN, 'status', '--help'],
  };
  const least = new Map<string, Cost>();
  // One round more: the first compiles, as the launcher's first start does.
  for (let round = 0; round <= roundCount; round++) {
    for (const [name, words] of Object.entries(commands)) {
      const cost = await costOf(words, env);
      const before = least.get(name);
      if (round === 0) continue;
      least.set(name, {
        cpuSeconds: Math.min(cost.cpuSeconds, before?.cpuSeconds ?? Number.POSITIVE_INFINITY),
        mebibytes: Math.min(cost.mebibytes, before?.mebibytes ?? Number.POSITIVE_INFINITY),
      });
    }
  }
  return least;
}

function figuresOf(least: ReadonlyMap<string, Cost>): Figure[] {
  const bare = least.get('node -e 0');
  if (bare === undefined) throw new TypeError('nothing was measured');
  return [...least].flatMap(([name, { cpuSeconds, mebibytes }]) => [
    {
      name: `start: ${name}, processor time`,
      value: cpuSeconds,
      unit: 's',
      ...(/^--/.test(name) ? { most: 0.15 } : {}),
    },
    { name: `start: ${name}, processor time to that of node -e 0`, value: cpuSeconds / bare.cpuSeconds, unit: '×' },
    { name: `start: ${name}, memory`, value: mebibytes, unit: 'MiB', ...(/^--/.test(name) ? { most: 60 } : {}) },
  ]);
}
