import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/core/blob/errors.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { NODE_FLAGS } from '../../src/node-flags.mjs';
import { makeDurableFolder } from '../../src/storage/local/durable-file.ts';
import { allocatorEnvironment } from '../allocator.ts';
import { nameOfMine } from '../left-folders.ts';
import { temporaryParent } from '../temporary-parent.ts';
import { KeptRun } from './kept-run.ts';
import { knowingHashes } from './known-hashes.ts';
import { isFault, type Length, only, type Plan, planOf, THEMES, withPlantedLoss } from './plan.ts';
import { ALL, END, inShares, shareOf } from './shares.ts';
import { replaceMachine, type World } from './simulated-process.ts';
import { realMs } from './simulated-time.ts';
import { type Outcome, Simulation, Violation } from './simulation.ts';
import { Tally } from './tally.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    events: { type: 'string' },
    /** Only these kinds of events, separated by commas. */
    kinds: { type: 'string' },
    /** Every seed has this theme. */
    theme: { type: 'string' },
    /** Each seed stands for a few hours in which much happens. */
    short: { type: 'boolean', default: false },
    /** Each seed stands for days in which much happens. */
    long: { type: 'boolean', default: false },
    /** Each seed again: another digest is a failure. */
    twice: { type: 'boolean', default: false },
    /** Into each seed a loss that must be found. */
    plant: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    /** Begins at a seed of this moment, which it tells. */
    fresh: { type: 'boolean', default: false },
    /** Processes that share the seeds. */
    jobs: { type: 'string', default: '1' },
    /** Every so many seconds it tells how far it is. */
    tell: { type: 'string' },
    /** The share of the seeds that this process takes, of so many; given by the one that has begun it. */
    share: { type: 'string' },
    /** The course of each seed is told, whatever came of it. */
    each: { type: 'boolean', default: false },
    /** The first seed that fails ends the run. */
    first: { type: 'boolean', default: false },
    /** No seeds: one long run, `evictions` or `months`, with the heap and the allocator that the daemon has. */
    soak: { type: 'string' },
    /** Evictions, or days, of a soak. */
    until: { type: 'string' },
    /** Files with this name keep the counts of each process: a run that was cut short goes on from there. */
    keep: { type: 'string' },
    /** A seed that fails is not shrunk. */
    'as-it-is': { type: 'boolean', default: false },
  },
});

const SOAKS: Readonly<Record<string, URL>> = {
  evictions: new URL('soak-evictions.ts', import.meta.url),
  months: new URL('soak-months.ts', import.meta.url),
};

/** A run that is told to end does so after the seed that goes on, and says what it has counted. */
let isEnded = false;
const end = () => {
  isEnded = true;
};
process.on('SIGINT', end).on('SIGTERM', end);
process.on('message', (message) => message === END && end());

const say = (line: string): void => void process.stdout.write(`${line}\n`);

if (values.soak !== undefined) {
  const script = SOAKS[values.soak];
  if (script === undefined) throw new Error(`soaks: ${Object.keys(SOAKS).join(', ')}`);
  const words = values.until === undefined ? [] : [values.until];
  const { status } = spawnSync(process.execPath, [...NODE_FLAGS, fileURLToPath(script), ...words], {
    stdio: 'inherit',
    env: { ...allocatorEnvironment(), ...process.env },
  });
  process.exit(status ?? 3);
}
if (values.fresh) {
  values.from = String(Math.floor(realMs() / 1_000));
  say(`fresh seeds from ${values.from}`);
}
if (Number(values.jobs) > 1) {
  const words = Object.entries({ ...values, fresh: false, jobs: '1' }).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : typeof value === 'string' ? [`--${name}`, value] : [],
  );
  const all = await inShares(fileURLToPath(import.meta.url), words, Number(values.jobs));
  for (const line of all.lines) say(line);
  process.exit(all.failed === 0 ? 0 : 1);
}

const root = mkdtempSync(join(temporaryParent(), nameOfMine('simulation')));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
const hasher = knowingHashes(await createNodeHasher());
// The parent folder of all seeds is made durable once, with the machine's own means.
await makeDurableFolder(root);

const machine: { world: World | null } = { world: null };
const rejections: unknown[] = [];
process.on('unhandledRejection', (reason) => void rejections.push(reason));
replaceMachine(() => {
  if (machine.world === null) throw new Error('nothing is simulated now');
  return machine.world;
});

let runs = 0;

async function simulate(plan: Plan, trace: ((line: string) => void) | null): Promise<Outcome> {
  runs += 1;
  const simulation = new Simulation(plan, join(root, String(runs)), hasher, trace);
  machine.world = simulation.world;
  rejections.length = 0;
  const outcome = await simulation.run();
  const [rejection] = rejections;
  if (rejection === undefined || outcome.violation !== null) return outcome;
  return { ...outcome, violation: new Violation('rejection', `nobody waited for it: ${messageOf(rejection)}`) };
}

