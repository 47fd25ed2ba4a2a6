import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** A control group of Linux that holds a process to so much memory: version 1 or 2, whichever is mounted here. */
export class MemoryGroup {
  readonly #folder: string;
  readonly #isFirst: boolean;

  private constructor(folder: string, isFirst: boolean) {
    this.#folder = folder;
    this.#isFirst = isFirst;
  }

  /** null: this user may not make one here. */
  static make(name: string, limitBytes: number): MemoryGroup | null {
    const isFirst = existsSync(join(ROOT, 'memory', 'cgroup.procs'));
    const folder = join(ROOT, isFirst ? 'memory' : '', name);
    try {
      mkdirSync(folder);
      const group = new MemoryGroup(folder, isFirst);
      group.#limit(limitBytes);
      return group;
    } catch {
      if (existsSync(folder)) rmdirSync(folder);
      return null;
    }
  }

  #limit(bytes: number): void {
    this.#write(this.#isFirst ? 'memory.limit_in_bytes' : 'memory.max', bytes);
    // Swapped pages are memory as well; where there is no account of swap there is no swap.
    const swap = this.#isFirst ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max';
    if (existsSync(join(this.#folder, swap))) this.#write(swap, this.#isFirst ? bytes : 0);
  }

  /** Words of a shell that run a program inside of it. */
  around(words: readonly string[]): string[] {
    return ['sh', '-c', `echo $$ > ${join(this.#folder, 'cgroup.procs')} && exec "$@"`, 'sh', ...words];
  }

  /** The number of processes in it that the kernel had to kill. */
  get kills(): number {
    const file = join(this.#folder, this.#isFirst ? 'memory.oom_control' : 'memory.events');
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
  }

  /** Nothing may run in it any more. */
  remove(): void {
    rmdirSync(this.#folder);
  }

  #write(name: string, value: number): void {
    writeFileSync(join(this.#folder, name), String(value));
  }
}
