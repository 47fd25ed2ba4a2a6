import { join } from 'node:path';
import Database from 'better-sqlite3';
import { messageOf } from '../../src/core/blob/errors.ts';
import type { VersionHash } from '../../src/core/blob/ids.ts';
import type { AnswerFault } from '../../src/devnode/faults/fault.ts';
import type { Pair } from './coverage.ts';
import type { FaultKind, PlannedEvent, Settings } from './plan.ts';
import { SeededRandom } from './random.ts';
import { CHANGES, filesBelow } from './simulated-disk.ts';
import { NODE_LATENCY_MS, type SimulatedNode } from './simulated-node.ts';
import { PEER_LATENCY_MS } from './simulated-peer.ts';
import { type Health, type SimulatedStore, STORE_LATENCY_MS } from './simulated-store.ts';
import type { Simulation } from './simulation.ts';

type Ending = () => void;
/** An event that is over for no longer may still have its effect. */
const JUST_MS = 30 * 60_000;
/** After so long it is no excuse that a source has only just fallen silent. */
const SILENCE_MS = 10 * 60_000;
/** Milliseconds that a bundle of a simulated day takes. */
const EXPORT_MS = 600;
const IMPORT_MS = 50;
/** A crash within a change comes at one of so many. */
const MAX_CHANGES = 4;

