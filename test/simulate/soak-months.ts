import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { makeDurableFolder } from '../../src/storage/local/durable-file.ts';
import { nameOfMine } from '../left-folders.ts';
import { temporaryParent } from '../temporary-parent.ts';
import { Bundles } from './bundles.ts';
import { Calm } from './calm.ts';
import { Commands } from './commands.ts';
import { Comparisons } from './comparisons.ts';
import { Faults } from './faults.ts';
import { Invariants } from './invariants.ts';
import { inFile } from './kept-bytes.ts';
import { inMiB, MemoryCurve } from './memory-curve.ts';
import { DAY_MS, type FaultKind, type Plan, planOf } from './plan.ts';
import { SeededRandom } from './random.ts';
import { CODE, type Held, LIMITED, reachableHeap } from './reachable-heap.ts';
import { Branch } from './simulated-chain.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { SimulatedNode } from './simulated-node.ts';
import { SimulatedPeer } from './simulated-peer.ts';
import { replaceMachine, type World } from './simulated-process.ts';
import { SimulatedStore } from './simulated-store.ts';
import { Simulation } from './simulation.ts';
import { Truth } from './truth.ts';

/**
 * Months in one process, which is never killed: `<days> <seed>`. Each week it tells its memory. The simulation's own chain and
 * buckets grow by every block and blob: they are told apart.
 */
const [days = 182, seed = 1] = process.argv.slice(2).map(Number);
const WEEK_DAYS = 7;
/** More each week is a leak. */
const MAX_BYTES_A_WEEK = 32_768;
/** The same for native memory. It grows by SQLite's pages of a catalog that grows, up to a limit, and by heads of the world's buffers. */
const MAX_NATIVE_BYTES_A_WEEK = 524_288;
/** Owners whose growth is told, the largest first. */
const MAX_OWNERS_TOLD = 8;
const EVENTS_A_DAY = 3;
/** Everything that leaves the process, the settings and the bytes of its folder as they are. */
const KINDS: readonly FaultKind[] = [
  ...([
    'node-away',
    'node-slow',
    'node-lags',
    'node-parts',
    'node-resets',
    'node-warming-up',
    'reorganisation',
  ] as const),
  ...(['store-gone', 'store-denied', 'store-slow', 'store-rots', 'store-loses-object', 'store-lists-late'] as const),
  ...(['disk-full', 'disk-reads-fail', 'clock-steps', 'clock-drifts', 'withhold', 'revoke', 'peer-lies'] as const),
  ...(['scrub', 'audit', 'job-check', 'job-repair', 'job-backfill', 'job-attest', 'job-cancelled'] as const),
];

