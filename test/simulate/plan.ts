import { SeededRandom } from './random.ts';

/** Kinds of events. Everything else that an event needs follows from its number. */
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
  'node-parts-then-goes',
  'node-forgets',
  'reorganisation',
  'locks-withheld',
  'store-gone',
  'store-empty',
  'store-denied',
  'store-full',
  'store-lies',
  'store-slow',
  'store-lists-late',
  'store-loses-object',
  'store-rots',
  'store-loses-power',
  'store-collects',
  'store-wiped',
  'stores-wiped',
  'store-deleted',
  'store-moved',
  'store-removed',
  'settings-changed',
  'store-unpins',
  'store-lists-wrongly',
  'store-shared',
  'object-poisoned',
  'peer-away',
  'peer-slow',
  'peer-lies',
  'peer-empty',
  'peer-withholds',
  'peer-parts',
  'peers-compared',
  'crash',
  'crash-in-change',
  'other-crash',
  'power-loss',
  'stop',
  'disk-full',
  'disk-reads-fail',
  'disk-writes-fail',
  'file-rots',
  'row-rots',
  'file-unreadable',
  'disk-refuses-some',
  'folder-lost',
  'catalog-lost',
  'clock-steps',
  'clock-drifts',
  'blobs-change',
  'withhold',
  'revoke',
  'scrub',
  'audit',
  'job-check',
  'job-repair',
  'job-rebuild',
  'job-backfill',
  'job-attest',
  'job-export',
  'job-import',
  'bundle-rots',
  'job-cancelled',
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

/** Choices of the operator, who may make others and start the archiver again. */
export interface Settings {
  readonly mode: 'keep' | 'cache';
  readonly replicasRequired: number;
  readonly finality: string;
  readonly budgetBytes: number | null;
  readonly cacheBytes: number;
}

/** One archive, its surroundings, and what happens to them: all of it follows from the seed. */
export interface Plan extends Settings {
  readonly seed: number;
  readonly days: number;
  /** The last days of these, in which little happens. */
  readonly quietDays: number;
  readonly nodes: number;
  readonly stores: readonly { readonly id: string; readonly kind: 's3' | 'kubo' }[];
  readonly blockSeconds: number;
  readonly blobsPerBlock: number;
  /** Share of blobs that are larger than a row may be. */
  readonly shareOfFiles: number;
  /** Bytes of the largest of the other blobs. */
  readonly maxSmallBytes: number;
  /** No setting says where the walk begins: it begins at the start of the window. */
  readonly startsAtWindow: boolean;
  /** Milliseconds that a sleeping loop may sleep past its time. */
  readonly patienceMs: number;
  /** Nodes answer `waitfornewblock`; some proxies before nodes do not. */
  readonly answersWaits: boolean;
  /** Another archiver works for itself, and keeps its copies at the same places. */
  readonly hasOther: boolean;
  /** The number of 256 blobs that each peer has. */
  readonly peers: readonly number[];
  readonly events: readonly PlannedEvent[];
}

