import { createHash, type Hash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../src/core/blob/errors.ts';
import type { ContentName, VersionHash } from '../../src/core/blob/ids.ts';
import type { BlobHasher } from '../../src/verify/hasher.ts';
import { Archiver, type Life } from './archiver.ts';
import { Bundles } from './bundles.ts';
import { Calm } from './calm.ts';
import { Commands } from './commands.ts';
import { Comparisons } from './comparisons.ts';
import type { Pair } from './coverage.ts';
import { Faults } from './faults.ts';
import { Invariants } from './invariants.ts';
import { inMemory } from './kept-bytes.ts';
import { DAY_MS, HOUR_MS, type Plan, type PlannedEvent } from './plan.ts';
import { SeededRandom } from './random.ts';
import { BEGIN_SECONDS, Branch, FIRST_HEIGHT } from './simulated-chain.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { SimulatedNode } from './simulated-node.ts';
import { SimulatedPeer } from './simulated-peer.ts';
import type { World } from './simulated-process.ts';
import { SimulatedStore } from './simulated-store.ts';
import { SimulatedTime } from './simulated-time.ts';
import { Truth } from './truth.ts';

/** A claim that was not true, or work that did not end. */
export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(message);
    this.invariant = invariant;
  }
}

export interface Outcome {
  readonly violation: Violation | null;
  /** Hash of every event and its outcome. */
  readonly digest: string;
  readonly events: number;
  readonly simulatedMs: number;
  /** Blocks of the branch that the network agrees on, and blobs that were submitted. */
  readonly blocks: number;
  readonly blobs: number;
  readonly pairs: readonly Pair[];
}

/** The clocks of the archiver and of the miners agree at the begin. */
const WALL_MS = BEGIN_SECONDS * 1_000;
/** After the last fault: everything that can be reached is whole within this. */
const WHOLE_WITHIN_MS = 10 * HOUR_MS;
/** A client asks whether the archive is ready so long before its end. */
const READY_BEFORE_MS = 60_000;
/** New blobs come so long after the last fault: those of a world in which nothing is wrong are saved, too. */
const MORE_BLOBS_MS = 2 * HOUR_MS;
/** Seconds between blocks at least, while they have no blobs. */
const QUIET_BLOCK_SECONDS = 1_800;
/** Seconds between blocks at least, while little happens for days, and the share of these blocks that have no blob. */
const CALM_BLOCK_SECONDS = 6 * 3_600;
const CALM_SHARE_WITHOUT_BLOBS = 0.7;
/** After a start nothing lies in the data folder that is in no books. */
const SWEPT_WITHIN_MS = HOUR_MS;
/** Time of the scrub on each day, as in an operator's schedule. */
const SCRUB_AT_MS = 9 * HOUR_MS;
/** A process that ended is started again by its supervisor. */
const RESTART_MS = 30_000;
/** A stop that takes longer would be a kill. */
const STOPS_WITHIN_MS = 10 * 60_000;

/** One seed: a world, an archiver in it, what happens to both, and what must hold all the while. */
export class Simulation {
  /** The settings in it may become others. */
  plan: Plan;
  readonly time = new SimulatedTime(WALL_MS);
  readonly disk: SimulatedDisk;
  readonly truth: Truth;
  readonly nodes: readonly SimulatedNode[];
  readonly stores: readonly SimulatedStore[];
  /** Stores that the settings do not name now. */
  readonly unnamed = new Set<SimulatedStore>();
  readonly peers: readonly SimulatedPeer[];
  readonly archiver: Archiver;
  /** Another archiver with a folder of its own, of which only what it does to the places matters; null: there is none. */
  readonly other: Archiver | null;
  readonly bundles: Bundles;
  readonly commands: Commands;
  readonly comparisons: Comparisons;
  /** Requests that were on their way at this time may never have arrived. */
  killedMs = Number.NEGATIVE_INFINITY;
  /** The archiver has begun again in an empty folder. */
  hasLostFolder = false;
  /** No more blobs are submitted: what there is has time to become whole. */
  #isQuiet = false;
  /** The last scrubs have begun. */
  #isScrubbed = false;
  readonly #root: string;
  readonly #invariants: Invariants;
  readonly #faults: Faults;
  readonly #processRandom: SeededRandom;
  readonly #workRandom: SeededRandom;
  /** null: the seed is over, and the words of a dead process do not count. */
  #digest: Hash | null = createHash('sha256');
  readonly #trace: ((line: string) => void) | null;
  #violation: Violation | null = null;
  #labels = 0;
  #isStopping = false;
  #calm: Calm | null = null;
  /** The quiet days begin at this time. */
  #quietMs = Number.POSITIVE_INFINITY;

