/**
 * The measurement of `npm run bench -- attack` itself, in a process of its own. A well-behaved client measures the daemon quiet and
 * attacked, and nginx beside it. It does so under 384 and 512 MiB where a memory control group can be made. Memory afterwards is compared
 * with that of a daemon that has served well-behaved clients on all routes for a while. Prints the figures as one JSON line.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { NODE_FLAGS } from '../../../src/node-flags.mjs';
import { allocatorEnvironment } from '../../allocator.ts';
import { MemoryGroup } from '../../ops/memory-group.ts';
import type { Figure } from '../figure.ts';
import { startAndReadLine, stopProcess } from '../process-line.ts';
import { BehavedClient, type Observed } from './behaved-client.ts';
import { benchCeiling } from './ceiling.ts';
import { serveOrdinarily } from './ordinary-service.ts';
import { refusedPlaces } from './places.ts';

const MIB = 1_048_576;
const LIMITS_MIB = [384, 512];
const ORDINARY_SECONDS = 15;
const QUIET_SECONDS = 10;
const ATTACK_SECONDS = 30;
const START_MS = 60_000;
/** Time for the daemon to be as it was. */
const RECOVERY_MS = 30_000;
/** Memory afterwards, as a part of that before. */
const MEMORY_AFTER = 1.1;
const LOOK_MS = 250;
/** Connections of the daemon to its node come and go. */
const SPARE_SOCKETS = 4;
const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

const started = z.object({ url: z.string(), large: z.array(z.string()), small: z.array(z.string()) });
type Started = z.infer<typeof started>;
const attacked = z.object({
  answered: z.record(z.string(), z.record(z.string(), z.number())),
  pipelined: z.object({
    connections: z.number(),
    answers: z.number(),
    outOfOrder: z.number(),
    smuggled: z.number(),
  }),
});
type Attacked = z.infer<typeof attacked>;

async function measureAll(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const limitMib of LIMITS_MIB) {
    const group = MemoryGroup.make(`holdfast-bench-${process.pid}-${limitMib}`, limitMib * MIB);
    if (group === null) {
      process.stderr.write('skipped: limits of memory, for this user may not make a memory control group\n');
      return [...(await attackWithin(null)), ...(await benchCeiling(ATTACK_SECONDS))];
    }
    try {
      figures.push(...(await attackWithin({ group, limitMib })));
    } finally {
      group.remove();
    }
  }
  return [...figures, ...(await benchCeiling(ATTACK_SECONDS))];
}

interface Limit {
  readonly group: MemoryGroup;
  readonly limitMib: number;
}

async function attackWithin(limit: Limit | null): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const devnode = await startAndReadLine('attack/attack-node.ts', []);
  const node = started.parse(JSON.parse(devnode.line));
  const daemon = startDaemon(limit, node.url, folder);
  const ended = once(daemon, 'exit');
  try {
    return await measure(limit, daemon, node);
  } finally {
    daemon.kill('SIGKILL');
    await ended;
    await stopProcess(devnode);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The daemon as the image starts it, with a proxy that it trusts at one of the addresses of the attackers. */
function startDaemon(limit: Limit | null, nodeUrl: string, dataDir: string): ChildProcess {
  const command = [process.execPath, ...NODE_FLAGS, MAIN, 'run'];
  const [program = '', ...words] = limit === null ? command : limit.group.around(command);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'));
  const env = {
    ...Object.fromEntries(inherited),
    ...allocatorEnvironment(),
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_NODE_URL: nodeUrl,
    HOLDFAST_NODE_POLL_MS: '500',
    HOLDFAST_HTTP_PORT: '0',
    HOLDFAST_HTTP_TRUST_PROXY: '127.0.0.50',
    HOLDFAST_LOG_LEVEL: 'info',
  };
  return spawn(program, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
}

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('The daemon has no output.');
  for await (const line of createInterface({ input: stdout })) {
    const url = /"url":"([^"]+)"/.exec(line)?.[1];
    if (url === undefined) continue;
    stdout.resume();
    return url;
  }
  throw new Error('The daemon ended before it listened.');
}

