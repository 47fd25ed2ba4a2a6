import { BRANCHES } from './counted-branches.ts';

/**
 * The branches of the product's code that have run, as `counted-branches.ts` notes them. Fuzzing keeps inputs that make more
 * of them run. A look takes microseconds, so that each input has its own.
 */
export class CodeReached {
  readonly #folders: readonly string[];
  #ran = 0;
  #all = 0;

  /** `folders`: the code that counts, such as `src/node/`. */
  constructor(folders: readonly string[]) {
    this.#folders = folders;
    this.forget();
    if (this.#all === 0) throw new Error('No code notes its branches: vitest.config.ts lacks the plugin for that.');
  }

  /** Reports whether a branch ran for the first time since the last look. */
  look(): boolean {
    const before = this.#ran;
    [this.#ran, this.#all] = [0, 0];
    for (const branches of this.#branches()) {
      this.#all += branches.length;
      for (let at = 0; at < branches.length; at += 1) this.#ran += branches[at] ?? 0;
    }
    return this.#ran > before;
  }

  /** Share of the branches of all loaded files that have run. */
  get share(): number {
    return this.#ran / this.#all;
  }

  forget(): void {
    for (const branches of this.#branches()) branches.fill(0);
    this.look();
  }

  *#branches(): Iterable<Uint8Array> {
    const files: unknown = Reflect.get(globalThis, BRANCHES);
    if (!(files instanceof Map)) return;
    for (const [file, branches] of files) {
      const isOurs = this.#folders.some((folder) => String(file).startsWith(folder));
      if (isOurs && branches instanceof Uint8Array) yield branches;
    }
  }
}