  constructor(plan: Plan, root: string, hasher: BlobHasher, trace: ((line: string) => void) | null, keep = inMemory) {
    this.plan = plan;
    this.#root = root;
    this.#trace = trace;
    const stream = (purpose: string) => new SeededRandom(`${purpose} ${plan.seed}`);
    this.#processRandom = stream('process');
    this.#workRandom = stream('work');
    this.disk = new SimulatedDisk(this.time, stream('disk'));
    this.truth = new Truth(Branch.begin(`simulation ${plan.seed}`), keep);
    this.nodes = Array.from(
      { length: plan.nodes },
      (_, index) =>
        new SimulatedNode(
          `http://node-${index + 1}.simulated:8370`,
          this.truth.main,
          plan.answersWaits,
          this.time,
          stream(`node ${index}`),
        ),
    );
    this.stores = plan.stores.map(({ id, kind }) => new SimulatedStore(id, kind, this.time, stream(id), keep));
    this.peers = plan.peers.map((share, index) => new SimulatedPeer(index + 1, share, this.truth, this.time, hasher));
    mkdirSync(root, { recursive: true });
    const log = trace === null ? null : (line: string) => trace(line.trimEnd());
    this.#invariants = new Invariants(this);
    this.archiver = new Archiver({
      ...{ root, hasher, log, nodes: this.nodes, peers: this.peers },
      plan: () => this.plan,
      patienceMs: () => this.#patienceMs(),
      stores: () => this.configured,
      opened: (life) => this.#invariants.atRest(life),
    });
    const otherRoot = join(root, 'other');
    const otherSettings = { mode: 'cache', replicasRequired: 1, budgetBytes: null, cacheBytes: 0 } as const;
    this.other =
      plan.hasOther && this.stores.length > 0
        ? new Archiver({
            ...{ root: otherRoot, hasher, log: null, nodes: this.nodes, peers: [], opened: () => undefined },
            plan: () => ({ ...plan, ...otherSettings }),
            patienceMs: () => this.#patienceMs(),
            stores: () => this.stores,
          })
        : null;
    this.disk.isAside = (path) => path.startsWith(`${otherRoot}/`);
    this.disk.onRenewed = (name) => this.truth.unharm(name);
    this.#faults = new Faults(this);
    this.bundles = new Bundles(this, root, hasher);
    this.commands = new Commands(this, this.bundles);
    this.comparisons = new Comparisons(this);
  }

