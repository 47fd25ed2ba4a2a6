import { FAULTS, type FaultKind, PLANTED, type Plan, planOf } from './plan.ts';

export const BACKENDS = ['disk', 's3', 'kubo', 'catalog', 'node', 'peer', 'clock'] as const;
export type MatrixBackend = (typeof BACKENDS)[number];

export const MOMENTS = ['before', 'write', 'stored', 'scrub', 'eviction', 'check'] as const;
export type Moment = (typeof MOMENTS)[number];

export const MOMENT_WORDS: Readonly<Record<Moment, string>> = {
  before: 'before a write',
  write: 'during a write',
  stored: 'after stored',
  scrub: 'during a scrub',
  eviction: 'during an eviction',
  check: 'during a check',
};

/** One cell of the matrix. `reason`: why this fault at this moment says nothing; null: it is run. */
export interface Cell {
  readonly backend: MatrixBackend;
  readonly fault: string;
  readonly kind: FaultKind | null;
  readonly moment: Moment;
  readonly reason: string | null;
}

type Where = readonly MatrixBackend[] | string;

const DISK = ['disk'] as const;
const STORES = ['s3', 'kubo'] as const;
const NODE = ['node'] as const;
const PEER = ['peer'] as const;
const PROCESS = ['disk', 's3', 'kubo', 'node'] as const;
const CLOCK = ['clock'] as const;
const MEANWHILE = 'is work that a fault may meet, and no fault';

/** Backends that each kind of event happens to, or why it happens to none. A kind that comes new is added here. */
const HOMES: Readonly<Record<(typeof FAULTS)[number], Where>> = {
  'node-away': NODE,
  'node-restart': NODE,
  'node-slow': NODE,
  'node-resets': NODE,
  'node-warming-up': NODE,
  'node-wrong-bytes': NODE,
  'node-loses-entries': NODE,
  'node-lags': NODE,
  'node-parts': NODE,
  'node-parts-then-goes': NODE,
  'node-forgets': NODE,
  reorganisation: NODE,
  'locks-withheld': NODE,
  'store-gone': STORES,
  'store-full': STORES,
  'stores-wiped': STORES,
  'peer-parts': PEER,
  'peers-compared': MEANWHILE,
  'blobs-change': 'is a change of what is published, and no fault',
  'bundle-rots': 'happens to a bundle, which no cell has',
  'job-export': MEANWHILE,
  'job-import': MEANWHILE,
  'store-empty': STORES,
  'store-denied': STORES,
  'store-lies': STORES,
  'store-slow': STORES,
  'store-lists-late': STORES,
  'store-loses-object': STORES,
  'store-rots': STORES,
  'store-loses-power': ['kubo'],
  'store-collects': ['kubo'],
  'store-wiped': STORES,
  'store-deleted': STORES,
  'store-moved': STORES,
  'store-removed': STORES,
  'settings-changed': 'is a choice of the operator, and no fault',
  'store-unpins': ['kubo'],
  'store-lists-wrongly': STORES,
  'store-shared': ['s3'],
  'object-poisoned': STORES,
  'peer-away': PEER,
  'peer-slow': PEER,
  'peer-lies': PEER,
  'peer-empty': PEER,
  'peer-withholds': PEER,
  crash: PROCESS,
  'crash-in-change': 'waits for a change of the disk, and has no moment of its own; the theme `evictions` has it',
  'other-crash': 'happens to another archiver; the theme `shared` has it',
  'power-loss': PROCESS,
  stop: PROCESS,
  'disk-full': DISK,
  'disk-reads-fail': DISK,
  'disk-writes-fail': DISK,
  'file-rots': DISK,
  'row-rots': DISK,
  'file-unreadable': DISK,
  'disk-refuses-some': DISK,
  'folder-lost': DISK,
  'catalog-lost': ['catalog'],
  'clock-steps': CLOCK,
  'clock-drifts': CLOCK,
  withhold: MEANWHILE,
  revoke: MEANWHILE,
  scrub: MEANWHILE,
  audit: MEANWHILE,
  'job-check': MEANWHILE,
  'job-repair': MEANWHILE,
  'job-rebuild': MEANWHILE,
  'job-backfill': MEANWHILE,
  'job-attest': MEANWHILE,
  'job-cancelled': MEANWHILE,
};

/** Faults that the simulation does not know, and where they are shown. */
const ELSEWHERE: readonly (readonly [MatrixBackend, fault: string, reason: string])[] = [
  ['catalog', 'EIO, EROFS, ENOSPC', "SQLite's own file calls are real here; test/faults has them with the real daemon"],
];

