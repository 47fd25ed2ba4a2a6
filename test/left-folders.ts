import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryParent } from './temporary-parent.ts';

type Kind = 'test' | 'simulation' | 'idle' | 'mount';

const NAME = /^holdfast-(test|simulation|idle|mount)-(\d+)-/;

/** The beginning of the name of a temporary folder: it says which process removes it at its end. */
export function nameOfMine(kind: Kind): string {
  return `holdfast-${kind}-${process.pid}-`;
}

/** Removes the folders of processes that are no more: one that was killed could not, and memory is small. */
export function removeLeftFolders(parents: readonly string[] = [temporaryParent(), tmpdir()]): void {
  for (const parent of parents)
    for (const name of readdirSync(parent)) {
      const [, kind, pid] = NAME.exec(name) ?? [];
      if (pid === undefined || runs(Number(pid))) continue;
      if (kind === 'mount') spawnSync('umount', ['-l', join(parent, name)], { stdio: 'ignore' });
      removeIfPossible(join(parent, name));
    }
}

/** What another user made, or what is mounted within, stays: a folder that is left is no reason to refuse a run. */
function removeIfPossible(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    process.stderr.write(`${folder} was left by a killed run and cannot be removed: ${(error as Error).message}\n`);
  }
}

/** Reports whether there is such a process. That of another user is one too, though it may not be signalled. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Vitest calls it before the first file. */
export const setup = (): void => removeLeftFolders();
