/**
 * Bytes over HTTP, side by side with nginx on the same bytes: `npm run bench -- http`. Load by wrk over 64 connections,
 * both by turns. Without wrk or nginx (Debian has both) only `check_vh` is measured, and that is said.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createDevnode, type Devnode } from '../../../src/devnode/index.ts';
import { NODE_FLAGS } from '../../../src/node-flags.mjs';
import type { Figure } from '../figure.ts';
import { benchCheckVh } from './check-vh.ts';
import { startNginx } from './nginx.ts';
import { processFigure } from './process-figure.ts';
import { benchSlowReaders } from './slow-readers.ts';
import { type Load, writePaths, wrk } from './wrk.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const LARGE = { name: '2 MiB', sizeBytes: 2_097_152, count: 24 };
const SMALL = { name: '1 KiB', sizeBytes: 1_024, count: 2_000 };
const ROUNDS = 3;
const SECONDS = 3;
const CPU = 'process_cpu_seconds_total';

interface Daemon {
  readonly url: string;
  stop(): Promise<void>;
}

/** The assembled daemon as a user starts it. */
async function startDaemon(node: Devnode, dataDir: string, cacheBytes: number): Promise<Daemon> {
  const child = spawn(process.execPath, [...NODE_FLAGS, MAIN, 'run'], {
    env: {
      ...process.env,
      HOLDFAST_BENCH_ROWS: undefined,
      HOLDFAST_DATA_DIR: dataDir,
      HOLDFAST_NODE_URL: node.url,
      HOLDFAST_NODE_USER: node.username,
      HOLDFAST_NODE_PASSWORD: node.password,
      HOLDFAST_HTTP_PORT: '0',
      HOLDFAST_HTTP_RATE_PER_SECOND: '0',
      HOLDFAST_HTTP_CONCURRENT_PER_CLIENT: '0',
      HOLDFAST_HTTP_CACHE_BYTES: String(cacheBytes),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /"url":"([^"]+)"/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    return {
      url,
      async stop() {
        child.kill('SIGTERM');
        await ended;
      },
    };
  }
  throw new Error('The daemon ended before it listened.');
}

async function untilServed(url: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    for (const end = Date.now() + 60_000; ; ) {
      const answer = await fetch(`${url}${path}`);
      await answer.arrayBuffer();
      if (answer.status === 200) break;
      if (Date.now() > end) throw new Error(`${path} is not served: ${answer.status}`);
    }
  }
}

interface Compared {
  readonly ratio: number;
  readonly ours: Load;
  readonly theirs: Load;
  /** The archive's processor time for one request: says something also while the machine is busy with other things. */
  readonly cpuMicroseconds: number;
}

/** Both by turns, so that what else the machine does hits both; the median of the ratios. */
async function compared(ours: string, theirs: string, script: string): Promise<Compared> {
  await wrk(ours, script, 1);
  const rounds: Compared[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await processFigure(ours, CPU);
    const mine = await wrk(ours, script, SECONDS);
    const cpuMicroseconds = (1e6 * ((await processFigure(ours, CPU)) - before)) / mine.requests;
    const its = await wrk(theirs, script, SECONDS);
    rounds.push({ ratio: mine.perSecond / its.perSecond, ours: mine, theirs: its, cpuMicroseconds });
  }
  const [middle] = rounds.toSorted((a, b) => a.ratio - b.ratio).slice(ROUNDS >> 1);
  if (middle === undefined) throw new Error('There were rounds.');
  return middle;
}

function figures(what: string, { ratio, ours, theirs, cpuMicroseconds }: Compared, least: number): Figure[] {
  return [
    { name: `${what}: requests by nginx's`, value: ratio, unit: '×', least },
    { name: '  ours', value: ours.perSecond, unit: '/s' },
    { name: '  processor time for one of ours', value: cpuMicroseconds, unit: 'µs' },
    { name: '  p99 at 64 connections', value: ours.p99Ms, unit: 'ms' },
    { name: '  p99 of nginx', value: theirs.p99Ms, unit: 'ms' },
  ];
}

export async function benchHttp(): Promise<Figure[]> {
  return [...(isThere('wrk') && isThere('nginx') ? await benchBytes() : []), ...benchCheckVh()];
}

async function benchBytes(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  // nginx lets its worker read as another user.
  chmodSync(folder, 0o755);
  const served = join(folder, 'nginx', 'v1', 'blobs');
  mkdirSync(served, { recursive: true });
  const node = await createDevnode({ port: 0 });
  const script = (name: string) => join(folder, `${name.replace(' ', '-')}.lua`);
  const nginx = await startNginx(join(folder, 'nginx'));
  try {
    const paths = new Map<string, string[]>();
    for (const { name, sizeBytes, count } of [LARGE, SMALL]) {
      const all = Array.from({ length: count }, (_, index) => {
        const label = `bench ${name} ${index}`;
        const { versionHash } = node.submitLabelled({ label, sizeBytes, hashType: 'keccak256' });
        if (index % 30 === 29) node.mine(1);
        return `/v1/blobs/${versionHash}`;
      });
      node.mine(1);
      paths.set(name, all);
      writePaths(script(name), all);
    }
    const dataDir = join(folder, 'data');
    const found: Figure[] = [];
    for (const [where, cacheBytes, leastLarge, leastSmall] of [
      // From files nginx copies nothing to its own memory (sendfile), and Node cannot do the same: every byte is copied once more.
      ['from files verified once', 0, 0.5, 0.05],
      ['from memory', 64 * 1_048_576, 1, 0.05],
    ] as const) {
      const daemon = await startDaemon(node, dataDir, cacheBytes);
      try {
        for (const { name } of [LARGE, SMALL]) {
          const all = paths.get(name) ?? [];
          // Three times: what is asked for often is kept in memory, where there is some.
          for (let round = 0; round < 3; round += 1) await untilServed(daemon.url, all);
          if (cacheBytes === 0) await copyTo(daemon.url, all, join(folder, 'nginx'));
          const least = name === LARGE.name ? leastLarge : leastSmall;
          found.push(...figures(`${name} ${where}`, await compared(daemon.url, nginx.url, script(name)), least));
        }
        if (cacheBytes > 0) found.push(...(await benchSlowReaders(daemon.url, paths.get(LARGE.name) ?? [])));
      } finally {
        await daemon.stop();
      }
    }
    return found;
  } finally {
    await nginx.stop();
    await node.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same bytes under the same paths. */
async function copyTo(url: string, paths: readonly string[], root: string): Promise<void> {
  for (const path of paths) {
    writeFileSync(join(root, path), Buffer.from(await (await fetch(`${url}${path}`)).arrayBuffer()));
  }
}

function isThere(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(`skipped: HTTP beside nginx, for there is no ${program} (apt-get install ${program})\n`);
    return false;
  }
}
