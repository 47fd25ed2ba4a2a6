import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testWhere } from '../promised.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const SOURCE = fileURLToPath(new URL('file-faults.c', import.meta.url));

/** Tests that put a library of their own between a program and its files. */
export const testWithFileFaults = testWhere(
  process.platform === 'linux' && spawnSync('cc', ['--version'], { stdio: 'ignore' }).status === 0,
  'there is no C compiler on Linux here',
);

/** Numbers of the faults that disks and volumes cause. */
export const ERRNO = { EIO: 5, ENOSPC: 28, EROFS: 30 } as const;

export interface FileRule {
  readonly call: 'read' | 'write' | 'sync' | 'open' | 'rename';
  readonly fault: keyof typeof ERRNO | 'short' | 'slow';
  /** Part of the paths that it is for. */
  readonly path: string;
}

/** The library between a process and the files below a folder: it records changes, and makes calls fail when told to. */
export class FileFaults {
  readonly env: Readonly<Record<string, string>>;
  readonly log: string;
  readonly #rules: string;

  constructor(root: string) {
    const folder = temporaryFolder();
    const library = join(folder, 'file-faults.so');
    const built = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, SOURCE, '-ldl', '-lpthread']);
    if (built.status !== 0) throw new Error(`The library for faults cannot be built: ${built.stderr.toString('utf8')}`);
    this.log = join(folder, 'changes.log');
    this.#rules = join(folder, 'rules');
    writeFileSync(this.#rules, '');
    this.env = { LD_PRELOAD: library, FAULTS_ROOT: root, FAULTS_LOG: this.log, FAULTS_RULES: this.#rules };
  }

  /** From now on these calls fail, and no others. */
  set(...rules: readonly FileRule[]): void {
    const line = ({ call, fault, path }: FileRule) =>
      `${call} ${fault === 'short' || fault === 'slow' ? fault : ERRNO[fault]} ${path}\n`;
    writeFileSync(this.#rules, rules.map(line).join(''));
  }
}
