import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { nameOfMine } from '../left-folders.ts';
import { testWhere } from '../promised.ts';

function mount(...words: string[]): boolean {
  return spawnSync('mount', words, { stdio: 'ignore' }).status === 0;
}

/** A file system of its own, whose size and writability a test changes. It goes away with the test. */
export class MountedFolder {
  readonly path: string;

  constructor(sizeBytes: number) {
    this.path = mkdtempSync(join(tmpdir(), nameOfMine('mount')));
    if (!mount('-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', this.path)) throw new Error('It cannot be mounted.');
    onTestFinished(() => {
      spawnSync('umount', ['-l', this.path], { stdio: 'ignore' });
      rmdirSync(this.path);
    });
  }

  resize(sizeBytes: number): void {
    this.#remount(`size=${sizeBytes}`);
  }

  setWritable(writable: boolean): void {
    this.#remount(writable ? 'rw' : 'ro');
  }

  #remount(options: string): void {
    if (!mount('-o', `remount,${options}`, this.path)) throw new Error(`It cannot be remounted with ${options}.`);
  }
}

/** From now on nothing can be written in this folder, as when a disk that fails is mounted read-only; until `lift`. */
export function coverReadOnly(path: string): { lift(): void } {
  if (!mount('-t', 'tmpfs', '-o', 'ro,size=65536', 'tmpfs', path)) throw new Error('It cannot be mounted.');
  const lift = () => void spawnSync('umount', ['-l', path], { stdio: 'ignore' });
  onTestFinished(lift);
  return { lift };
}

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), nameOfMine('mount')));
  const can = mount('-t', 'tmpfs', '-o', 'size=65536', 'tmpfs', folder);
  if (can) spawnSync('umount', ['-l', folder], { stdio: 'ignore' });
  rmdirSync(folder);
  return can;
}

/** A test that mounts: only root may, and not in every container. */
export const testWithMounts = testWhere(canMount(), 'nothing can be mounted here');
