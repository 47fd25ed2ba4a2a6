import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
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
/** Inputs after which timers and what waits for a turn get one: an input in one process may need none. */
const INPUTS_A_TURN = 64;
/** Bytes of a part that is left out of an input to shorten it. */
const SMALLEST_PART = 4;
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
  return lines.filter((line) => line !== '').map((line) => inflateRawSync(Buffer.from(line, 'base64')));
}

/** An input as a line of a corpus: packed, as most have long runs of one byte or of hex. */
function lineOf(input: Uint8Array): string {
  return deflateRawSync(input, { level: 9 }).toString('base64');
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
    const stack = error instanceof Error ? error.stack : '';
    const told = `${message}\n${stack}\nThe input, for test/fuzzing/corpus/${this.#target.name}.txt:\n${lineOf(this.#input)}`;
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
  const given = [...pool];
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
  reached.keep();
  for (let done = 1; done <= runs; done += 1) {
    const input = changes.next(pool, costs);
    const tookMs = await runner.run(input);
    if (reached.fresh > 0) {
      reached.keep();
      pool.push(input);
      costs.set(input, tookMs);
    }
    if (done % INPUTS_A_TURN === 0) await new Promise(setImmediate);
    if (done % PROGRESS !== 0 && done < runs) continue;
    tell(done);
    // A search that is cut short leaves its corpus too.
    writeCorpus(target.name, pool.slice(target.seeds.length));
  }
  const corpus = given.slice(target.seeds.length);
  writeCorpus(target.name, [...corpus, ...(await smallest(given, pool.slice(given.length), runner, reached))]);
}

/** Returns few and short inputs that reach the same code as all that were found, together with the given ones. */
async function smallest(
  given: readonly Uint8Array[],
  found: readonly Uint8Array[],
  runner: Runner,
  reached: CodeReached,
): Promise<Uint8Array[]> {
  reached.forget();
  for (const input of given) await runner.run(input);
  reached.keep();
  const kept: Uint8Array[] = [];
  const freshIn = async (input: Uint8Array) => {
    reached.undo();
    await runner.run(input);
    return reached.fresh;
  };
  for (const input of found.toSorted((one, other) => one.length - other.length)) {
    // The second run counts: a branch may run once in a process.
    const fresh = (await freshIn(input)) === 0 ? 0 : await freshIn(input);
    if (fresh === 0) continue;
    const shortest = await shortened(input, async (shorter) => (await freshIn(shorter)) >= fresh);
    await freshIn(shortest);
    reached.keep();
    kept.push(shortest);
  }
  return kept;
}

/** Leaves out parts of an input, large ones first, for as long as the shorter input does the same. */
async function shortened(
  input: Uint8Array,
  doesTheSame: (shorter: Uint8Array) => Promise<boolean>,
): Promise<Uint8Array> {
  let shortest = Buffer.from(input);
  for (let size = Math.ceil(input.length / 2); size >= SMALLEST_PART; size = Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.length; ) {
      const shorter = Buffer.concat([shortest.subarray(0, at), shortest.subarray(at + size)]);
      if (shorter.length > 0 && (await doesTheSame(shorter))) shortest = shorter;
      else at += size;
    }
  }
  return shortest;
}

function writeCorpus(name: string, inputs: readonly Uint8Array[]): void {
  writeFileSync(corpusFile(name), inputs.map((input) => `${lineOf(input)}\n`).join(''));
}
