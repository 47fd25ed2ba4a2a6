import { BRANCHES } from './counted-branches.ts';

/**
 * The branches of the product's code that have run, as `counted-branches.ts` notes them. Fuzzing keeps inputs that make more
 * of them run. A look takes microseconds, so that each input has its own.
 */
export class CodeReached {
  readonly #folders: readonly string[];
  /** Branches that had run when this was last kept: 1 for each. */
  #kept = new Map<Uint8Array, Uint8Array>();
  #keptCount = 0;

  /** `folders`: the code that counts, such as `src/node/`. */
  constructor(folders: readonly string[]) {
    this.#folders = folders;
    if (this.#sum().all === 0) throw new Error('No code notes its branches: vitest.config.ts lacks the plugin.');
    this.forget();
  }

  /** Branches that ran for the first time since the last `keep`. */
  get fresh(): number {
    return this.#sum().ran - this.#keptCount;
  }

  /** Share of the branches of all loaded files that have run. */
  get share(): number {
    const { ran, all } = this.#sum();
    return ran / all;
  }

  keep(): void {
    this.#kept = new Map([...this.#branches()].map((branches) => [branches, branches.slice()]));
    this.#keptCount = this.#sum().ran;
  }

  /** Takes back what ran since the last `keep`. */
  undo(): void {
    for (const branches of this.#branches()) branches.set(this.#kept.get(branches) ?? new Uint8Array(branches.length));
  }

  forget(): void {
    for (const branches of this.#branches()) branches.fill(0);
    this.keep();
  }

  #sum(): { readonly ran: number; readonly all: number } {
    let [ran, all] = [0, 0];
    for (const branches of this.#branches()) {
      all += branches.length;
      for (let at = 0; at < branches.length; at += 1) ran += branches[at] ?? 0;
    }
    return { ran, all };
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
