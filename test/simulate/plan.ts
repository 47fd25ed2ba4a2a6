import { SeededRandom } from './random.ts';

/** What can happen, and for how long. Everything that it needs besides follows from the number of the event. */
export const FAULTS = [
  'node-away',
  'node-restart',
  'node-slow',
  'node-resets',
  'node-warming-up',
  'node-wrong-bytes',
  'node-loses-entries',
  'node-lags',
  'node-parts',
  'node-forgets',
  'reorganisation',
  'locks-withheld',
  'store-gone',
  'store-empty',
  'store-denied',
  'store-lies',
  'store-slow',
  'store-lists-late',
  'store-loses-object',
  'store-rots',
  'store-loses-power',
  'store-collects',
  'store-wiped',
  'crash',
  'power-loss',
  'stop',
  'disk-full',
  'disk-reads-fail',
  'disk-writes-fail',
  'file-rots',
  'clock-steps',
  'withhold',
  'revoke',
  'scrub',
] as const;
export type FaultKind = (typeof FAULTS)[number] | typeof PLANTED;
/** A loss that the simulation does not own up to: as if the archiver had claimed what is not so. For the test of the tests. */
export const PLANTED = 'planted-loss';

export interface PlannedEvent {
  /** Stays the same when others are left out. */
  readonly number: number;
  readonly atMs: number;
  readonly forMs: number;
  readonly kind: FaultKind;
}

/** One archive, its surroundings, and what happens to them: all of it follows from the seed. */
export interface Plan {
  readonly seed: number;
  readonly days: number;
  readonly nodes: number;
  readonly stores: readonly { readonly id: string; readonly kind: 's3' | 'kubo' }[];
  readonly mode: 'keep' | 'cache';
  readonly replicasRequired: number;
  readonly finality: string;
  readonly blockSeconds: number;
  readonly blobsPerBlock: number;
  readonly budgetBytes: number | null;
  readonly cacheBytes: number;
  /** How long whoever sleeps may sleep on. */
  readonly patienceMs: number;
  /** Nodes answer `waitfornewblock`; some proxies before nodes do not. */
  readonly answersWaits: boolean;
  readonly events: readonly PlannedEvent[];
}

export function isFault(kind: string): kind is (typeof FAULTS)[number] {
  return FAULTS.some((one) => one === kind);
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** `kinds`: what may happen; null: a few kinds that follow from the seed, because two that meet often show more than thirty that never do. */
export function planOf(seed: number, kinds: readonly FaultKind[] | null = null): Plan {
  const random = new SeededRandom(`plan ${seed}`);
  const some = kinds ?? Array.from({ length: random.between(2, 6) }, () => random.pick(FAULTS));
  const count = random.pick([0, 1, 1, 2, 2, 3]);
  const stores = Array.from({ length: count }, (_, index) => ({
    id: `store-${index + 1}`,
    kind: random.chance(0.25) ? ('kubo' as const) : ('s3' as const),
  }));
  const mode = count === 0 || random.chance(0.4) ? ('keep' as const) : ('cache' as const);
  const counting = count + (mode === 'keep' ? 1 : 0);
  const days = random.pick([0.5, 0.5, 1, 2]);
  const lengthMs = days * DAY_MS;
  const events = Array.from({ length: random.between(1, 4 + 4 * days) }, (_, index) => ({
    number: index + 1,
    atMs: Math.floor(random.next() * lengthMs),
    forMs: Math.floor(60_000 * 2 ** (random.next() * 8.5)),
    kind: random.pick(some),
  }));
  return {
    ...{ seed, days, stores, mode },
    nodes: random.pick([1, 1, 2]),
    replicasRequired: random.between(1, Math.min(counting, 2)),
    finality: random.chance(0.75) ? 'chainlock' : `depth:${random.between(2, 6)}`,
    blockSeconds: random.pick([300, 600, 900]),
    blobsPerBlock: random.pick([0.3, 1, 2]),
    budgetBytes: mode === 'cache' && random.chance(0.5) ? random.between(200_000, 2_000_000) : null,
    patienceMs: random.pick([300_000, 900_000, 1_800_000]),
    answersWaits: random.chance(0.4),
    cacheBytes: random.chance(0.5) ? 1_000_000 : 0,
    events: events.sort((a, b) => a.atMs - b.atMs || a.number - b.number),
  };
}

/** The same with these events alone. */
export function only(plan: Plan, numbers: readonly number[]): Plan {
  return { ...plan, events: plan.events.filter(({ number }) => numbers.includes(number)) };
}

/** The same with a loss that nothing excuses. */
export function withPlantedLoss(plan: Plan): Plan {
  const planted = { number: 1_000, atMs: plan.days * DAY_MS - HOUR_MS, forMs: 0, kind: PLANTED } as const;
  return { ...plan, events: [...plan.events, planted] };
}
