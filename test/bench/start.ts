import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
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
const HEALTH = fileURLToPath(new URL('../../src/cli/health.ts', import.meta.url));
/** Linux alone tells which memory is the process's own. */
const MEASURE = `data:text/javascript,${encodeURIComponent(
  'import{existsSync,readFileSync,writeSync}from"node:fs";const s="/proc/self/smaps_rollup";process.on("exit",()=>writeSync(3,JSON.stringify({...process.resourceUsage(),anonymous:existsSync(s)?Number(/^Anonymous:\\s+(\\d+)/m.exec(readFileSync(s,"utf8"))?.[1]):0})))',
)}`;
const usage = z.object({
  userCPUTime: z.number(),
  systemCPUTime: z.number(),
  maxRSS: z.number(),
  anonymous: z.number(),
});

interface Promised {
  readonly seconds?: number;
  readonly mebibytes?: number;
  readonly ownMebibytes?: number;
}

/** The health check runs beside a daemon, whose Node it shares: its own memory is what a container counts on top. */
const PROMISED: Readonly<Record<string, Promised>> = {
  '--version': { seconds: 0.15, mebibytes: 60 },
  '--help': { seconds: 0.15, mebibytes: 60 },
  'health check': { seconds: 0.1, ownMebibytes: 40 },
};

interface Cost {
  readonly cpuSeconds: number;
  readonly mebibytes: number;
  /** The part of them that is no pages of files. */
  readonly ownMebibytes: number;
}

async function costOf(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Cost> {
  const child = spawn(process.execPath, ['--import', MEASURE, ...words], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const told = child.stdio[3];
  if (told === undefined || told === null || !('readable' in told)) throw new Error('no channel');
  const [measured] = await Promise.all([text(told), once(child, 'close')]);
  const { userCPUTime, systemCPUTime, maxRSS, anonymous } = usage.parse(JSON.parse(measured));
  const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6;
  return { cpuSeconds, mebibytes: maxRSS / 1_024, ownMebibytes: anonymous / 1_024 };
}

export async function benchStart(roundCount: number): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  const healthy = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  try {
    await once(healthy, 'listening');
    const address = z.object({ port: z.number() }).parse(healthy.address());
    // A daemon announces itself in this file.
    await writeFile(join(folder, 'daemon.json'), JSON.stringify({ url: `http://127.0.0.1:${address.port}` }));
    return figuresOf(
      await leastCosts(roundCount, { NODE_COMPILE_CACHE: join(folder, 'compiled'), HOLDFAST_DATA_DIR: folder }),
    );
  } finally {
    healthy.close();
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
    'health check': [HEALTH],
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
        ownMebibytes: Math.min(cost.ownMebibytes, before?.ownMebibytes ?? Number.POSITIVE_INFINITY),
      });
    }
  }
  return least;
}

function figuresOf(least: ReadonlyMap<string, Cost>): Figure[] {
  const bare = least.get('node -e 0');
  if (bare === undefined) throw new TypeError('nothing was measured');
  return [...least].flatMap(([name, { cpuSeconds, mebibytes, ownMebibytes }]) => {
    const promised: Promised = PROMISED[name] ?? {};
    return [
      {
        name: `start: ${name}, processor time`,
        value: cpuSeconds,
        unit: 's',
        ...(promised.seconds === undefined ? {} : { most: promised.seconds }),
      },
      { name: `start: ${name}, processor time to that of node -e 0`, value: cpuSeconds / bare.cpuSeconds, unit: '×' },
      {
        name: `start: ${name}, memory`,
        value: mebibytes,
        unit: 'MiB',
        ...(promised.mebibytes === undefined ? {} : { most: promised.mebibytes }),
      },
      {
        name: '  of it anonymous: the rest is shared pages of files',
        value: ownMebibytes,
        unit: 'MiB',
        ...(promised.ownMebibytes === undefined ? {} : { most: promised.ownMebibytes }),
      },
    ];
  });
}