export function isFault(kind: string): kind is (typeof FAULTS)[number] {
  return FAULTS.some((one) => one === kind);
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Events that happen together, and the archive for them: two that never meet by chance show nothing. */
export interface Theme {
  readonly kinds: readonly FaultKind[];
  readonly world: (random: SeededRandom) => Partial<Omit<Plan, 'seed' | 'days' | 'events'>>;
  /** Least minutes that an event lasts; left out: one. */
  readonly leastMinutes?: number;
  /** Days that even a short seed has: a node drops a blob after six hours, and only then can it be lost. Left out: none. */
  readonly leastDays?: number;
  /** Hours before the first event. Left out: none. */
  readonly quietHours?: number;
}

/** Many blobs in few blocks. */
const DENSE = { blockSeconds: 900, blobsPerBlock: 2 } as const;
const S3 = { id: 'store-1', kind: 's3' } as const;

export const THEMES: Readonly<Record<string, Theme>> = {
  conflict: {
    kinds: ['node-parts-then-goes', 'node-parts', 'node-away', 'node-restart'],
    leastMinutes: 40,
    world: (random) => ({
      nodes: 2,
      finality: `depth:${random.between(2, 4)}`,
      blockSeconds: 600,
      patienceMs: 300_000,
    }),
  },
  cache: {
    kinds: ['store-deleted', 'store-deleted', 'store-wiped', 'store-gone', 'crash', 'stop'],
    world: (random) => ({
      ...{ mode: 'cache', stores: [S3], replicasRequired: 1, ...DENSE },
      budgetBytes: random.between(60_000, 200_000),
    }),
  },
  evictions: {
    kinds: [
      'crash-in-change',
      'crash-in-change',
      'power-loss',
      'disk-writes-fail',
      'file-unreadable',
      'file-unreadable',
    ]
      .concat(['file-rots', 'store-gone', 'stop'])
      .filter(isFault),
    leastMinutes: 20,
    world: (random) => ({
      ...{ mode: 'cache', stores: [S3], replicasRequired: 1, ...DENSE, shareOfFiles: 0.8 },
      budgetBytes: random.between(150_000, 400_000),
    }),
  },
  'bad-disk': {
    kinds: ['file-unreadable', 'file-rots', 'row-rots', 'disk-reads-fail', 'scrub'],
    world: (random) => ({
      ...{ mode: 'keep', stores: random.chance(0.7) ? [S3] : [], replicasRequired: 1, shareOfFiles: 0.6 },
    }),
  },
  'bad-folder': {
    kinds: ['disk-refuses-some', 'disk-full', 'disk-writes-fail'],
    world: (random) => ({
      ...{ mode: random.pick(['keep', 'cache'] as const), stores: [S3], replicasRequired: 1 },
      ...{ ...DENSE, shareOfFiles: 0.8 },
    }),
  },
  moving: {
    kinds: ['store-moved', 'store-moved', 'store-deleted', 'crash'],
    world: (random) => ({
      mode: 'cache',
      stores: [S3],
      replicasRequired: 1,
      budgetBytes: random.pick([null, 150_000]),
    }),
  },
  restored: {
    kinds: ['folder-lost', 'catalog-lost', 'locks-withheld', 'store-loses-object', 'store-loses-object', 'audit']
      .concat(['audit', 'store-gone'])
      .filter(isFault),
    leastDays: 0.5,
    world: (random) => ({
      ...{ stores: [S3], replicasRequired: 1, finality: 'chainlock', startsAtWindow: random.chance(0.7) },
    }),
  },
  'take-downs': {
    kinds: ['withhold', 'withhold', 'revoke', 'crash', 'power-loss', 'store-gone', 'catalog-lost'],
    world: () => ({ shareOfFiles: 0.3 }),
  },
  poison: {
    kinds: ['object-poisoned', 'scrub', 'scrub', 'store-rots', 'store-rots', 'job-check'],
    leastMinutes: 240,
    leastDays: 0.5,
    world: () => ({ mode: 'cache', stores: [S3], replicasRequired: 1, ...DENSE }),
  },
  jobs: {
    kinds: ['job-check', 'job-repair', 'job-rebuild', 'job-backfill', 'job-attest', 'job-cancelled', 'crash', 'stop']
      .concat(['store-rots', 'store-loses-object', 'file-rots', 'row-rots', 'store-gone', 'node-forgets'])
      .filter(isFault),
    world: () => ({ shareOfFiles: 0.4 }),
  },
  peers: {
    kinds: ['node-forgets', 'node-away', 'peer-away', 'peer-lies', 'peer-empty', 'peer-withholds', 'job-backfill']
      .concat(['peer-parts', 'peers-compared', 'peers-compared', 'peers-compared', 'folder-lost', 'store-rots'])
      .filter(isFault),
    leastMinutes: 30,
    world: (random) => ({ peers: random.pick([[256], [128], [256, 64]]), ...DENSE }),
  },
  configuration: {
    kinds: ['store-removed', 'store-removed', 'store-moved', 'stop', 'catalog-lost', 'store-rots', 'store-empty']
      .concat(['store-shared', 'store-shared', 'settings-changed', 'settings-changed'])
      .filter(isFault),
    leastMinutes: 30,
    world: (random) => ({
      ...{ stores: [S3, { id: 'store-2', kind: random.chance(0.7) ? 's3' : 'kubo' }], replicasRequired: 1 },
      mode: random.pick(['keep', 'cache'] as const),
    }),
  },
  kubo: {
    kinds: ['store-unpins', 'store-collects', 'store-loses-power', 'store-gone', 'scrub', 'job-repair', 'crash'],
    world: (random) => ({
      ...{ mode: random.pick(['keep', 'cache'] as const), replicasRequired: 1 },
      stores: [{ id: 'store-1', kind: 'kubo' }],
      budgetBytes: random.between(60_000, 400_000),
    }),
  },
  listings: {
    kinds: [
      'store-lists-late',
      'store-lists-wrongly',
      'catalog-lost',
      'scrub',
      'job-check',
      'job-rebuild',
      'store-rots',
    ],
    leastMinutes: 60,
    world: () => ({ stores: [S3], replicasRequired: 1 }),
  },
  settings: {
    kinds: ['settings-changed', 'settings-changed', 'store-gone', 'store-rots', 'crash', 'job-repair', 'file-rots'],
    leastMinutes: 10,
    world: (random) => ({
      stores: random.pick([[S3], [S3, { id: 'store-2', kind: 's3' }]]),
      shareOfFiles: 0.4,
    }),
  },
  shared: {
    kinds: ['other-crash', 'crash', 'store-rots', 'store-loses-object', 'store-gone', 'store-empty', 'store-lists-late']
      .concat(['catalog-lost', 'scrub', 'job-repair', 'job-rebuild', 'withhold', 'revoke', 'reorganisation'])
      .filter(isFault),
    world: (random) => ({
      ...{ hasOther: true, stores: random.pick([[S3], [S3, { id: 'store-2', kind: 's3' }]]), replicasRequired: 1 },
      mode: random.pick(['keep', 'cache'] as const),
      budgetBytes: random.pick([null, 150_000]),
      shareOfFiles: 0.3,
    }),
  },
  clocks: {
    kinds: ['clock-steps', 'clock-drifts', 'clock-drifts', 'stop', 'store-gone', 'node-away'],
    world: () => ({}),
  },
  power: {
    kinds: ['power-loss', 'power-loss', 'crash', 'stop', 'store-loses-power'],
    world: () => ({ shareOfFiles: 0.5 }),
  },
  bundles: {
    kinds: ['job-export', 'job-export', 'job-import', 'job-import', 'job-import', 'folder-lost', 'crash', 'power-loss']
      .concat(['withhold', 'revoke', 'bundle-rots', 'store-wiped', 'store-loses-object', 'disk-full'])
      .filter(isFault),
    leastDays: 0.25,
    quietHours: 1,
    world: () => ({ ...DENSE, shareOfFiles: 0.3, patienceMs: 300_000 }),
  },
  sizes: {
    kinds: ['blobs-change', 'blobs-change', 'store-gone', 'crash', 'stop'],
    world: (random) => ({
      ...{ mode: 'cache', stores: [S3], replicasRequired: 1, ...DENSE },
      ...{ shareOfFiles: random.pick([0, 1]), maxSmallBytes: 65_000, budgetBytes: random.between(300_000, 400_000) },
    }),
  },
  loss: {
    kinds: ['store-wiped', 'stores-wiped', 'stores-wiped', 'scrub', 'node-forgets', 'store-gone', 'node-away']
      .concat(['peer-away'])
      .filter(isFault),
    leastMinutes: 30,
    leastDays: 0.5,
    quietHours: 7,
    world: (random) => ({
      ...{ mode: 'cache', stores: random.pick([[S3], [S3, { id: 'store-2', kind: 's3' }]]), replicasRequired: 1 },
      ...{ ...DENSE, nodes: random.pick([1, 2]), peers: random.pick([[], [256]]), cacheBytes: 1_000_000 },
      budgetBytes: random.between(60_000, 150_000),
    }),
  },
};

/**
 * `aged`: a few hours in which much happens, then days with little, up to a week. `short`: those hours alone. `long`: days in
 * which much happens.
 */
export const LENGTHS = ['aged', 'short', 'long'] as const;
export type Length = (typeof LENGTHS)[number];

/** Choices of the caller that replace those of the seed. */
export interface Chosen {
  /** The only kinds of events that happen; null: the seed chooses. */
  readonly kinds: readonly FaultKind[] | null;
  /** A name of `THEMES`. */
  readonly theme: string | null;
  readonly length: Length;
}

const OF_THE_SEED: Chosen = { kinds: null, theme: null, length: 'aged' };
const SHORT_DAYS = 1 / 8;
const QUIET_DAYS = [2, 3, 4, 5, 6, 7];

/** Number of the first event in the quiet days. */
const LATE = 500;

/** Half of the seeds have a theme, the others a few kinds: two that meet often show more than forty that never do. */
export function planOf(seed: number, chosen: Chosen = OF_THE_SEED): Plan {
  const random = new SeededRandom(`plan ${seed}`);
  const theme = themeOf(random, chosen);
  const some = chosen.kinds ?? theme?.kinds ?? Array.from({ length: random.between(2, 6) }, () => random.pick(FAULTS));
  const longDays = random.pick([0.5, 0.5, 1, 2]);
  const busyDays = Math.max(chosen.length === 'long' ? longDays : SHORT_DAYS, theme?.leastDays ?? 0);
  const count = random.pick([0, 1, 1, 2, 2, 3]);
  const given = theme?.world(random) ?? {};
  const stores =
    given.stores ??
    Array.from({ length: count }, (_, index) => ({
      id: `store-${index + 1}`,
      kind: random.chance(0.25) ? ('kubo' as const) : ('s3' as const),
    }));
  const mode = given.mode ?? (stores.length === 0 || random.chance(0.4) ? ('keep' as const) : ('cache' as const));
  const counting = stores.length + (mode === 'keep' ? 1 : 0);
  const plan = {
    nodes: random.pick([1, 1, 2]),
    replicasRequired: random.between(1, Math.min(counting, 2)),
    finality: random.chance(0.75) ? 'chainlock' : `depth:${random.between(2, 6)}`,
    blockSeconds: random.pick([600, 900, 1_800]),
    blobsPerBlock: random.pick([0.3, 1, 2]),
    budgetBytes: mode === 'cache' && random.chance(0.5) ? random.between(200_000, 2_000_000) : null,
    shareOfFiles: random.pick([0.1, 0.2, 0.5]),
    maxSmallBytes: 4_000,
    startsAtWindow: random.chance(0.2),
    patienceMs: random.pick([900_000, 1_800_000, 3_600_000]),
    answersWaits: random.chance(0.4),
    hasOther: random.chance(0.06),
    cacheBytes: random.chance(0.5) ? 1_000_000 : 0,
    peers: random.pick([[], [], [128], [256, 64]]),
    ...given,
    ...{ seed, days: busyDays, quietDays: 0, stores, mode },
    events: eventsOf(random, some, busyDays, theme ?? {}),
  };
  return chosen.length === 'aged' ? aged(plan, some) : plan;
}

/** The same with quiet days behind it, in which an event or two find what has become old. */
function aged(plan: Plan, some: readonly FaultKind[]): Plan {
  const random = new SeededRandom(`quiet days ${plan.seed}`);
  const quietDays = random.pick(QUIET_DAYS);
  const late = Array.from({ length: random.between(0, 2) }, (_, index) => ({
    number: LATE + index,
    atMs: Math.floor((plan.days + random.next() * quietDays) * DAY_MS),
    forMs: Math.floor(2 ** (random.next() * 7.5) * 60_000),
    kind: random.pick(some),
  }));
  const events = [...plan.events, ...late].sort((a, b) => a.atMs - b.atMs || a.number - b.number);
  return { ...plan, days: plan.days + quietDays, quietDays, events };
}

function themeOf(random: SeededRandom, { kinds, theme }: Chosen): Theme | null {
  const isThemed = random.chance(0.5);
  const picked = random.pick(Object.values(THEMES));
  if (theme !== null) return THEMES[theme] ?? null;
  return kinds === null && isThemed ? picked : null;
}

/** Some begin while the one before is not over. */
function eventsOf(
  random: SeededRandom,
  kinds: readonly FaultKind[],
  days: number,
  { leastMinutes = 1, quietHours = 0 }: Partial<Theme>,
): PlannedEvent[] {
  const lengthMs = days * DAY_MS;
  const quietMs = quietHours * HOUR_MS;
  const longestMs = Math.max(lengthMs, leastMinutes * 60_000);
  const events: PlannedEvent[] = [];
  const count = random.between(1, 8 + 8 * days);
  for (let number = 1; number <= count; number += 1) {
    const before = events.at(-1);
    const [isNear, place] = [random.chance(0.4), random.next()];
    const atMs =
      before !== undefined && isNear
        ? before.atMs + place * before.forMs
        : quietMs + place * Math.max(lengthMs - quietMs, 0);
    const chanceMs = Math.floor(Math.max(leastMinutes, 2 ** (random.next() * 8.5)) * 60_000);
    const forMs = Math.min(chanceMs, longestMs);
    events.push({ number, atMs: Math.floor(Math.min(atMs, lengthMs - 1)), forMs, kind: random.pick(kinds) });
  }
  return events.sort((a, b) => a.atMs - b.atMs || a.number - b.number);
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