/** Takes or changes something that was stored. */
const HARMS_STORED: ReadonlySet<FaultKind> = new Set<FaultKind>([
  ...(['store-loses-object', 'store-rots', 'store-collects', 'store-wiped', 'stores-wiped', 'store-deleted'] as const),
  ...(['store-unpins', 'object-poisoned', 'file-rots', 'row-rots', 'file-unreadable', 'folder-lost'] as const),
]);

function reasonAgainst(backend: MatrixBackend, kind: FaultKind, moment: Moment): string | null {
  if (moment === 'before' && HARMS_STORED.has(kind)) return 'the blob is not there yet: nothing of it can come to harm';
  if (moment === 'eviction' && kind === 'store-removed') return 'a cache with one backend cannot be without it';
  if (backend === 'node' && (moment === 'scrub' || moment === 'check')) return 'a scrub and a check ask no node';
  if (backend === 'peer' && moment !== 'before' && moment !== 'write')
    return 'a peer is asked for what is missing alone';
  return null;
}

/** All cells, those without sense included, by backend, fault and moment. */
export function allCells(isPlanted: boolean): Cell[] {
  const kinds: readonly FaultKind[] = isPlanted ? [...FAULTS, PLANTED] : FAULTS;
  return BACKENDS.flatMap((backend) => [
    ...kinds
      .filter((kind) => homesOf(kind).includes(backend))
      .flatMap((kind) =>
        MOMENTS.map((moment) => {
          const reason = reasonAgainst(backend, kind, moment);
          return { backend, fault: kind, kind, moment, reason };
        }),
      ),
    ...ELSEWHERE.filter(([where]) => where === backend).flatMap(([, fault, reason]) =>
      MOMENTS.map((moment) => ({ backend, fault, kind: null, moment, reason })),
    ),
  ]);
}

/** Kinds of events that have no row, each with its reason. */
export function kindsWithoutRow(): (readonly [kind: string, reason: string])[] {
  return Object.entries(HOMES).flatMap(([kind, home]) => (typeof home === 'string' ? [[kind, home] as const] : []));
}

function homesOf(kind: FaultKind): readonly MatrixBackend[] {
  const home = kind === PLANTED ? ['s3' as const] : HOMES[kind];
  return typeof home === 'string' ? [] : home;
}

export const FILE_BYTES = 70_000;
export const ROW_BYTES = 2_000;
/** Room for the blobs of the warm-up, and not for one more file. */
const TIGHT_BYTES = 3 * FILE_BYTES + 20_000;

const S3 = { id: 's3', kind: 's3' } as const;
const KUBO = { id: 'kubo', kind: 'kubo' } as const;

const PLACES: Readonly<Record<MatrixBackend, Pick<Plan, 'mode' | 'stores' | 'replicasRequired' | 'peers'>>> = {
  disk: { mode: 'keep', stores: [S3], replicasRequired: 2, peers: [] },
  s3: { mode: 'cache', stores: [S3], replicasRequired: 1, peers: [] },
  kubo: { mode: 'cache', stores: [KUBO], replicasRequired: 1, peers: [] },
  catalog: { mode: 'keep', stores: [S3], replicasRequired: 2, peers: [] },
  node: { mode: 'keep', stores: [], replicasRequired: 1, peers: [] },
  peer: { mode: 'keep', stores: [], replicasRequired: 1, peers: [256] },
  clock: { mode: 'keep', stores: [S3], replicasRequired: 2, peers: [] },
};

/** The archive in which a cell is shown. */
export function planOfCell(seed: number, { backend, kind, moment }: Cell): Plan {
  const places = PLACES[backend];
  const stores = moment === 'eviction' && places.stores.length === 0 ? [S3] : places.stores;
  const isPair = kind === 'node-parts' || kind === 'node-parts-then-goes';
  return {
    ...planOf(seed),
    ...places,
    ...(kind === 'store-removed' ? { mode: 'keep', replicasRequired: 1 } : {}),
    ...(moment === 'eviction' ? { mode: 'cache', replicasRequired: 1 } : {}),
    ...{ stores, nodes: isPair ? 2 : 1, finality: isPair ? 'depth:2' : 'chainlock' },
    budgetBytes: moment === 'eviction' ? TIGHT_BYTES : null,
    ...{ cacheBytes: 0, startsAtWindow: false, answersWaits: true, hasOther: false, patienceMs: 0 },
    ...{ blockSeconds: 300, quietDays: 0, events: [] },
  };
}