  get world(): World {
    return {
      ...{ time: this.time, disk: this.disk, random: this.#processRandom, patienceMs: () => this.#patienceMs() },
      dispatch: (options, handler) => {
        const node = this.nodes.find(({ origin }) => origin === String(options.origin));
        if (node === undefined) throw new TypeError(`nobody listens at ${options.origin}`);
        return node.dispatch(options, handler);
      },
    };
  }

  /** Stores that the settings name now. */
  get configured(): readonly SimulatedStore[] {
    return this.stores.filter((store) => !this.unnamed.has(store));
  }

  /** Bytes of buffers that the world around the archiver holds: they grow with each blob. */
  get worldBytes(): number {
    const parts = [this.disk, ...this.nodes];
    return parts.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
  }

  get life(): Life | null {
    return this.archiver.life;
  }

  /** Whether everything that it has walked is of the branch that the network agrees on. */
  isOnMain({ catalog }: Life): boolean {
    const { tree } = this.truth.main.chain;
    const { tip } = catalog.chain.state;
    const heights = tip === null ? 0 : tip.height - FIRST_HEIGHT + 1;
    return Array.from({ length: heights }, (_, index) => FIRST_HEIGHT + index).every((height) => {
      const walked = catalog.chain.blockAt(height);
      return walked === null || walked.hash === tree.at(height)?.hash;
    });
  }

  #patienceMs(): number {
    return Math.max(this.plan.patienceMs, this.#calm?.leftMs(this.time.steadyMs) ?? 0);
  }

  /** In the log, and in its digest. */
  note(what: string): void {
    if (this.#digest === null) return;
    // A message may name a file, and the folder of this run is another the next time.
    const line = `${Math.round(this.time.steadyMs)} ${what.replaceAll(this.#root, '')}`;
    this.#digest.update(line);
    this.#trace?.(line);
  }

  fail(invariant: string, message: string): void {
    if (this.#violation !== null) return;
    this.#violation = new Violation(invariant, message);
    this.note(`VIOLATED ${invariant}: ${message}`);
  }

  async run(): Promise<Outcome> {
    const beganMs = this.time.steadyMs;
    const endMs = beganMs + this.plan.days * DAY_MS;
    this.#calm = new Calm(this.plan, beganMs);
    if (this.plan.quietDays > 0) this.#quietMs = endMs - this.plan.quietDays * DAY_MS;
    this.start();
    this.startOther();
    this.#mineOn();
    this.time.after(SCRUB_AT_MS, 'world', () => void this.#scrubDaily());
    for (const event of this.plan.events) {
      this.time.after(event.atMs, 'world', () => {
        this.begin(event);
      });
    }
    await this.until(endMs);
    if (this.#violation === null) {
      this.#faults.endAll();
      this.note('all faults have ended');
      await this.until(endMs + MORE_BLOBS_MS);
      this.#isQuiet = true;
      await this.until(endMs + WHOLE_WITHIN_MS / 2);
      this.#isScrubbed = true;
      void this.#invariants.lookAgain();
      await this.until(endMs + WHOLE_WITHIN_MS - READY_BEFORE_MS);
      void this.#invariants.requestReadiness();
      await this.until(endMs + WHOLE_WITHIN_MS);
      if (this.#violation === null) this.#invariants.checkWhole();
      // A start deletes files that the catalog does not have.
      this.stop(RESTART_MS);
      await this.until(endMs + WHOLE_WITHIN_MS + SWEPT_WITHIN_MS);
      if (this.#violation === null) this.#invariants.checkBooks();
    }
    const simulatedMs = this.time.steadyMs - beganMs;
    this.end();
    const digest = this.#digest?.digest('hex') ?? '';
    this.#digest = null;
    return {
      ...{ violation: this.#violation, digest, events: this.time.ran, simulatedMs },
      blocks: this.truth.main.chain.tip.height - FIRST_HEIGHT + 1,
      blobs: this.#labels,
      pairs: this.#faults.pairs,
    };
  }

  get violation(): Violation | null {
    return this.#violation;
  }

  /** An event happens now. false: it is over at once. */
  begin(event: PlannedEvent): boolean {
    this.beforeFault();
    return this.#faults.begin(event);
  }

  /** Compares what is claimed now, before something else is true. */
  beforeFault(): void {
    this.#invariants.beforeFault();
  }

  /** One scrub, as on each day. */
  async scrub(): Promise<void> {
    if (this.life !== null) await this.#invariants.scrub();
  }

  /** The process begins; one that ends by itself is begun again. */
  start(): void {
    this.note('start');
    this.archiver.start().catch((error: unknown) => {
      this.note(`ended by itself: ${messageOf(error)}`);
      this.#invariants.forgetLife();
      this.time.after(RESTART_MS, 'archiver', () => this.start());
    });
  }

  startOther(): void {
    const { other } = this;
    if (other === null) return;
    this.note('the other starts');
    this.time.as('other', () =>
      other.start().catch((error: unknown) => {
        this.note(`the other ended by itself: ${messageOf(error)}`);
        this.time.after(RESTART_MS, 'other', () => this.startOther());
      }),
    );
  }

  killOther(): void {
    this.time.dropOf('other');
    for (const node of this.nodes) node.forgetClients('other');
    this.other?.kill();
  }

  kill(takesPower: boolean): void {
    this.time.dropOf('archiver');
    for (const node of this.nodes) node.forgetClients('archiver');
    this.#invariants.forgetLife();
    this.#isStopping = false;
    this.killedMs = this.time.steadyMs;
    if (takesPower) this.disk.losePower([this.archiver.folder, this.bundles.folder]);
    else this.disk.forget();
    this.archiver.kill();
  }

  /** The archiver's machine is gone, with everything that lay only there. */
  loseFolder(): void {
    this.kill(false);
    this.hasLostFolder = true;
    this.archiver.loseFolder();
    this.disk.unreadable.clear();
    this.truth.harmedFiles.clear();
    this.truth.rottenSinceMs.clear();
    for (const node of this.nodes) node.said.clear();
    // Take-downs that no backend was told of yet went with it.
    this.truth.withheld.clear();
  }

  /** The index is gone, and nothing else. */
  loseCatalog(): void {
    this.kill(false);
    this.archiver.loseCatalog();
  }

  async scrubTwice(): Promise<void> {
    if (this.life !== null) await this.#invariants.scrubTwice();
  }

  async audit(): Promise<void> {
    await this.#invariants.audit();
  }

  /** Clients ask for everything: small blobs come to lie in memory. */
  readAll(): void {
    this.#invariants.readAll();
  }

  checkPurged(versionHash: VersionHash): void {
    this.#invariants.checkPurged(versionHash);
  }

  /** Stops the archiver, and starts it again after so long. Without a running archiver, does nothing. */
  stop(restMs: number): void {
    if (this.life === null || this.#isStopping) return;
    this.#isStopping = true;
    const begunMs = this.time.steadyMs;
    this.#invariants.forgetLife();
    const late = this.time.after(STOPS_WITHIN_MS, 'archiver', () =>
      this.fail('stop', 'a stop took longer than ten minutes'),
    );
    this.archiver.stop().then(
      () => {
        late.cancel();
        this.#isStopping = false;
        this.note('stopped');
        this.time.after(restMs, 'archiver', () => this.start());
      },
      (error: unknown) => {
        // With an error code, where the disk takes nothing: its supervisor begins it again.
        if (this.disk.failedMs < begunMs) this.fail('stop', `a stop failed: ${messageOf(error)}`);
        late.cancel();
        this.#isStopping = false;
        this.note(`stopped: ${messageOf(error)}`);
        this.time.after(restMs, 'archiver', () => this.start());
      },
    );
  }

  /** A blob of this seed's own, sometimes one that was there before. */
  submit(branch: Branch): ContentName | null {
    const random = this.#workRandom;
    const isAgain = this.#labels > 0 && random.chance(0.03);
    if (!isAgain) this.#labels += 1;
    const number = isAgain ? random.between(1, this.#labels) : this.#labels;
    const facts = new SeededRandom(`blob ${this.plan.seed} ${number}`);
    const { shareOfFiles, maxSmallBytes } = this.plan;
    const isFile = facts.chance(shareOfFiles);
    const sizeBytes = isFile ? facts.between(65_537, 90_000) : facts.between(1, maxSmallBytes);
    const label = `simulated ${this.plan.seed} ${number}`;
    const submitted = branch.submit(label, sizeBytes, facts.chance(0.7) ? 'keccak256' : 'blake2s256');
    if (submitted !== null) this.truth.note(submitted);
    return submitted;
  }

  async #scrubDaily(): Promise<void> {
    this.time.after(DAY_MS, 'world', () => void this.#scrubDaily());
    if (!this.#isScrubbed) await this.scrub();
  }

  #mineOn(): void {
    const random = this.#workRandom;
    const { blockSeconds, blobsPerBlock } = this.plan;
    const isAged = this.time.steadyMs > this.#quietMs;
    const isCalm = isAged && this.#calm?.isWithoutEvents(this.time.steadyMs) === true;
    const hasBlobs = !this.#isQuiet && !(isCalm && random.chance(CALM_SHARE_WITHOUT_BLOBS));
    const leastSeconds = isCalm ? CALM_BLOCK_SECONDS : QUIET_BLOCK_SECONDS;
    const seconds = this.#isQuiet || isAged ? Math.max(blockSeconds, leastSeconds) : blockSeconds;
    const afterSeconds = Math.ceil(seconds * (0.5 + random.next()));
    const { steadyMs } = this.time;
    this.#calm?.expectBlock(steadyMs, steadyMs + afterSeconds * 1_000, hasBlobs);
    this.time.after(afterSeconds * 1_000, 'world', () => {
      this.mine(afterSeconds, (main) => {
        if (!hasBlobs || this.#isQuiet) return;
        for (let chance = blobsPerBlock; chance > 0; chance -= 1) if (random.chance(chance)) this.submit(main);
      });
      this.#mineOn();
    });
  }

  /** The next block of the network comes with what is published now, and clients ask about something. */
  mine(afterSeconds: number, publish: (main: Branch) => void = () => undefined): void {
    const { main } = this.truth;
    this.#invariants.beforeBlock(afterSeconds);
    // A blob may be published again that was lost a moment ago.
    this.beforeFault();
    publish(main);
    const { height, hash } = main.mine(afterSeconds);
    this.note(`block ${height} ${hash.slice(0, 8)}`);
    for (const node of this.nodes) if (node.branch === main) node.notify();
    this.#invariants.afterBlock();
  }

  /** Runs up to that moment, or until something else is so. Compares the claims after each event. */
  async until(endMs: number, isEnough: () => boolean = () => false): Promise<void> {
    await this.time.runUntil(endMs, () => {
      if (this.#violation === null) this.#invariants.afterEvent();
      return this.#violation === null && !isEnough();
    });
  }

  /** Ends both archivers, and removes their folders. */
  end(): void {
    this.#invariants.forgetLife();
    this.kill(false);
    this.killOther();
    rmSync(this.#root, { recursive: true, force: true });
  }
}