/** Makes what was planned happen, and end. */
export class Faults {
  readonly #simulation: Simulation;
  /** The way to end each fault, by the number of its event. */
  readonly #endings = new Map<number, { readonly kind: FaultKind; readonly end: Ending }>();
  /** When the last event of each kind began or ended. */
  readonly #lastMs = new Map<FaultKind, number>();
  /** Events with those that went on when they came, or were over only just. */
  readonly pairs: Pair[] = [];

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** false: it is over at once. */
  begin(event: PlannedEvent): boolean {
    const { plan, time } = this.#simulation;
    const random = new SeededRandom(`event ${plan.seed} ${event.number}`);
    this.#simulation.note(`event ${event.number} ${event.kind}`);
    this.#pair(event.kind);
    const end = this.#perform(event, random);
    if (end === null) return false;
    this.#endings.set(event.number, { kind: event.kind, end });
    time.after(event.forMs, 'world', () => this.#end(event.number));
    return true;
  }

  endAll(): void {
    for (const number of [...this.#endings.keys()]) this.#end(number);
  }

  #end(number: number): void {
    const ending = this.#endings.get(number);
    if (ending === undefined) return;
    this.#endings.delete(number);
    this.#simulation.note(`event ${number} ends`);
    this.#lastMs.set(ending.kind, this.#simulation.time.steadyMs);
    ending.end();
  }

  #pair(kind: FaultKind): void {
    const nowMs = this.#simulation.time.steadyMs;
    const before = new Set([...this.#endings.values()].map((active) => active.kind));
    for (const [past, atMs] of this.#lastMs) if (nowMs - atMs < JUST_MS) before.add(past);
    for (const other of before) this.pairs.push([other, kind]);
    this.#lastMs.set(kind, nowMs);
  }

  /** null: it is over at once. */
  #perform({ kind, forMs }: PlannedEvent, random: SeededRandom): Ending | null {
    const { nodes, stores, peers, disk, truth, time } = this.#simulation;
    const node = random.pick(nodes);
    const store = stores.length === 0 ? null : random.pick(stores);
    const peer = peers.length === 0 ? null : random.pick(peers);
    switch (kind) {
      case 'node-away':
        return away(node);
      case 'node-restart':
        node.cutAll();
        return null;
      case 'node-slow':
        return during(node, 'latencyMs', random.between(1_000, 30_000), NODE_LATENCY_MS);
      case 'node-resets':
        return during(node, 'fault', { what: 'reset', share: 0.3 }, null);
      case 'node-warming-up':
        return answers(node, { kind: 'warming-up' }, 1);
      case 'node-wrong-bytes':
        return answers(node, { kind: 'wrong-bytes' }, random.pick([0.3, 1]));
      case 'node-loses-entries':
        return answers(node, { kind: 'vanishing-entries', every: random.between(2, 5) }, 1);
      case 'node-lags':
        return this.#leave(node);
      case 'node-parts':
        return this.#part(node, random);
      case 'node-parts-then-goes':
        return this.#partThenGo(node, forMs, random);
      case 'node-forgets':
        for (const hash of truth.contents.keys()) if (random.chance(0.1)) node.forgotten.add(hash);
        return null;
      case 'reorganisation':
        return this.#reorganise(random.between(1, 3));
      case 'locks-withheld':
        truth.main.lock(false);
        return () => truth.main.lock(true);
      case 'store-gone':
        return health(store, 'gone');
      case 'store-empty':
        return health(store, 'empty');
      case 'store-denied':
        return health(store, 'denied');
      case 'store-full':
        return health(store, 'full');
      case 'store-lies':
        return health(store, 'lying');
      case 'store-slow':
        return store === null ? null : during(store, 'latencyMs', random.between(500, 20_000), STORE_LATENCY_MS);
      case 'store-lists-late':
        return store === null ? null : during(store, 'listingLateMs', random.between(60_000, 7_200_000), 0);
      case 'store-loses-object':
        store?.lose(anyBlob(store, random));
        return null;
      case 'store-rots':
        store?.rot(anyBlob(store, random));
        return null;
      case 'store-loses-power':
        store?.losePower();
        return null;
      case 'store-collects':
        if (store?.kind === 'kubo') {
          store.unpin(anyBlob(store, random));
          store.collect();
        }
        return null;
      case 'planted-loss':
        for (const one of stores) one.loseUntold();
        return null;
      case 'store-wiped':
        store?.wipe();
        return null;
      case 'stores-wiped':
        return this.#wipeAll(forMs, random);
      case 'store-deleted':
        store?.wipe();
        return health(store, 'gone');
      case 'store-moved':
        this.#simulation.kill(false);
        store?.move();
        this.#startAfter(random);
        this.#crashOther(random);
        return null;
      case 'store-removed':
        return store === null ? null : this.#unname(store, random);
      case 'settings-changed':
        this.#changeSettings(random);
        return null;
      case 'store-unpins':
        if (store?.kind === 'kubo') store.unpin(anyBlob(store, random));
        return null;
      case 'store-lists-wrongly':
        return store === null ? null : during(store, 'listsWrongly', true, false);
      case 'store-shared':
        if (store?.kind === 's3') this.#share(store, random);
        return null;
      case 'peer-away':
        return peer === null ? null : during(peer, 'health', 'away', 'well');
      case 'peer-slow':
        return peer === null ? null : during(peer, 'latencyMs', random.between(1_000, 60_000), PEER_LATENCY_MS);
      case 'peer-lies':
        return peer === null ? null : during(peer, 'health', 'lying', 'well');
      case 'peer-empty':
        return peer === null ? null : during(peer, 'health', 'empty', 'well');
      case 'peer-withholds':
        return peer === null ? null : during(peer, 'health', 'withholding', 'well');
      case 'peer-parts':
        return peer === null ? null : during(peer, 'health', 'parted', 'well');
      case 'peers-compared':
        void this.#simulation.comparisons.run();
        return null;
      case 'object-poisoned':
        return store === null ? null : this.#poison(store, forMs, random);
      case 'folder-lost':
        this.#simulation.loseFolder();
        this.#startAfter(random);
        return null;
      case 'catalog-lost':
        this.#simulation.loseCatalog();
        this.#startAfter(random);
        return null;
      case 'other-crash':
        this.#crashOther(random);
        return null;
      case 'crash':
      case 'power-loss':
        this.#simulation.kill(kind === 'power-loss');
        this.#startAfter(random);
        return null;
      case 'crash-in-change':
        return this.#crashInChange(random);
      case 'stop':
        this.#simulation.stop(random.between(1_000, 1_800_000));
        return null;
      case 'disk-full':
        return during(disk, 'isFull', true, false);
      case 'disk-reads-fail':
        return during(disk, 'fails', 'reading', 'never');
      case 'disk-writes-fail':
        return during(disk, 'fails', 'writing', 'never');
      case 'file-rots':
        this.#rotFile(random);
        return null;
      case 'row-rots':
        this.#rotRow(random);
        return null;
      case 'file-unreadable':
        this.#loseSectors(random);
        return null;
      case 'disk-refuses-some':
        return during(disk, 'refused', digits(random), []);
      case 'clock-steps':
        time.stepWall(random.between(-4 * 3_600_000, 4 * 3_600_000));
        return null;
      case 'clock-drifts':
        time.driftWall(random.pick([-0.02, -0.001, 0.001, 0.02]));
        return () => time.driftWall(0);
      case 'blobs-change':
        this.#simulation.plan = { ...this.#simulation.plan, shareOfFiles: random.pick([0, 1]) };
        return null;
      case 'withhold':
      case 'revoke':
        this.#takeDown(kind, random);
        return null;
      case 'scrub':
        void this.#simulation.scrubTwice();
        return null;
      case 'audit':
        void this.#simulation.audit();
        return null;
      case 'job-check':
      case 'job-repair':
      case 'job-rebuild':
      case 'job-backfill':
      case 'job-attest':
        void this.#simulation.commands.run(kind, random);
        return null;
      case 'job-export':
      case 'job-import':
        this.#crashWithin(kind === 'job-export' ? EXPORT_MS : IMPORT_MS, random);
        void this.#simulation.commands.run(kind, random);
        return null;
      case 'bundle-rots':
        this.#simulation.bundles.rot(random);
        void this.#simulation.commands.run('job-import', random);
        return null;
      case 'job-cancelled':
        void this.#simulation.commands.cancelSoon(random);
        return null;
      default:
        return kind satisfies never;
    }
  }

  /**
   * One of the next changes of a sort, which the archiver asks the disk for, is its last. The chance of a crash at a planned
   * moment to come between two steps of one work is slight.
   */
  #crashInChange(random: SeededRandom): Ending {
    const { disk } = this.#simulation;
    const takesPower = random.chance(0.3);
    return disk.atChange(random.pick(CHANGES), random.between(1, MAX_CHANGES), () => {
      this.#simulation.beforeFault();
      this.#simulation.kill(takesPower);
      this.#startAfter(random);
    });
  }

  /** A job of this length meets a crash by chance. */
  #crashWithin(ms: number, random: SeededRandom): void {
    const takesPower = random.chance(0.5);
    const afterMs = random.between(1, ms);
    if (!random.chance(0.3)) return;
    this.#simulation.time.after(afterMs, 'world', () => {
      this.#simulation.kill(takesPower);
      this.#startAfter(random);
    });
  }

  /** The disks of a server give some of its objects no more, change another one, and a scrub comes by. */
  #poison(store: SimulatedStore, forMs: number, random: SeededRandom): Ending {
    const { time } = this.#simulation;
    const { blobs, oldestBlobs } = store;
    const count = random.pick([3, 10, 18, blobs.length / 2]);
    // The rules of a bucket archive its oldest objects; a disk loses any of them.
    const isOldest = random.chance(0.6);
    for (const [index, path] of (isOldest ? oldestBlobs : blobs).entries()) {
      const isChosen = isOldest ? index < count : random.chance(count / blobs.length);
      if (isChosen) store.poisoned.set(path, isOldest ? 'storage/archived' : 'storage/fault');
    }
    const rotting = time.after(forMs / 4, 'world', () => {
      this.#simulation.beforeFault();
      const others = store.blobs.filter((path) => !store.poisoned.has(path));
      if (others.length > 0) store.rot(random.pick(others));
    });
    const looking = time.after(forMs / 2, 'world', () => void this.#simulation.scrubTwice());
    return () => {
      rotting.cancel();
      looking.cancel();
      store.recover();
    };
  }

  /**
   * Everything at the stores goes, and a scrub finds out. Before that, one source falls silent; or clients have read what there
   * is, and the stores take nothing, so that memory alone has it.
   */
  #wipeAll(forMs: number, random: SeededRandom): Ending {
    const { nodes, stores, peers, time } = this.#simulation;
    // Nothing is judged without the node that is followed.
    const silencers = [
      ...nodes.slice(1).map((node) => () => away(node)),
      ...peers.map((peer) => () => during(peer, 'health', 'away', 'well')),
      ...stores.slice(1).map((store) => () => during(store, 'health', 'gone', 'well')),
    ];
    const isSilent = silencers.length > 0 && random.chance(0.5);
    if (!isSilent) this.#simulation.readAll();
    const endings = isSilent ? [random.pick(silencers)()] : [];
    const wiping = time.after(Math.min(SILENCE_MS, forMs / 2), 'world', () => {
      this.#simulation.beforeFault();
      for (const store of stores) {
        store.wipe();
        if (!isSilent) endings.push(during(store, 'health', 'full', 'well'));
      }
      void this.#simulation.scrubTwice();
    });
    return () => {
      wiping.cancel();
      for (const end of endings) end();
    };
  }

  /** Another archiver keeps its blobs in the same bucket, and a few of them came to harm on their way. */
  #share(store: SimulatedStore, random: SeededRandom): void {
    const { truth } = this.#simulation;
    for (const [versionHash, content] of truth.contents) {
      const bytes = random.chance(0.4) ? truth.bytes(versionHash) : null;
      if (bytes !== null) store.putByAnother(content, random.chance(0.2) ? bytes.map((byte) => byte ^ 1) : bytes);
    }
  }

  /** The settings name it no more, until they name it again: the archiver is started again each time. */
  #unname(store: SimulatedStore, random: SeededRandom): Ending | null {
    const simulation = this.#simulation;
    const { plan, configured } = simulation;
    const others = configured.filter((one) => one !== store).length;
    if (others === configured.length) return null;
    if (!isPossible(plan, others)) return null;
    simulation.unnamed.add(store);
    this.#restart(random);
    return () => {
      simulation.unnamed.delete(store);
      this.#restart(random);
    };
  }

  #restart(random: SeededRandom): void {
    if (this.#simulation.life !== null) this.#simulation.stop(random.between(1_000, 600_000));
    else {
      this.#simulation.kill(false);
      this.#startAfter(random);
    }
  }

  /** Places of copies, how many of them there must be, what is final, and how much room there is. */
  #changeSettings(random: SeededRandom): void {
    const { plan, configured } = this.#simulation;
    const mode = random.chance(0.4) ? random.pick(['keep', 'cache'] as const) : plan.mode;
    const changed: Settings = {
      mode,
      replicasRequired: random.between(1, 2),
      finality: random.chance(0.4) ? random.pick(['chainlock', 'depth:2', 'depth:5']) : plan.finality,
      budgetBytes: mode === 'cache' ? random.pick([null, 80_000, 600_000]) : null,
      cacheBytes: random.pick([0, 1_000_000]),
    };
    if (!isPossible(changed, configured.length)) return;
    this.#simulation.note(`settings ${JSON.stringify(changed)}`);
    this.#simulation.plan = { ...plan, ...changed };
    this.#restart(random);
  }

  #leave(node: SimulatedNode): Ending {
    const { truth } = this.#simulation;
    node.branch = node.branch.copy();
    return () => {
      node.branch = truth.main;
      node.notify();
    };
  }

  /** Blocks of its own, with blobs of its own, until it finds back. */
  #part(node: SimulatedNode, random: SeededRandom): Ending {
    const { time, plan } = this.#simulation;
    const ending = this.#leave(node);
    const own = node.branch;
    own.lock(false);
    const mine = () => {
      if (node.branch !== own) return;
      if (random.chance(0.5)) this.#simulation.submit(own);
      own.mine(plan.blockSeconds + 7);
      node.notify();
      time.after(plan.blockSeconds * 1_000, 'world', mine);
    };
    time.after(1_000, 'world', mine);
    return ending;
  }

  /** A node says that it is on another branch, and then nothing more: its last word stands. */
  #partThenGo(node: SimulatedNode, forMs: number, random: SeededRandom): Ending {
    const joinAgain = this.#part(node, random);
    const goes = this.#simulation.time.after(forMs / 2, 'world', () => void away(node));
    return () => {
      goes.cancel();
      node.isAway = false;
      joinAgain();
    };
  }

  #reorganise(depth: number): null {
    const { truth, nodes, plan } = this.#simulation;
    const most = plan.finality.startsWith('depth:') ? Number(plan.finality.slice(6)) - 1 : depth;
    const taken = truth.main.reorganise(Math.min(depth, most));
    truth.reorganisations += 1;
    this.#simulation.note(`${taken} blocks taken back`);
    for (const node of nodes) if (node.branch === truth.main) node.notify();
    return null;
  }

  #startAfter(random: SeededRandom): void {
    this.#simulation.time.after(random.between(1_000, 1_800_000), 'archiver', () => this.#simulation.start());
  }

  /** A place that moved is another one for every archiver that names it. */
  #crashOther(random: SeededRandom): void {
    const { other, time } = this.#simulation;
    if (other === null) return;
    this.#simulation.killOther();
    time.after(random.between(1_000, 600_000), 'other', () => this.#simulation.startOther());
  }

  /** A blob of the archiver that is a file of its own; null: it has none. */
  #anyFile(random: SeededRandom): string | null {
    const below = `${this.#simulation.archiver.folder}/blobs`;
    const blobs = filesBelow(below).filter((path) => /\/[0-9a-f]{64}$/.test(path) && !path.includes('/damaged/'));
    return blobs.length === 0 ? null : random.pick(blobs);
  }

  #rotFile(random: SeededRandom): void {
    const { disk, truth, time } = this.#simulation;
    const path = this.#anyFile(random);
    if (path === null) return;
    disk.rot(path, random.between(0, 60_000));
    truth.harmedFiles.set(path.slice(-64), time.steadyMs);
    truth.rottenSinceMs.set(path.slice(-64), time.steadyMs);
  }

  /** The sectors of one file are bad until the archiver writes the file again. */
  #loseSectors(random: SeededRandom): void {
    const { disk, truth, time } = this.#simulation;
    const name = this.#anyFile(random)?.slice(-64);
    if (name === undefined) return;
    disk.unreadable.set(name, time.steadyMs);
    truth.harmedFiles.set(name, time.steadyMs);
  }

  #rotRow(random: SeededRandom): void {
    const { life, truth, time } = this.#simulation;
    if (life === null) return;
    const rows = new Database(join(life.folder, 'blobs', 'small.sqlite'), { fileMustExist: true });
    try {
      const ids = rows.prepare('SELECT id FROM blob ORDER BY id').pluck().all();
      if (ids.length === 0) return;
      const [hash] = rows
        .prepare('UPDATE blob SET bytes = zeroblob(length(bytes)) WHERE id = ? RETURNING lower(hex(version_hash))')
        .pluck()
        .all(random.pick(ids));
      truth.harmedFiles.set(String(hash), time.steadyMs);
    } finally {
      rows.close();
    }
  }

  #takeDown(kind: 'withhold' | 'revoke', random: SeededRandom): void {
    const { life, truth } = this.#simulation;
    const hashes: VersionHash[] = [...(kind === 'withhold' ? truth.contents.keys() : truth.withheld)];
    if (life === null || hashes.length === 0) return;
    const versionHash = random.pick(hashes);
    const name = { versionHash, hashType: truth.contents.get(versionHash)?.hashType ?? null };
    const { takeDowns } = life.archive;
    const purge = random.chance(0.3);
    const done =
      kind === 'revoke'
        ? takeDowns.revoke(name, life.signal).then(() => truth.withheld.delete(versionHash))
        : takeDowns.withhold(name, { reason: 'simulated', publicReason: null, purge }, life.signal).then(() => {
            truth.withheld.add(versionHash);
            if (purge) this.#simulation.checkPurged(versionHash);
          });
    // Until it is done, it may be or not.
    if (kind === 'revoke') truth.withheld.delete(versionHash);
    truth.touched.add(versionHash);
    done.catch((error: unknown) => this.#simulation.note(`${kind}: ${messageOf(error)}`));
  }
}

/** Settings with fewer places than copies are refused, and a cache without any other place. */
function isPossible({ mode, replicasRequired }: Settings, stores: number): boolean {
  return mode === 'cache' ? stores >= replicasRequired && stores > 0 : stores + 1 >= replicasRequired;
}

function away(node: SimulatedNode): Ending {
  node.isAway = true;
  node.cutAll();
  return () => {
    node.isAway = false;
  };
}

function answers(node: SimulatedNode, what: AnswerFault, share: number): Ending {
  return during(node, 'fault', { what, share }, null);
}

/** Another value until the end; of two at a time the later one holds, and the first end ends both. */
function during<T extends object, K extends keyof T>(target: T, key: K, value: T[K], normal: T[K]): Ending {
  target[key] = value;
  return () => {
    target[key] = normal;
  };
}

function health(store: SimulatedStore | null, value: Health): Ending | null {
  return store === null ? null : during(store, 'health', value, 'well');
}

function digits(random: SeededRandom): string[] {
  return [...'0123456789abcdef'].filter(() => random.chance(0.2));
}

function anyBlob(store: SimulatedStore, random: SeededRandom): string {
  const { blobs } = store;
  return blobs.length === 0 ? '' : random.pick(blobs);
}
