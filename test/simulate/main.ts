import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/core/blob/errors.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { makeDurableFolder } from '../../src/storage/local/durable-file.ts';
import { temporaryParent } from '../temporary-parent.ts';
import { DAY_MS, isFault, only, type Plan, planOf, THEMES, withPlantedLoss } from './plan.ts';
import { replaceMachine, type World } from './simulated-process.ts';
import { realMs } from './simulated-time.ts';
import { type Outcome, Simulation, Violation } from './simulation.ts';

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
    /** Each seed again: another digest is a failure. */
    twice: { type: 'boolean', default: false },
    /** Into each seed a loss that must be found. */
    plant: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    /** The course of each seed is told, whatever came of it. */
    each: { type: 'boolean', default: false },
    /** The first seed that fails ends the run. */
    first: { type: 'boolean', default: false },
    /** A seed that fails is not shrunk. */
    'as-it-is': { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const root = mkdtempSync(join(temporaryParent(), 'holdfast-simulation-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
const hasher = await createNodeHasher();
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

const eventsOf = (plan: Plan) => plan.events.map(({ number }) => number);

/** The fewest events with which the same claim fails: one after the other is left out, as long as that is so. */
async function shrink(plan: Plan, outcome: Outcome): Promise<Plan> {
  let smallest = plan;
  const fails = async (candidate: Plan) =>
    (await simulate(candidate, null)).violation?.invariant === outcome.violation?.invariant;
  for (let size = Math.ceil(smallest.events.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.events.length; ) {
      const numbers = eventsOf(smallest);
      const candidate = only(plan, [...numbers.slice(0, at), ...numbers.slice(at + size)]);
      if (await fails(candidate)) smallest = candidate;
      else at += size;
    }
  }
  return smallest;
}

async function main(): Promise<number> {
  const first = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const trace = values.trace ? say : null;
  const { theme = null } = values;
  if (theme !== null && !(theme in THEMES)) throw new Error(`themes: ${Object.keys(THEMES).join(', ')}`);
  const choice = { kinds: values.kinds?.split(',').filter(isFault) ?? null, theme };
  const told = { kinds: values.kinds, theme: values.theme };
  const chosen = Object.entries(told)
    .map(([name, value]) => (value === undefined ? '' : ` --${name} ${value}`))
    .join('');
  const begunMs = realMs();
  const begunWith = process.cpuUsage();
  const endMs = values.seconds === undefined ? Number.POSITIVE_INFINITY : begunMs + Number(values.seconds) * 1_000;
  let simulatedMs = 0;
  let failed = 0;
  let done = 0;
  for (let seed = first; seed < first + count && realMs() < endMs; seed += 1) {
    const whole = values.plant ? withPlantedLoss(planOf(seed, choice)) : planOf(seed, choice);
    const plan = values.events === undefined ? whole : only(whole, values.events.split(',').map(Number));
    const outcome = await simulate(plan, trace);
    simulatedMs += outcome.simulatedMs;
    done += 1;
    if (values.each || values.seed !== undefined) {
      const { user, system } = process.cpuUsage(begunWith);
      say(
        `seed ${seed}: ${outcome.events} events, ${Math.round((user + system) / 1_000)} ms, digest ${outcome.digest}`,
      );
    }
    const isSame = !values.twice || (await simulate(plan, null)).digest === outcome.digest;
    if (!isSame) say(`seed ${seed}: another course than the first time`);
    if (outcome.violation === null && isSame) continue;
    failed += 1;
    if (outcome.violation === null) continue;
    say(`seed ${seed}: ${outcome.violation.invariant}: ${outcome.violation.message}`);
    const smallest = values.events === undefined && !values['as-it-is'] ? await shrink(plan, outcome) : plan;
    say(`  ${smallest.events.map(({ number, kind }) => `${number} ${kind}`).join(', ') || 'without any event'}`);
    const planted = values.plant ? ' --plant' : '';
    say(
      `  npm run simulate -- --seed ${seed}${chosen}${planted} --events ${eventsOf(smallest).join(',') || '0'} --trace`,
    );
    if (values.first) break;
  }
  const days = simulatedMs / DAY_MS;
  const { user, system } = process.cpuUsage(begunWith);
  const seconds = (user + system) / 1_000_000;
  const pace = `${seconds.toFixed(1)} s of processor time (${((days / seconds) * 60).toFixed(0)} days a minute)`;
  say(`${done} seeds, ${days.toFixed(1)} simulated days, ${pace}: ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.on('SIGINT', () => process.exit(3));
process.exit(await main());
