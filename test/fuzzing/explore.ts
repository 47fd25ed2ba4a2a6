import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { messageOf } from '../../src/core/blob/errors.ts';
import { SeededRandom } from '../simulate/random.ts';
import { changedInput } from './changed-input.ts';
import { CodeReached } from './code-reached.ts';

/** A part of the product that is fuzzed. An input is bytes; the target gives them their meaning. */
export interface FuzzTarget {
  /** Also the name of its corpus. */
  readonly name: string;
  readonly seeds: readonly Uint8Array[];
  /** Folders of the product whose code leads the search. */
  readonly folders: readonly string[];
  /** Words of its language. */
  readonly words?: readonly string[];
  /** Throws where a claim does not hold. */
  run(input: Uint8Array): Promise<void> | void;
}

/** A long search, with V8's coverage as its guide, which writes a new corpus. */
const LONG_RUNS = process.env['HOLDFAST_FUZZ_RUNS'];
const SHORT_RUNS = 150;
const HANG_MS = 30_000;
/** Inputs between two looks at the coverage: a look costs some tens of milliseconds. */
const BATCH = { least: 64, most: 2_048 };
const PROGRESS = 20_000;
const MAX_FAULTS = 20;

/** Runs the corpus, then changed inputs: the same ones each time, then others. */
export async function explore(target: FuzzTarget): Promise<void> {
  const runner = new Runner(target);
  const pool = [...target.seeds, ...corpusOf(target.name)];
  try {
    for (const input of pool) await runner.run(input);
    if (LONG_RUNS !== undefined) await guided(target, runner, pool, Number(LONG_RUNS));
    else {
      for (const seed of [target.name, String(Date.now())]) {
        const changes = new Changes(target, seed);
        for (let run = 0; run < SHORT_RUNS; run += 1) await runner.run(changes.next(pool));
      }
    }
  } finally {
    await runner.close();
  }
  if (runner.faults.size > 0) throw new Error([...runner.faults.values()].join('\n\n'));
}

const corpusFile = (name: string) => new URL(`corpus/${name}.txt`, import.meta.url);

function corpusOf(name: string): Uint8Array[] {
  if (!existsSync(corpusFile(name))) return [];
  const lines = readFileSync(corpusFile(name), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'base64'));
}

/** Makes inputs out of others. */
class Changes {
  readonly #words: readonly Uint8Array[];
  readonly #random: SeededRandom;

  constructor({ words = [] }: FuzzTarget, seed: string) {
    this.#words = words.map((word) => Buffer.from(word, 'latin1'));
    this.#random = new SeededRandom(seed);
  }

  next(pool: readonly Uint8Array[]): Uint8Array {
    const random = this.#random;
    // The newest inputs lead on most often.
    const first = random.chance(0.4) ? Math.floor(pool.length * 0.9) : 0;
    const input = pool[random.between(first, pool.length - 1)];
    if (input === undefined) throw new RangeError('There is no input to change.');
    return changedInput(input, pool, this.#words, random);
  }
}

/** Runs inputs one by one, and notes every fault with the input that shows it. */
class Runner {
  readonly faults = new Map<string, string>();
  slowestMs = 0;
  readonly #target: FuzzTarget;
  #input: Uint8Array = new Uint8Array();