function lengthOf(given: { readonly short: boolean; readonly long: boolean }): Length {
  if (given.short && given.long) throw new Error('a seed is short or long');
  if (given.short) return 'short';
  return given.long ? 'long' : 'aged';
}

const eventsOf = (plan: Plan) => plan.events.map(({ number }) => number);

/** The fewest events with which the same claim fails: one after the other is left out, as long as that is so. */
async function shrink(plan: Plan, outcome: Outcome): Promise<Plan> {
  let smallest = plan;
  const fails = async (candidate: Plan) =>
    (await simulate(candidate, null)).violation?.invariant === outcome.violation?.invariant;
  for (
    let size = Math.ceil(smallest.events.length / 2);
    size >= 1 && !isEnded;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < smallest.events.length; ) {
      const numbers = eventsOf(smallest);
      const candidate = only(plan, [...numbers.slice(0, at), ...numbers.slice(at + size)]);
      if (await fails(candidate)) smallest = candidate;
      else at += size;
    }
  }
  return smallest;
}

/** With the one command that replays it. */
async function tellFailure(plan: Plan, outcome: Outcome, violation: Violation, chosen: string): Promise<void> {
  say(`seed ${plan.seed}: ${violation.invariant}: ${violation.message}`);
  const smallest = values.events === undefined && !values['as-it-is'] ? await shrink(plan, outcome) : plan;
  say(`  ${smallest.events.map(({ number, kind }) => `${number} ${kind}`).join(', ') || 'without any event'}`);
  const events = eventsOf(smallest).join(',') || '0';
  say(`  npm run simulate -- --seed ${plan.seed}${chosen} --events ${events} --trace`);
}

async function main(): Promise<number> {
  const first = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const trace = values.trace ? say : null;
  const { theme = null } = values;
  if (theme !== null && !(theme in THEMES)) throw new Error(`themes: ${Object.keys(THEMES).join(', ')}`);
  const choice = { kinds: values.kinds?.split(',').filter(isFault) ?? null, theme, length: lengthOf(values) };
  const told = { kinds: values.kinds, theme: values.theme };
  const chosen = Object.entries(told)
    .map(([name, value]) => (value === undefined ? '' : ` --${name} ${value}`))
    .concat(values.short ? [' --short'] : [], values.long ? [' --long'] : [])
    .join('');
  const begunMs = realMs();
  const share = values.share === undefined ? ALL : shareOf(values.share);
  const tally = new Tally();
  const planted = values.plant ? ' --plant' : '';
  const run = `seeds from ${first}${chosen}${planted}`;
  const keptRun =
    values.keep === undefined ? null : new KeptRun(`${values.keep}-${share.number + 1}-of-${share.of}.json`, run);
  const begin = keptRun?.restore(tally, first + share.number) ?? first + share.number;
  const tellMs = values.tell === undefined ? Number.POSITIVE_INFINITY : Number(values.tell) * 1_000;
  let toldMs = begunMs;
  const endMs = values.seconds === undefined ? Number.POSITIVE_INFINITY : begunMs + Number(values.seconds) * 1_000;
  for (let seed = begin; seed < first + count && realMs() < endMs && !isEnded; seed += share.of) {
    const whole = values.plant ? withPlantedLoss(planOf(seed, choice)) : planOf(seed, choice);
    const plan = values.events === undefined ? whole : only(whole, values.events.split(',').map(Number));
    const outcome = await simulate(plan, trace);
    tally.add(outcome);
    tally.noteProcessorTime();
    if (values.each || values.seed !== undefined) {
      say(
        `seed ${seed}: ${outcome.events} events, ${Math.round(tally.told.counts.processorMs)} ms, digest ${outcome.digest}`,
      );
    }
    if (realMs() - toldMs >= tellMs) {
      toldMs = realMs();
      for (const line of [`up to seed ${seed}`, ...tally.lines]) say(line);
    }
    const isSame = !values.twice || (await simulate(plan, null)).digest === outcome.digest;
    if (!isSame) say(`seed ${seed}: another course than the first time`);
    if (outcome.violation !== null || !isSame) tally.addFailure();
    if (outcome.violation !== null) await tellFailure(plan, outcome, outcome.violation, chosen + planted);
    keptRun?.save(tally, seed + share.of);
    if (values.first && outcome.violation !== null) break;
  }
  tally.noteProcessorTime();
  if (values.share === undefined) for (const line of tally.lines) say(line);
  else await new Promise((resolve) => void process.send?.(tally.told, resolve));
  return tally.failed === 0 ? 0 : 1;
}

// A share ends with the process that has begun it.
process.on('disconnect', () => process.exit(3));
process.exit(await main());
