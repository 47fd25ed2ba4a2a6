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

/** Inputs of a long search, which the branches that run guide, and which writes a new corpus. */
const LONG_RUNS = process.env['HOLDFAST_FUZZ_RUNS'];
const SHORT_RUNS = 300;
/** Turns of the event loop, a second or more apart, in which an input has to end. A crowded machine gives fewer turns. */
const HANG_TURNS = 30;
const PROGRESS = 20_000;
const MAX_FAULTS = 20;

/** Runs the corpus, then changed inputs, which are the same ones each time: no build fails by an input of the moment. */
export async function explore(target: FuzzTarget): Promise<void> {
  const runner = new Runner(target);
  const pool = [...target.seeds, ...corpusOf(target.name)];
  try {
    for (const input of pool) await runner.run(input);
    if (LONG_RUNS !== undefined) await guided(target, runner, pool, Number(LONG_RUNS));
    else {
      const changes = new Changes(target, target.name);
      for (let run = 0; run < SHORT_RUNS; run += 1) await runner.run(changes.next(pool));
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

  /** `costs`: the time that inputs took. The cheaper one of two is changed, as a slow one stands for hundreds of others. */
  next(pool: readonly Uint8Array[], costs: ReadonlyMap<Uint8Array, number> = new Map()): Uint8Array {
    const [one, other] = [this.#oneOf(pool), this.#oneOf(pool)];
    const cheaper = (costs.get(one) ?? 0) <= (costs.get(other) ?? 0) ? one : other;
    return changedInput(cheaper, pool, this.#words, this.#random);
  }

  #oneOf(pool: readonly Uint8Array[]): Uint8Array {
    const random = this.#random;
    // The newest inputs lead on most often.
    const first = random.chance(0.4) ? Math.floor(pool.length * 0.9) : 0;
    return random.pick(pool.slice(first));
  }
}

/** Runs inputs one by one, and notes every fault with the input that shows it. */
class Runner {
  readonly faults = new Map<string, string>();
  /** Milliseconds of a processor. */
  slowestMs = 0;
  readonly #target: FuzzTarget;
  #input: Uint8Array = new Uint8Array();

  constructor(target: FuzzTarget) {
    this.#target = target;
    process.on('unhandledRejection', this.#note);
    process.on('uncaughtException', this.#note);
  }

  /** Resolves to the milliseconds of a processor that the input took. */
  async run(input: Uint8Array): Promise<number> {
    this.#input = input;
    const begun = processorMs();
    try {
      await endsInTime(this.#target.run(input));
    } catch (error) {
      this.#note(error);
    }
    const tookMs = processorMs() - begun;
    this.slowestMs = Math.max(this.slowestMs, tookMs);
    return tookMs;
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

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function endsInTime(work: Promise<void> | void): Promise<void> {
  if (!(work instanceof Promise)) return;
  const late = Promise.withResolvers<never>();
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
    if (turns === HANG_TURNS) late.reject(new Error(`The input had no end within ${HANG_TURNS} s.`));
  }, 1_000);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearInterval(timer);
  }
}

/** Keeps inputs that make more code run, and changes them further. */
async function guided(target: FuzzTarget, runner: Runner, pool: Uint8Array[], runs: number): Promise<void> {
  const reached = new CodeReached(target.folders);
  const changes = new Changes(target, `${target.name} ${Date.now()}`);
  const costs = new Map<Uint8Array, number>();
  const begun = processorMs();
  const tell = (done: number) => {
    const seconds = Math.round((processorMs() - begun) / 1_000);
    const mebibytes = Math.round(process.memoryUsage.rss() / 1_048_576);
    const share = (reached.share * 100).toFixed(1);
    process.stdout.write(
      `${target.name}: ${done} inputs, ${seconds} s of a processor, ${pool.length} kept, ${share} % of the branches of ${target.folders.join(', ')}, slowest ${Math.round(runner.slowestMs)} ms, ${runner.faults.size} faults, ${mebibytes} MiB\n`,
    );
  };
  // A tenth of the time would go to stacks. An input that is run again as a line of the corpus has its stack.
  Error.stackTraceLimit = 0;
  for (const input of pool) costs.set(input, await runner.run(input));
  reached.look();
  for (let done = 1; done <= runs; done += 1) {
    const input = changes.next(pool, costs);
    const tookMs = await runner.run(input);
    if (reached.look()) {
      pool.push(input);
      costs.set(input, tookMs);
    }
    if (done % PROGRESS !== 0 && done < runs) continue;
    tell(done);
    // A search that is cut short leaves its corpus too.
    writeCorpus(target.name, pool.slice(target.seeds.length));
  }
  writeCorpus(target.name, await smallest(target.seeds, pool, runner, reached));
}

/** Returns few and short inputs that reach the same code, together with the seeds. */
async function smallest(
  seeds: readonly Uint8Array[],
  pool: readonly Uint8Array[],
  runner: Runner,
  reached: CodeReached,
): Promise<Uint8Array[]> {
  reached.forget();
  for (const input of seeds) await runner.run(input);
  reached.look();
  const kept: Uint8Array[] = [];
  for (const input of pool.toSorted((one, other) => one.length - other.length)) {
    await runner.run(input);
    if (reached.look()) kept.push(input);
  }
  return kept;
}

function writeCorpus(name: string, inputs: readonly Uint8Array[]): void {
  const lines = inputs.map((input) => `${Buffer.from(input).toString('base64')}\n`);
  writeFileSync(corpusFile(name), lines.join(''));
}