function planOfDays(days: number): Plan {
  const random = new SeededRandom(`months ${seed}`);
  return {
    ...planOf(seed),
    ...{
      nodes: 2,
      mode: 'cache',
      replicasRequired: 1,
      finality: 'chainlock',
      budgetBytes: 300_000,
      cacheBytes: 1_000_000,
    },
    ...{
      answersWaits: true,
      hasOther: false,
      startsAtWindow: false,
      blobsPerBlock: 1,
      shareOfFiles: 0.05,
      peers: [128],
    },
    ...{ seed, days, quietDays: days, patienceMs: 1_800_000 },
    stores: [
      { id: 'store-1', kind: 's3' },
      { id: 'store-2', kind: 's3' },
    ],
    events: Array.from({ length: days * EVENTS_A_DAY }, (_, index) => ({
      number: index + 1,
      atMs: Math.floor(((index + random.next()) / EVENTS_A_DAY) * DAY_MS),
      forMs: Math.floor(2 ** (random.next() * 7) * 60_000),
      kind: random.pick(KINDS),
    })),
  };
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const root = mkdtempSync(join(temporaryParent(), nameOfMine('simulation')));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
const hasher = await createNodeHasher();
await makeDurableFolder(root);
const machine: { world: World | null } = { world: null };
replaceMachine(() => {
  if (machine.world === null) throw new Error('nothing is simulated now');
  return machine.world;
});

/** Objects of these classes are the world, with all behind them. */
const WORLD: ReadonlySet<string> = new Set(
  [Branch, Bundles, Calm, Commands, Comparisons, Faults, Invariants]
    .map(({ name }) => name)
    .concat([SimulatedDisk, SimulatedNode, SimulatedPeer, SimulatedStore, Truth].map(({ name }) => name)),
);

let runs = 0;

/** Lives through the days, and looks at the end of each week. */
async function live(look: (week: number, simulation: Simulation) => void): Promise<void> {
  runs += 1;
  const keep = inFile(join(root, `kept ${runs}`));
  const simulation = new Simulation(planOfDays(days), join(root, String(runs)), hasher, null, keep);
  machine.world = simulation.world;
  let week = 0;
  const lookWeekly = () => {
    week += 1;
    // No power fails here: what the disk keeps for that would grow.
    simulation.disk.forget();
    look(week, simulation);
    if ((week + 1) * WEEK_DAYS <= days) simulation.time.after(WEEK_DAYS * DAY_MS, 'world', lookWeekly);
  };
  simulation.time.after(WEEK_DAYS * DAY_MS, 'world', lookWeekly);
  const { violation } = await simulation.run();
  if (violation !== null) throw violation;
}

const curve = new MemoryCurve();
await live((week, simulation) => {
  const { time, truth } = simulation;
  const said = curve.note(week, simulation.worldBytes);
  const blocks = truth.main.chain.tip.height;
  say(`week ${week}: ${said}; block ${blocks}, ${truth.contents.size} blobs, ${time.ran} turns`);
});
const aWeek = (bytes: number) => `${inMiB(bytes)} a week`;
const nativeSlope = curve.slope('nativeBytes');
say(`simulation included: heap ${aWeek(curve.slope('heapBytes'))}, resident ${aWeek(curve.slope('residentBytes'))}`);
say(
  `without the buffers of the world: buffers ${aWeek(curve.slope('bufferBytes'))}, native memory ${aWeek(nativeSlope)}`,
);

// A second life through the same days: pictures of the heap would be among the native memory of the first one.
const pictures = new Map<number, ReadonlyMap<string, Held>>();
const lastWeek = Math.floor(days / WEEK_DAYS);
const firstWeek = Math.ceil(lastWeek / 4);
await live((week) => {
  if (week === firstWeek || week === lastWeek) pictures.set(week, reachableHeap(join(root, 'picture'), WORLD));
});
const [first, last] = [pictures.get(firstWeek), pictures.get(lastWeek)];
if (first === undefined || last === undefined) throw new Error('a soak takes two weeks or more');
const NOTHING: Held = { heapBytes: 0, bufferBytes: 0 };
const grown = [...last]
  .map(([owner, { heapBytes }]) => ({ owner, bytes: heapBytes - (first.get(owner) ?? NOTHING).heapBytes }))
  .sort((one, other) => other.bytes - one.bytes);
const ofParts = grown.filter(({ owner }) => owner !== CODE && owner !== LIMITED);
const heapSlope = ofParts.reduce((sum, { bytes }) => sum + bytes, 0) / (lastWeek - firstWeek);
const { user, system } = process.cpuUsage();
const seconds = ((user + system) / 1e6).toFixed(0);
say(`${days} days, twice, in ${seconds} s of processor time, with ${days * EVENTS_A_DAY} events`);
for (const [owner, what] of [
  [CODE, 'heapBytes'],
  [LIMITED, 'heapBytes'],
  [LIMITED, 'bufferBytes'],
] as const) {
  const [before, after] = [first, last].map((picture) => inMiB((picture.get(owner) ?? NOTHING)[what]));
  say(
    `${owner}, ${what === 'heapBytes' ? 'heap' : 'buffers'}: ${before} after ${firstWeek} weeks, ${after} after ${lastWeek}`,
  );
}
for (const { owner, bytes } of ofParts.slice(0, MAX_OWNERS_TOLD)) say(`  of the rest grew ${owner}: by ${bytes} bytes`);
say(`slope of the rest of the archiver's heap: ${aWeek(heapSlope)}; of its native memory: ${aWeek(nativeSlope)}`);
process.exit(heapSlope < MAX_BYTES_A_WEEK && nativeSlope < MAX_NATIVE_BYTES_A_WEEK ? 0 : 1);
