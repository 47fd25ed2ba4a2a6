import { type Profiler, Session } from 'node:inspector';

export interface Look {
  /** Characters that never ran in a look that was kept. */
  readonly fresh: number;
  /** For each file, 1 for each character that ran. */
  readonly ran: ReadonlyMap<string, Uint8Array>;
}

/**
 * The characters of the product's code that have run, by V8's own precise block coverage. Fuzzing keeps inputs that make
 * more of them run.
 */
export class CodeReached {
  readonly #session = new Session();
  readonly #folders: readonly string[];
  /** For each file, 1 for each character that has run. */
  readonly #reached = new Map<string, Uint8Array>();

  /** `folders`: the code that counts, such as `src/node/`. */
  constructor(folders: readonly string[]) {
    this.#folders = folders.map((folder) => `/${folder}`);
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Returns the characters that ran since the last look. */
  look(): Look {
    const ran = new Map<string, Uint8Array>();
    let fresh = 0;
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error;
      for (const { url, functions } of result) {
        if (!this.#folders.some((folder) => url.includes(folder))) continue;
        const own = charactersOf(functions);
        ran.set(url, own);
        const reached = this.#reached.get(url);
        for (let at = 0; at < own.length; at += 1) if (own[at] === 1 && reached?.[at] !== 1) fresh += 1;
      }
    });
    return { fresh, ran };
  }

  keep({ ran }: Look): void {
    for (const [url, own] of ran) {
      const before = this.#reached.get(url);
      // V8 forgets the outermost function of a file, which is the longest.
      const isLonger = before === undefined || before.length < own.length;
      const reached = isLonger ? new Uint8Array(own.length) : before;
      if (isLonger) reached.set(before ?? []);
      for (let at = 0; at < own.length; at += 1) if (own[at] === 1) reached[at] = 1;
      this.#reached.set(url, reached);
    }
  }

  /** Share of the characters of all loaded files that have run. */
  get share(): number {
    let [ran, all] = [0, 0];
    for (const reached of this.#reached.values()) {
      all += reached.length;
      for (const one of reached) ran += one;
    }
    return all === 0 ? 0 : ran / all;
  }

  forget(): void {
    this.#reached.clear();
  }

  close(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }
}

function charactersOf(functions: readonly Profiler.FunctionCoverage[]): Uint8Array {
  const length = functions.reduce((most, { ranges }) => Math.max(most, ranges[0]?.endOffset ?? 0), 0);
  const ran = new Uint8Array(length);
  // An inner range comes after the one around it.
  for (const { ranges } of functions) {
    for (const { startOffset, endOffset, count } of ranges) ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  }
  return ran;
}
