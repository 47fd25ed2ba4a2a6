import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildingLock } from './building-lock.ts';
import { mustRun } from './command.ts';

interface Pinned {
  /** The module beside this file whose go.mod and go.sum pin it. */
  readonly module: string;
  readonly package: string;
}

/** Modules that are pinned by checksum, by the name of the binary. Helm has a module of its own: not every run needs it. */
export const PINNED = {
  ipfs: { module: 'go', package: 'github.com/ipfs/kubo/cmd/ipfs' },
  versitygw: { module: 'go', package: 'github.com/versity/versitygw/cmd/versitygw' },
  helm: { module: 'helm', package: 'helm.sh/helm/v3/cmd/helm' },
} as const satisfies Readonly<Record<string, Pinned>>;
export type BinaryName = keyof typeof PINNED;

function moduleFolder(name: BinaryName): string {
  return fileURLToPath(new URL(`./${PINNED[name].module}`, import.meta.url));
}

/** All of them, for CI to keep between runs. */
export function cacheFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'holdfast-test-servers');
}

/** Outside git, and a folder for each set of checksums, so that another version never runs by accident. */
export function binaryFolder(name: BinaryName): string {
  const sums = createHash('sha256')
    .update(readFileSync(join(moduleFolder(name), 'go.sum')))
    .digest('hex');
  return join(cacheFolder(), sums.slice(0, 16));
}

/** Path of the binary; built at the first call on a machine (minutes), then found. Safe from several processes. */
export async function goBinary(name: BinaryName): Promise<string> {
  const folder = binaryFolder(name);
  const path = join(folder, name);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const release = await buildingLock(join(folder, 'building.sqlite'));
  try {
    if (!existsSync(path)) await build(name, path);
  } finally {
    release();
  }
  return path;
}

/** Under another name until it is whole: a killed build leaves no half of a binary behind. */
async function build(name: BinaryName, path: string): Promise<void> {
  const unfinished = `${path}.${process.pid}`;
  const args = ['build', '-trimpath', '-mod=readonly', '-o', unfinished, PINNED[name].package];
  await mustRun('go', args, { cwd: moduleFolder(name), env: { CGO_ENABLED: '0' } });
  await rename(unfinished, path);
}
