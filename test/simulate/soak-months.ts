import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { makeDurableFolder } from '../../src/storage/local/durable-file.ts';
import { nameOfMine } from '../left-folders.ts';
import { temporaryParent } from '../temporary-parent.ts';
import { knowingHashes } from './known-hashes.ts';
import { inMiB, MemoryCurve } from './memory-curve.ts';
import { DAY_MS, type FaultKind, type Plan, planOf } from './plan.ts';
import { SeededRandom } from './random.ts';
import { replaceMachine, type World } from './simulated-process.ts';
import { Simulation } from './simulation.ts';

/**
 * Months in one process, which is never killed: `<days> <seed>`. Each week it tells its memory. The simulation's own chain and
 * buckets grow by every block and blob: their buffers are told apart, and their heap stays when the archiver ends.
 */
const [days = 182, seed = 1] = process.argv.slice(2).map(Number);
const WEEK_DAYS = 7;
/** A run of so many days comes first: the archiver of the long one may not be larger. */
const FIRST_DAYS = 14;
/** More each week is a leak. */
const MAX_BYTES_A_WEEK = 32_768;
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
const hasher = knowingHashes(await createNodeHasher());
await makeDurableFolder(root);
const machine: { world: World | null } = { world: null };
replaceMachine(() => {
  if (machine.world === null) throw new Error('nothing is simulated now');
  return machine.world;
});

/**
 * Bytes of the heap that the archiver has at the end of so many days, which are given back when it ends. What the simulation has
 * read of its catalog is none of them.
 */
async function archiverAfter(days: number, curve: MemoryCurve): Promise<number> {
  const simulation = new Simulation(planOfDays(days), join(root, String(days)), hasher, null);
  machine.world = simulation.world;
  const { time, truth } = simulation;
  let weeks = 0;
  let lastBytes = 0;
  const tellWeekly = () => {
    weeks += 1;
    const isLast = (weeks + 1) * WEEK_DAYS > days;
    if (isLast) simulation.forgetClaims();
    const { said, heapBytes } = curve.note(weeks, simulation.worldBytes + hasher.heldBytes);
    lastBytes = heapBytes;
    say(
      `week ${weeks}: ${said}; block ${truth.main.chain.tip.height}, ${truth.contents.size} blobs, ${time.ran} turns`,
    );
    if (!isLast) time.after(WEEK_DAYS * DAY_MS, 'world', tellWeekly);
  };
  time.after(WEEK_DAYS * DAY_MS, 'world', tellWeekly);
  const { violation } = await simulation.run();
  if (violation !== null) throw violation;
  return lastBytes - new MemoryCurve().note(weeks).heapBytes;
}

const firstBytes = await archiverAfter(FIRST_DAYS, new MemoryCurve());
const curve = new MemoryCurve();
const lastBytes = await archiverAfter(days, curve);
const slope = ((lastBytes - firstBytes) / (days - FIRST_DAYS)) * WEEK_DAYS;
const { user, system } = process.cpuUsage();
say(`${days} days in ${((user + system) / 1e6).toFixed(0)} s of processor time, with ${days * EVENTS_A_DAY} events`);
const aWeek = (of: Parameters<MemoryCurve['slope']>[0]) => `${inMiB(curve.slope(of))} a week`;
say(`simulation included: heap ${aWeek('heapBytes')}, resident ${aWeek('residentBytes')}`);
say(`without the buffers of the world: buffers ${aWeek('bufferBytes')}, native memory ${aWeek('nativeBytes')}`);
say(`heap of the archiver: ${inMiB(firstBytes)} after ${FIRST_DAYS} days, ${inMiB(lastBytes)} after ${days}`);
say(`slope of the archiver's heap: ${inMiB(slope)} a week`);
process.exit(slope < MAX_BYTES_A_WEEK ? 0 : 1);
