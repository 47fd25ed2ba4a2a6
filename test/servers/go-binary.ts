import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';

const MODULE = fileURLToPath(new URL('./go', import.meta.url));

/** What `go/go.mod` pins, by the name of the binary. */
export const PACKAGES = {
  ipfs: 'github.com/ipfs/kubo/cmd/ipfs',
  versitygw: 'github.com/versity/versitygw/cmd/versitygw',
} as const;
export type BinaryName = keyof typeof PACKAGES;

/** Between two looks whether the process that builds is done; SQLite's locks have no event across processes. */
const LOCK_POLL_MS = 250;

/** Outside git, and a folder for each set of checksums, so that another version never runs by accident. */
export function binaryFolder(): string {
  const sums = createHash('sha256')
    .update(readFileSync(join(MODULE, 'go.sum')))
    .digest('hex');
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'holdfast-test-servers', sums.slice(0, 16));
}

/** Path of the binary; built at the first call on a machine (minutes), then found. Safe from several processes. */
export async function goBinary(name: BinaryName): Promise<string> {
  const path = join(binaryFolder(), name);
  if (existsSync(path)) return path;
  mkdirSync(binaryFolder(), { recursive: true });
  const release = await lock(join(binaryFolder(), 'building.sqlite'));
  try {
    if (!existsSync(path)) await build(name, path);
  } finally {
    release();
  }
  return path;
}

async function build(name: BinaryName, path: string): Promise<void> {
  const unfinished = `${path}.${process.pid}`;
  await run('go', ['build', '-trimpath', '-mod=readonly', '-o', unfinished, PACKAGES[name]]);
  await rename(unfinished, path);
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { cwd: MODULE, env: { ...process.env, CGO_ENABLED: '0' } });
  let output = '';
  const keep = (chunk: unknown) => {
    output = `${output}${String(chunk)}`.slice(-4_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const exit = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (exit !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${exit}:\n${output}`);
}

/** A lock that the operating system drops with its process: a killed build leaves nothing to clean up. */
async function lock(file: string): Promise<() => void> {
  for (;;) {
    const database = new Database(file, { timeout: 0 });
    try {
      database.exec('BEGIN EXCLUSIVE');
      return () => database.close();
    } catch {
      database.close();
      await pause(LOCK_POLL_MS);
    }
  }
}