  constructor(target: FuzzTarget) {
    this.#target = target;
    process.on('unhandledRejection', this.#note);
    process.on('uncaughtException', this.#note);
  }

  async run(input: Uint8Array): Promise<void> {
    this.#input = input;
    const begun = performance.now();
    try {
      await endsInTime(this.#target.run(input));
    } catch (error) {
      this.#note(error);
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - begun);
  }

  readonly #note = (error: unknown): void => {
    const message = messageOf(error);
    const kind = message.replace(/[0-9a-f]{8,}|\d+/g, '#').slice(0, 80);
    if (this.faults.has(kind) || this.faults.size >= MAX_FAULTS) return;
    const line = Buffer.from(this.#input).toString('base64');
    const stack = error instanceof Error ? error.stack : '';
    const told = `${message}\n${stack}\nThe input, for test/fuzzing/corpus/${this.#target.name}.txt:\n${line}`;
    if (LONG_RUNS !== undefined) process.stdout.write(`FAULT ${told}\n`);
    this.faults.set(kind, told);
  };

  /** An unhandled rejection is told one turn later. */
  async close(): Promise<void> {
    await new Promise(setImmediate);
    process.off('unhandledRejection', this.#note);
    process.off('uncaughtException', this.#note);
  }
}

async function endsInTime(work: Promise<void> | void): Promise<void> {
  if (!(work instanceof Promise)) return;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`The input had no end within ${HANG_MS} ms.`)), HANG_MS);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps inputs that make more code run, and changes them further. */
async function guided(target: FuzzTarget, runner: Runner, pool: Uint8Array[], runs: number): Promise<void> {
  const reached = new CodeReached(target.folders);
  const changes = new Changes(target, `${target.name} ${Date.now()}`);
  const begun = performance.now();
  const tell = (done: number) => {
    const seconds = Math.round((performance.now() - begun) / 1_000);
    const mebibytes = Math.round(process.memoryUsage.rss() / 1_048_576);
    const share = (reached.share * 100).toFixed(1);
    process.stdout.write(
      `${target.name}: ${done} inputs, ${seconds} s, ${pool.length} kept, ${share} % of ${target.folders.join(', ')}, slowest ${Math.round(runner.slowestMs)} ms, ${runner.faults.size} faults, ${mebibytes} MiB\n`,
    );
  };
  try {
    for (const input of pool) await runner.run(input);
    reached.keep(reached.look());
    let size = BATCH.least;
    for (let done = 0, told = 0; done < runs; ) {
      const batch = Array.from({ length: Math.min(size, runs - done) }, () => changes.next(pool));
      const found = await finders(batch, runner, reached);
      pool.push(...found);
      done += batch.length;
      size = found.length > 0 ? BATCH.least : Math.min(BATCH.most, size * 2);
      if (done - told < PROGRESS) continue;
      told = done;
      tell(done);
      // A search that is cut short leaves its corpus too.
      writeCorpus(target.name, pool.slice(target.seeds.length));
    }
    tell(runs);
    reached.forget();
    writeCorpus(target.name, await smallest(target.seeds, pool, runner, reached));
  } finally {
    reached.close();
  }
}

/** The inputs that make more code run, found by halves. */
async function finders(batch: readonly Uint8Array[], runner: Runner, reached: CodeReached): Promise<Uint8Array[]> {
  for (const input of batch) await runner.run(input);
  const look = reached.look();
  if (look.fresh === 0) return [];
  const [only] = batch;
  let found: Uint8Array[] = [];
  if (batch.length === 1 && only !== undefined) found = [only];
  else {
    const half = Math.ceil(batch.length / 2);
    const first = await finders(batch.slice(0, half), runner, reached);
    found = [...first, ...(await finders(batch.slice(half), runner, reached))];
  }
  // Code that no half runs again ran by the moment, such as at a collection of garbage.
  reached.keep(look);
  return found;
}

/** Returns few and short inputs that reach the same code, together with the seeds. */
async function smallest(
  seeds: readonly Uint8Array[],
  pool: readonly Uint8Array[],
  runner: Runner,
  reached: CodeReached,
): Promise<Uint8Array[]> {
  for (const input of seeds) await runner.run(input);
  reached.keep(reached.look());
  const kept: Uint8Array[] = [];
  for (const input of pool.toSorted((one, other) => one.length - other.length)) {
    await runner.run(input);
    const look = reached.look();
    if (look.fresh === 0) continue;
    reached.keep(look);
    kept.push(input);
  }
  return kept;
}

function writeCorpus(name: string, inputs: readonly Uint8Array[]): void {
  const lines = inputs.map((input) => `${Buffer.from(input).toString('base64')}\n`);
  writeFileSync(corpusFile(name), lines.join(''));
}
