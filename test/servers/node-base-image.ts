import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildingLock } from './building-lock.ts';
import { mustRun } from './command.ts';
import { cacheFolder } from './go-binary.ts';

/**
 * A stand-in, used when nothing can be pulled, for the image that the Dockerfile begins with: Debian's minimal system, the
 * Node that this repository pins, and npm. The machine's own certificate authorities come along, for its registries; they
 * are nothing of the product's.
 */

const NODE = fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url));
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
const SUITE = 'bookworm';
/** Node needs the first; the rest of the real image's own libraries are in the minimal system. */
const PACKAGES = ['libatomic1'];
const LEFT_OVER = ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/locale', 'usr/share/man'];

/** Path of its root file system as a tar file; made at the first call on a machine (a minute). */
export async function nodeBaseImage(): Promise<string> {
  const npm = dirname(dirname((await mustRun('sh', ['-c', 'readlink -f "$(command -v npm)"'])).trim()));
  const key = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)));
  for (const file of [NODE, join(npm, 'package.json'), AUTHORITIES]) key.update(readFileSync(file));
  const path = join(cacheFolder(), `node-base-${key.digest('hex').slice(0, 16)}.tar`);
  if (existsSync(path)) return path;
  await mkdir(cacheFolder(), { recursive: true });
  const release = await buildingLock(join(cacheFolder(), 'node-base.sqlite'));
  try {
    if (!existsSync(path)) await make(path, npm);
  } finally {
    release();
  }
  return path;
}

async function make(path: string, npm: string): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'holdfast-base-'));
  try {
    await mustRun('debootstrap', ['--variant=minbase', `--include=${PACKAGES.join(',')}`, SUITE, root]);
    for (const folder of LEFT_OVER) await emptyFolder(join(root, folder));
    await cp(NODE, join(root, 'usr/local/bin/node'));
    await cp(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true, dereference: true });
    await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
    await mkdir(join(root, dirname(AUTHORITIES)), { recursive: true });
    await cp(AUTHORITIES, join(root, AUTHORITIES));
    await mustRun('tar', ['--create', '--file', `${path}.${process.pid}`, '--directory', root, '.']);
    await rename(`${path}.${process.pid}`, path);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function emptyFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
}

/** The settings that `docker import` gives the image. */
export const BASE_SETTINGS = [`ENV NODE_EXTRA_CA_CERTS=${AUTHORITIES}`];
