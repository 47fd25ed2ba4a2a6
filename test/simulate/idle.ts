import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Notifier } from '../../src/core/notifier.ts';
import { createNodeHasher } from '../../src/hashing/index.ts';
import { makeDurableFolder } from '../../src/storage/local/durable-file.ts';
import { nameOfMine } from '../left-folders.ts';
import { temporaryParent } from '../temporary-parent.ts';
import { type Plan, planOf } from './plan.ts';
import { replaceMachine, type World } from './simulated-process.ts';
import { Simulation } from './simulation.ts';

/** An archiver with two buckets: some blobs arrive, all of them become stored, and then nothing happens. */
const PLAN: Plan = {
  ...planOf(1),
  ...{
    nodes: 1,
    mode: 'keep',
    replicasRequired: 2,
    finality: 'chainlock',
    answersWaits: true,
    hasOther: false,
    patienceMs: 0,
    events: [],
    peers: [],
  },
  stores: [
    { id: 'store-1', kind: 's3' },
    { id: 'store-2', kind: 's3' },
  ],
};
const BLOBS = 20;
const MINUTE_MS = 60_000;
const WARM_UP_MS = 30 * MINUTE_MS;
const IDLE_MINUTES = 20;

const root = mkdtempSync(join(temporaryParent(), nameOfMine('idle')));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
const hasher = await createNodeHasher();
await makeDurableFolder(root);
const machine: { world: World | null } = { world: null };
replaceMachine(() => {
  if (machine.world === null) throw new Error('nothing is simulated now');
  return machine.world;
});

/** Every loop of the archive sleeps here, and nowhere else. */
let wakeUps = 0;
const { wait } = Notifier.prototype;
Notifier.prototype.wait = async function (timeoutMs, signal) {
  await wait.call(this, timeoutMs, signal);
  wakeUps += 1;
};

const simulation = new Simulation(PLAN, join(root, 'idle'), hasher, null);
machine.world = simulation.world;
const { time, truth, nodes } = simulation;
const pass = (ms: number) => time.runUntil(time.steadyMs + ms, () => true);
simulation.start();
await pass(MINUTE_MS);
for (let blob = 0; blob < BLOBS; blob += 1) simulation.submit(truth.main);
truth.main.mine(300);
for (const node of nodes) node.notify();
await pass(WARM_UP_MS);
const { stored, spooled, seen } = simulation.life?.catalog.totals() ?? {};
wakeUps = 0;
await pass(IDLE_MINUTES * MINUTE_MS);
process.stdout.write(JSON.stringify({ stored, spooled, seen, wakeUpsPerMinute: wakeUps / IDLE_MINUTES }));
process.exit(0);