async function measure(limit: Limit | null, daemon: ChildProcess, { large, small }: Started): Promise<Figure[]> {
  const url = await addressOf(daemon);
  const pid = daemon.pid ?? 0;
  const name = limit === null ? 'attack' : `attack at ${limit.limitMib} MiB`;
  const client = new BehavedClient(url, large, small);
  const [anyLarge = '', anySmall = ''] = [large[0], small[0]];
  try {
    const isTaken = async () => (await client.content()).stored >= large.length + small.length;
    if (!(await within(START_MS, isTaken))) throw new Error('The daemon did not take the first blobs over.');
    await serveOrdinarily(url, anyLarge, anySmall, ORDINARY_SECONDS);
    const quiet = await client.observe(QUIET_SECONDS);
    const before = { residentMib: residentMib(pid), sockets: socketsOf(pid) };
    const words = [new URL(url).port, String(ATTACK_SECONDS), anyLarge, anySmall];
    const attackers = await startAndReadLine('attack/attackers.ts', words);
    const told = once(attackers.child, 'message');
    // The attackers stop a moment after the client has seen its time.
    const under = await client.observe(ATTACK_SECONDS - 1);
    const { answered, pipelined } = attacked.parse((await told)[0]);
    await stopProcess(attackers);
    for (const [attack, statuses] of Object.entries(answered)) {
      process.stderr.write(`${name}: ${attack}: ${JSON.stringify(statuses)}\n`);
    }
    const begunMs = performance.now();
    await within(RECOVERY_MS, () => socketsOf(pid) <= before.sockets + SPARE_SOCKETS);
    const freeSeconds = (performance.now() - begunMs) / 1_000;
    const refused = await refusedPlaces(url, anyLarge);
    // The memory is compared after the same work as before the attacks.
    const after = await client.observe(QUIET_SECONDS);
    await within(RECOVERY_MS, () => residentMib(pid) <= before.residentMib * MEMORY_AFTER);
    return [
      ...speedFigures(name, quiet, under),
      {
        name: '  most resident memory',
        value: residentMib(pid, 'VmHWM'),
        unit: 'MiB',
        ...(limit === null ? {} : { most: limit.limitMib }),
      },
      { name: '  kills by the kernel', value: limit?.group.kills ?? 0, unit: '', most: 0 },
      ...orderFigures(pipelined),
      { name: '  afterwards: connections left', value: socketsOf(pid), unit: '', most: before.sockets + SPARE_SOCKETS },
      { name: '  afterwards: closed after', value: freeSeconds, unit: 's' },
      { name: '  afterwards: places and memory for answers refused', value: refused, unit: '', most: 0 },
      { name: '  memory, quiet', value: before.residentMib, unit: 'MiB' },
      {
        name: '  afterwards: memory by the quiet one',
        value: residentMib(pid) / before.residentMib,
        unit: '×',
        most: MEMORY_AFTER,
      },
      { name: '  afterwards: answers refused', value: after.refused.length, unit: '', most: 0 },
      {
        name: '  afterwards: 2 MiB reads by the quiet rate',
        value: after.readBytesPerSecond / quiet.readBytesPerSecond,
        unit: '×',
      },
    ];
  } finally {
    await client.close();
  }
}

function speedFigures(name: string, quiet: Observed, under: Observed): Figure[] {
  for (const refusal of new Set(under.refused))
    process.stderr.write(`  refused to the well-behaved client: ${refusal}\n`);
  const kinds = ['healthz', 'check_vh', '1 KiB blob'] as const;
  return [
    ...kinds.flatMap((kind) => [
      { name: `${name}: p99 of ${kind}, quiet`, value: quiet.p99Ms[kind], unit: 'ms' },
      { name: `${name}: p99 of ${kind}, attacked`, value: under.p99Ms[kind], unit: 'ms', most: 250 },
    ]),
    { name: '  questions asked meanwhile', value: under.questions, unit: '' },
    { name: '  2 MiB reads, quiet', value: quiet.readBytesPerSecond / MIB, unit: 'MiB/s' },
    {
      name: '  2 MiB reads by the quiet rate',
      value: under.readBytesPerSecond / quiet.readBytesPerSecond,
      unit: '×',
      least: 0.5,
    },
    { name: '  answers refused', value: under.refused.length, unit: '', most: 0 },
    { name: '  ingest, quiet', value: quiet.ingestPerSecond, unit: 'blobs/s' },
    { name: '  ingest by the quiet one', value: under.ingestPerSecond / quiet.ingestPerSecond, unit: '×', least: 0.9 },
  ];
}

function orderFigures({ connections, answers, outOfOrder, smuggled }: Attacked['pipelined']): Figure[] {
  return [
    { name: `  pipelined answers on ${connections} connections`, value: answers, unit: '', least: 1 },
    { name: '  answers out of order', value: outOfOrder, unit: '', most: 0 },
    { name: '  bodies that were run as requests', value: smuggled, unit: '', most: 0 },
  ];
}

async function within(milliseconds: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const endMs = performance.now() + milliseconds; performance.now() < endMs; await pause(LOOK_MS)) {
    if (await isSo()) return true;
  }
  return false;
}

function residentMib(pid: number, line: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const kib = new RegExp(`${line}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1_024;
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(join(folder, name)).startsWith('socket:');
    } catch {
      // The connection was closed between the two.
      return false;
    }
  }).length;
}

process.stdout.write(`${JSON.stringify(await measureAll())}\n`);
