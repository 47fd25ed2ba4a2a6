import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { mustRun } from '../servers/command.ts';
import type { Figure } from './figure.ts';

/**
 * The first minute of a newcomer, typed from the README into a fresh clone of the last commit: an empty home and an empty npm
 * cache. It prints each command and line with the seconds since the first command. What npm fetches comes over the network.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAX_SECONDS_TO_FIRST_BLOB = 30;

export async function benchFirstMinute(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-first-minute-'));
  const clone = join(folder, 'holdfast');
  try {
    await mkdir(join(folder, 'home'));
    await mustRun('git', ['clone', '--quiet', ROOT, clone]);
    return await typed(clone, environmentOf(folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function environmentOf(folder: string): Record<string, string> {
  const inherited = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || /^(HOLDFAST_|npm_|NODE_)/i.test(name) ? [] : [[name, value] as const],
  );
  return {
    ...Object.fromEntries(inherited),
    HOME: join(folder, 'home'),
    npm_config_cache: join(folder, 'npm'),
    // The registry that this machine uses, if it has one of its own.
    npm_config_userconfig: join(homedir(), '.npmrc'),
    // Another archive may have the port already.
    HOLDFAST_HTTP_PORT: '0',
  };
}

async function typed(cwd: string, env: Readonly<Record<string, string>>): Promise<Figure[]> {
  const begun = performance.now();
  const seconds = () => (performance.now() - begun) / 1_000;
  const show = (line: string) => process.stdout.write(`${seconds().toFixed(1).padStart(6)} s  ${line}\n`);

  show('$ npm start');
  // A group of its own: Ctrl-C reaches npm and what it started.
  const daemon = spawn('npm', ['start'], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(daemon, 'exit');
  const said = new PassThrough();
  daemon.stdout.pipe(said, { end: false });
  daemon.stderr.pipe(said, { end: false });
  void exited.then(() => said.end());
  const lines = createInterface({ input: said })[Symbol.asyncIterator]();
  const until = async (pattern: RegExp): Promise<number> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`npm start ended before it said ${pattern}.`);
      show(`  ${value}`);
      if (pattern.test(value)) return seconds();
    }
  };
  const run = async (...words: readonly string[]): Promise<{ output: string; took: number }> => {
    const before = seconds();
    show(`$ npm run -s holdfast -- ${words.join(' ')}`);
    const output = await mustRun('npm', ['run', '-s', 'holdfast', '--', ...words], { cwd, env });
    for (const line of output.trimEnd().split('\n')) show(`  ${line}`);
    return { output, took: seconds() - before };
  };

  try {
    const listening = await until(/listens at \S+/);
    const archived = await until(/^archived {2}[0-9a-f]{64}/);
    const { took } = await run('status');
    const { output } = await run('submit', 'LICENSE', '--wait', 'mined');
    const [versionHash = ''] = /[0-9a-f]{64}/.exec(output) ?? [];
    await run('get', versionHash, '-o', 'blob.bin');
    await mustRun('cmp', ['LICENSE', 'blob.bin'], { cwd });
    return [
      { name: 'npm start in a fresh clone: it listens', value: listening, unit: 's' },
      { name: '… and the first blob is archived', value: archived, unit: 's', most: MAX_SECONDS_TO_FIRST_BLOB },
      { name: 'holdfast status beside it', value: took, unit: 's' },
      { name: 'a blob submitted, archived and got back', value: seconds(), unit: 's' },
    ];
  } finally {
    if (daemon.pid !== undefined && daemon.exitCode === null) process.kill(-daemon.pid, 'SIGINT');
    await exited;
  }
}
