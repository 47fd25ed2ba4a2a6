import { getEventListeners } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { messageOf } from '../../src/core/blob/errors.ts';
import { type ContentName, parseVersionHash, type VersionHash } from '../../src/core/blob/ids.ts';
import { ROOM_IS_MADE } from '../../src/view/archive-view.ts';
import { type Life, REHASH_MS, REQUESTS } from './archiver.ts';
import { Claims, type GoodCopy } from './claims.ts';
import type { KeptBytes } from './kept-bytes.ts';
import { SeededRandom } from './random.ts';
import { type Asker, FORMS, type RouteRecord, Routes, type Told } from './routes.ts';
import { FIRST_HEIGHT, type SubmittedContent } from './simulated-chain.ts';
import { filesBelow } from './simulated-disk.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { SimulatedPeer } from './simulated-peer.ts';
import { blobPath, isHashType, type SimulatedStore } from './simulated-store.ts';
import type { Simulation } from './simulation.ts';

/** The archiver may not know a change that is younger than this, or answered before the change. */
const SLACK_MS = 5 * 60_000;
/** Commits within this are looked at together. */
const LOOK_MS = 60_000;
/** Files of the archiver are read this often. */
const LOCAL_MS = 2 * 3_600_000;
/** A place that is healthy again is let in again within this. */
const LET_IN_MS = 2 * 3_600_000;
/** A place that cannot give so many objects may be reported as not answering at all. */
const MAX_UNREADABLE = 20;
/** Bytes in the file of small blobs besides them, and those of blobs that are on their way. */
const BESIDES_BYTES = 150_000;
const LARGEST_BLOB_BYTES = 90_000;
const OPEN_FILES = '/proc/self/fd';
/** More of anything is a leak. */
const MAX_AT_REST = 60;
/** A blob that could be had for so long, and is nowhere, was missed. A loop that sleeps past its time gets that time besides. */
const CHANCE_MS = 2 * 3_600_000;

/** A client asks over HTTP this often: each answer is work. */
const REQUEST_MS = 20 * 60_000;

/** Rules that hold whatever happens: compared with the simulation's truth after each event that changed something. */
export class Invariants {
  readonly #simulation: Simulation;
  readonly #random: SeededRandom;
  #claims: Claims | null = null;
  #version = -1;
  #changes = -1;
  #checkedMs = 0;
  #localMs = 0;
  #finalHeight = -1;
  /** When a height was last compared with what each node has said. */
  #finalMs = Number.NEGATIVE_INFINITY;
  /** When a blob was first seen to be recorded as lost. */
  readonly #lost = new Map<VersionHash, number>();
  #local: ReadonlySet<number> = new Set();
  /** Copies that were called good at the last look, by place and path. */
  #claimed: ReadonlySet<string> = new Set();
  #isScrubbing = false;
  /** When the last scrub that saw a place began, and when the one before it did. */
  readonly #looked = new Map<string, { readonly begunMs: number; readonly seenMs: number | null }>();
  /** Bytes of stores that were compared with the truth. */
  readonly #compared = new WeakSet<KeptBytes>();
  /** Losses of a store when a copy was last found there: it is there until more is taken. */
  readonly #found = new WeakMap<GoodCopy, number>();
  /** Contents of which the archiver had a copy once. */
  readonly #saved = new Set<VersionHash>();
  /** For how long each could have been fetched. */
  readonly #chanceMs = new Map<VersionHash, number>();
  #upSinceMs = 0;
  readonly #routes: Routes;
  readonly #routesRandom: SeededRandom;
  #requestMs = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    this.#random = new SeededRandom(`invariants ${simulation.plan.seed}`);
    this.#routes = new Routes(simulation);
    this.#routesRandom = new SeededRandom(`routes ${simulation.plan.seed}`);
  }

  forgetLife(): void {
    this.#claims?.close();
    this.#claims = null;
    this.#finalHeight = -1;
    this.#finalMs = Number.NEGATIVE_INFINITY;
    this.#local = new Set();
    this.#claimed = new Set();
    this.#isScrubbing = false;
    // A process that ended between two of them may have left one half done.
    this.#looked.clear();
  }

  afterEvent(): void {
    const { life, time } = this.#simulation;
    if (life === null) return;
    if (this.#claims === null) {
      this.#claims = new Claims(life.folder);
      this.#upSinceMs = time.steadyMs;
      this.#localMs = time.steadyMs;
      this.#version = -1;
    }
    if (time.steadyMs - this.#checkedMs >= LOOK_MS) this.#look(this.#claims);
  }

  /** Before the simulation changes something: a claim of a moment ago was about what there was then. */
  beforeFault(): void {
    if (this.#simulation.life !== null && this.#claims !== null) this.#look(this.#claims);
  }

  #look(claims: Claims): void {
    const { configured, time } = this.#simulation;
    const version = claims.version();
    const changes = configured.reduce((sum, store) => sum + store.changes, 0);
    if (version === this.#version && changes === this.#changes) return;
    this.#version = version;
    this.#changes = changes;
    this.#checkedMs = time.steadyMs;
    this.#check(claims);
  }

  /** Asks for a random blob, its safety and the last block, as clients do; checks each node's concurrent fetches. */
  afterBlock(): void {
    const { truth, nodes, life, time } = this.#simulation;
    for (const node of nodes) {
      if (node.maxFetches > REQUESTS + 1) {
        this.#fail('budget', `${node.maxFetches} fetches at a time, and ${REQUESTS} are allowed`);
      }
    }
    if (life === null || truth.contents.size === 0) return;
    const contents = [...truth.contents.values()];
    this.#askSafety(this.#random.pick(contents));
    this.#askLastBlock();
    void this.#read(this.#random.pick(contents));
    const lost = contents.filter(({ versionHash }) => this.#lost.has(versionHash));
    // Blobs that may not be given, and those that nothing gives any more, would seldom be asked for by chance.
    const withheld = contents.filter(({ versionHash }) => truth.withheld.has(versionHash));
    for (const some of [lost, withheld]) {
      if (some.length === 0) continue;
      const content = this.#random.pick(some);
      this.#askSafety(content);
      void this.#read(content);
    }
    // New blobs are what clients ask for most: they come to lie in memory.
    const newest = contents.at(-1);
    if (newest !== undefined && life.plan.cacheBytes > 0) void this.#read(newest);
    if (time.steadyMs - this.#requestMs < REQUEST_MS) return;
    this.#requestMs = time.steadyMs;
    const random = this.#routesRandom;
    this.#request(life, random.pick(lost.length > 0 && random.chance(0.2) ? lost : contents));
    if (withheld.length > 0) void this.#read(random.pick(withheld), this.#routes.bytes(random.pick(FORMS)));
  }

  /** One request of a client over HTTP. */
  #request(life: Life, content: SubmittedContent): void {
    const random = this.#routesRandom;
    switch (random.pick(['bytes', 'bytes', 'record', 'safety', 'last block'] as const)) {
      case 'bytes':
        return void this.#read(content, this.#routes.bytes(random.pick(FORMS)));
      case 'record':
        return void this.#read(content, this.#routes.record);
      case 'safety':
        return void this.#requestSafety(life, content);
      case 'last block':
        return void this.#requestLastBlock(life);
    }
  }

  readAll(): void {
    for (const content of this.#simulation.truth.contents.values()) void this.#read(content);
  }

  /** Looks through everything that it can reach. One at a time, as the archive's own schedule has it. */
  async scrub(): Promise<void> {
    const { life, time, disk } = this.#simulation;
    if (life === null || this.#isScrubbing) return;
    this.#isScrubbing = true;
    const begunMs = time.steadyMs;
    const couldRead = disk.fails === 'never';
    try {
      await life.archive.routine.scrub.slice(life.signal);
    } catch (error) {
      this.#simulation.note(`scrub: ${messageOf(error)}`);
    }
    if (life !== this.#simulation.life) return;
    this.#isScrubbing = false;
    if (!life.signal.aborted && couldRead) this.#noteScrub(begunMs);
  }

  /** One that was interrupted before goes on where it was, up to the end: the second one begins again at the start. */
  async scrubTwice(): Promise<void> {
    if (this.#simulation.life === null) {
      this.#fail('running', 'the archiver does not run, and nothing is wrong any more');
      return;
    }
    await this.scrub();
    await this.scrub();
  }

  /** Two scrubs, and the hourly look at the backends, as an archiver that goes on has them. */
  async lookAgain(): Promise<void> {
    await this.scrubTwice();
    const { life } = this.#simulation;
    if (life !== null) await life.archive.routine.lookAtBackends(life.signal);
  }

  /**
   * The second of two scrubs in a row at a healthy place has seen all of it: an object that cannot be read there does not
   * hold up those behind it.
   */
  #noteScrub(begunMs: number): void {
    const { disk } = this.#simulation;
    for (const store of this.#stores()) {
      const isWell = store.health === 'well' && Math.max(store.changedMs, this.#upSinceMs) < begunMs - LET_IN_MS;
      const isWhole = isWell && store.poisoned.size < MAX_UNREADABLE;
      this.#noteLooked(store.id, begunMs, isWhole);
      this.#noteLooked(listingOf(store), begunMs, isWell && store.listingLateMs === 0 && !store.listsWrongly);
    }
    this.#noteLooked('local', begunMs, disk.fails === 'never' && disk.unreadable.size < MAX_UNREADABLE);
  }

  #noteLooked(place: string, begunMs: number, isWhole: boolean): void {
    const before = this.#looked.get(place)?.begunMs ?? null;
    if (!isWhole) this.#looked.delete(place);
    else this.#looked.set(place, { begunMs, seenMs: before });
  }

  /** Reports whether everything that lay there at that time has been read since. */
  #isSeen(place: string, sinceMs: number): boolean {
    return sinceMs < (this.#looked.get(place)?.seenMs ?? Number.NEGATIVE_INFINITY);
  }

  /** A process that follows nothing says of what is final what is recorded: as a command beside an archiver that stands still. */
  atRest(life: Life): void {
    const height = life.archive.finalHeight(true);
    if (height === null || height === Number.POSITIVE_INFINITY) return;
    this.#checkFinalAt(life, height, this.#simulation.killedMs - SLACK_MS);
  }

  /** After everything has ended well, and long enough. */
  checkWhole(): void {
    const { truth, nodes, peers, life } = this.#simulation;
    const claims = this.#claims;
    if (life === null || claims === null) {
      this.#fail('running', 'the archiver does not run at the end');
      return;
    }
    this.#check(claims);
    this.#checkBounded(life);
    this.#checkCounted(life);
    this.#checkOther();
    const good = claims.good();
    const stored = claims.stored();
    const lost = new Set(claims.lost().map(({ versionHash }) => versionHash));
    const withheld = claims.withheld();
    const { chain } = truth.main;
    const files = this.#localFiles();
    const isGiven = (one: GoodCopy) =>
      one.backend === 'local' ? this.#isReadable(claims, files, one.name) : this.#isThere(one);
    const lowest = life.catalog.chain.state.lowestHeight ?? FIRST_HEIGHT;
    const { finality } = life.plan;
    const locked = chain.locks.bestBlock?.height ?? -1;
    const buried = finality === 'chainlock' ? locked : chain.tip.height - Number(finality.slice('depth:'.length));
    const finalHeight = Math.min(locked, buried);
    for (const [versionHash, height] of truth.mined()) {
      const content = truth.contents.get(versionHash);
      if (content === undefined || withheld.has(versionHash)) continue;
      const copies = good.filter((one) => one.name.versionHash === versionHash && one.counts);
      const whole = copies.filter(isGiven).length;
      const isListed = nodes.some((node) => node.has(versionHash));
      // A loss that was recorded while a peer lied is not judged again. History that was walked again after the loss of
      // everything is fetched from a peer by the daily comparison.
      const isSought = !lost.has(versionHash) && life.catalog.find(versionHash).length > 0;
      const isAtPeer = isSought && peers.some((peer) => peer.has(versionHash));
      // Kubo may hold the blocks of others: an empty folder takes none from there unasked, nor what came before its walk.
      const isUnasked =
        this.#simulation.hasLostFolder && height < lowest && life.catalog.find(versionHash).length === 0;
      const isAtStore = this.#stores().some(
        (store) => !(isUnasked && store.kind === 'kubo') && truth.isTrue(content, store.held(content)),
      );
      const isSomewhere = isListed || isAtPeer || isAtStore;
      const what = `${content.hashType} ${versionHash} of block ${height}`;
      if (isSomewhere && !(stored.has(versionHash) && whole >= life.plan.replicasRequired)) {
        this.#fail('whole', `${what} can be had, and is not whole: ${whole} copies`);
      }
      if (stored.has(versionHash) && whole < life.plan.replicasRequired) {
        this.#fail('whole', `${what} is called stored with ${whole} copies after everything was read again`);
      }
      const isWalked = height >= lowest || this.#isRecorded(content, height);
      if (stored.has(versionHash) && height <= finalHeight && isWalked) {
        const answer = life.archive.chainView.storedAndFinal([versionHash]);
        const isTold = answer.kind === 'told' && answer.safe[0] === true;
        if (!isTold) this.#fail('known', `${what} is stored and final, and check_vh says ${JSON.stringify(answer)}`);
      }
      if (isSomewhere || stored.has(versionHash) || this.#saved.has(versionHash)) continue;
      // No archiver fetches it while it is taken down.
      if (truth.touched.has(versionHash)) continue;
      if (this.#isChance(this.#chanceMs.get(versionHash) ?? 0))
        this.#fail('missed', `${what} could be had, and was not`);
      const isOver = (chain.tree.at(height)?.medianTimeSeconds ?? 0) + 24 * 3_600 < chain.tip.medianTimeSeconds;
      if (isOver && height >= lowest && !lost.has(versionHash))
        this.#fail('told', `${what} is nowhere, and nobody is told`);
    }
  }

  /** Nothing keeps the archive from its work where nothing is wrong any more. */
  async requestReadiness(): Promise<void> {
    const { life } = this.#simulation;
    // Clients ask no more: an answer that is under way in the last moment is not one that is held for ever.
    this.#requestMs = Number.POSITIVE_INFINITY;
    const blocking = life === null ? [] : await this.#routes.blocking(life);
    if (blocking.length > 0) this.#fail('ready', `the archive is not ready at the end: ${blocking.join(', ')}`);
  }

  /** The claims of another archiver at the same places are as true: neither takes anything from the other. */
  #checkOther(): void {
    const { other, truth } = this.#simulation;
    const life = other?.life ?? null;
    if (life === null) {
      if (other !== null) this.#fail('running', 'the other archiver does not run at the end');
      return;
    }
    const claims = new Claims(life.folder);
    try {
      const good = claims.good();
      this.#simulation.note(`the other has ${good.length} copies`);
      for (const copy of good) {
        const path = blobPath(copy.name);
        const store = this.#simulation.stores.find(({ id }) => id === copy.backend);
        // The simulation took it, or an operator of either had it purged.
        const isExcused = store?.harmed.has(path) === true || truth.touched.has(copy.name.versionHash);
        if (store === undefined || isExcused || truth.isTrue(copy.name, store.held(copy.name))) continue;
        this.#fail('copy', `${path} counts as good for the other archiver at ${store.id}, and is not there`);
      }
    } finally {
      claims.close();
    }
  }

  /** An archiver at rest waits for few things: what nothing ends any more adds up over years. */
  #checkBounded(life: Life): void {
    const { signal, folder, conditions } = life;
    const { time } = this.#simulation;
    const counts = {
      'timers and calls': time.waitingOf('archiver'),
      'listeners for its end': getEventListeners(signal, 'abort').length,
      'open files': openBelow(folder),
      conditions: conditions.all().length,
      'bytes of answers': this.#routes.heldBytes(life),
    };
    this.#simulation.note(`bounded ${JSON.stringify(counts)}`);
    for (const [what, count] of Object.entries(counts)) {
      if (count > MAX_AT_REST) this.#fail('bounded', `${count} ${what} at rest`);
    }
  }

  /** At rest, a cache counts as its own the bytes of the blobs that its catalog has here, and no others. */
  #checkCounted({ archive, catalog }: Life): void {
    const { mode, bytes } = archive.status().local;
    const known = catalog.replicas.cached.localBytes();
    if (mode === 'cache' && bytes !== known) this.#fail('books', `${bytes} bytes are counted here, and ${known} are`);
  }

  /** Whether a record of this occurrence lies at a store: an archive that was restored from there knows it. */
  #isRecorded({ hashType, versionHash }: SubmittedContent, height: number): boolean {
    const path = `occurrences/${hashType}/${versionHash}/${height}-`;
    return this.#stores().some((store) => store.paths.some((one) => one.startsWith(path)));
  }

  /** Long enough after a start, the data folder holds exactly the files of the catalog, within its limit. */
  checkBooks(): void {
    const { life, disk } = this.#simulation;
    const claims = this.#claims;
    if (life === null || claims === null) {
      this.#fail('running', 'the archiver does not run after its last start');
      return;
    }
    const local = claims.local();
    const withheld = claims.withheld();
    const named = [...this.#localFiles().keys()].map((path) => path.split('/'));
    const files = named.flatMap(([hashType, versionHash = '']) =>
      isHashType(hashType) ? [{ hashType, versionHash: parseVersionHash(versionHash) }] : [],
    );
    for (const name of [...files, ...claims.rows()]) {
      // A blob that is taken down and not purged may stay where it was.
      if (withheld.has(name.versionHash)) continue;
      // A file that cannot be read stays outside of a new catalog. The archive tells of such files.
      if (disk.unreadable.has(name.versionHash) && life.conditions.has('rebuild')) continue;
      const sequence = claims.sequenceOf(name);
      if (sequence === null || !local.has(sequence)) {
        this.#fail('books', `${blobPath(name)} lies in the data folder, and is in no books`);
      }
    }
    const { plan } = life;
    if (plan.mode !== 'cache' || plan.budgetBytes === null) return;
    const total = this.#localBytes();
    if (total > plan.budgetBytes + BESIDES_BYTES) {
      this.#fail('room', `${total} bytes lie in the data folder, and ${plan.budgetBytes} may`);
    }
  }

  /** Purged bytes are nowhere in the data folder: not in a free page, nor in a log. */
  checkPurged(versionHash: VersionHash): void {
    const { truth, archiver } = this.#simulation;
    const bytes = truth.bytes(versionHash);
    if (bytes === null || bytes.length < 64) return;
    // A row is cut into pages: one page of it is enough.
    const part = bytes.subarray(0, 64);
    for (const path of filesBelow(`${archiver.folder}/blobs`)) {
      if (readFileSync(path).includes(part)) this.#fail('purged', `${versionHash} was purged, and lies in ${path}`);
    }
  }

  /** Checks that a range that an audit calls complete is complete. */
  async audit(): Promise<void> {
    const { life, truth } = this.#simulation;
    if (life === null) return;
    const known = life.catalog.chain.state.lowestHeight ?? Number.POSITIVE_INFINITY;
    const { reorganisations } = truth;
    try {
      const report = await life.archive.auditChain({ from: null, to: null }, life.signal);
      if (report.range.from > known && truth.reorganisations === reorganisations) {
        this.#fail('complete', `an audit of everything begins at ${report.range.from}, and ${known} is known`);
      }
      if (this.#claims === null || life.signal.aborted || !report.isComplete) return;
      const stored = this.#claims.stored();
      const lowest = life.catalog.chain.state.lowestHeight ?? FIRST_HEIGHT;
      for (const [versionHash, height] of truth.mined()) {
        const isWalked = life.catalog.chain.blockAt(height)?.hash === truth.main.chain.tree.at(height)?.hash;
        if (!isWalked || height < lowest || height > report.range.to) continue;
        if (stored.has(versionHash) || truth.touched.has(versionHash)) continue;
        this.#fail('complete', `an audit says that nothing is missing, and ${versionHash} of ${height} is not stored`);
      }
    } catch (error) {
      if (!life.signal.aborted) this.#simulation.note(`audit: ${messageOf(error)}`);
    }
  }

  #check(claims: Claims): void {
    const good = claims.good();
    for (const copy of good) {
      this.#saved.add(copy.name.versionHash);
      this.#checkCopy(copy);
    }
    this.#checkStored(claims);
    this.#checkEvicted(claims);
    this.#claimed = new Set(good.map(({ backend, name }) => `${backend} ${blobPath(name)}`));
    this.#checkFinal();
    this.#checkLost(claims);
    const { time } = this.#simulation;
    if (time.steadyMs - this.#localMs < LOCAL_MS) return;
    this.#localMs = time.steadyMs;
    const files = this.#localFiles();
    for (const copy of good) if (copy.backend === 'local') this.#checkLocal(claims, files, copy.name);
  }

  #checkCopy(copy: GoodCopy): void {
    const store = this.#stores().find(({ id }) => id === copy.backend);
    if (store === undefined || this.#found.get(copy) === store.taken) return;
    if (this.#isThere(copy)) {
      this.#found.set(copy, store.taken);
      return;
    }
    const path = blobPath(copy.name);
    const harmedMs = store.harmed.get(path) ?? null;
    if (harmedMs === null) this.#fail('copy', `${path} counts as good at ${store.id}, and is not there`);
    else if (!store.poisoned.has(path) && this.#isSeen(store.id, harmedMs)) {
      this.#fail('copy', `${path} counts as good at ${store.id}, is not there, and was scrubbed since`);
    }
  }

  /** At a store, with the right bytes. Of the archiver's own folder, `#checkLocal` tells. */
  #isThere({ backend, name }: GoodCopy): boolean {
    const store = this.#stores().find(({ id }) => id === backend);
    if (store === undefined) return true;
    const held = store.held(name);
    if (held === null) return false;
    if (this.#compared.has(held)) return true;
    if (!this.#simulation.truth.isTrue(name, held)) return false;
    this.#compared.add(held);
    return true;
  }

  #checkLocal(claims: Claims, files: ReadonlyMap<string, string>, name: ContentName): void {
    const { truth, life, disk } = this.#simulation;
    if (this.#isHere(claims, files, name)) {
      truth.unharm(name.versionHash);
      return;
    }
    const harmedMs = truth.harmedFiles.get(name.versionHash) ?? null;
    if (harmedMs === null) this.#fail('copy', `${blobPath(name)} counts as good in the data folder, and is not there`);
    // A cache is not scrubbed: what it has lies elsewhere too.
    else if (life?.plan.mode === 'keep' && !disk.unreadable.has(name.versionHash) && this.#isSeen('local', harmedMs)) {
      this.#fail('copy', `${blobPath(name)} counts as good in the data folder, is not there, and was scrubbed since`);
    }
  }

  /** Blobs that are files of their own, by their hash type and hash. */
  #localFiles(): ReadonlyMap<string, string> {
    const below = `${this.#simulation.archiver.folder}/blobs/`;
    const blobs = filesBelow(below).filter((path) => /^[a-z0-9]+\/..\/[0-9a-f]{64}$/.test(path.slice(below.length)));
    return new Map(blobs.map((path) => [path.slice(below.length).replace(/\/..\//, '/'), path]));
  }

  #isHere(claims: Claims, files: ReadonlyMap<string, string>, name: ContentName): boolean {
    const { truth } = this.#simulation;
    const row = claims.row(name);
    if (row !== null) return truth.isTrue(name, row);
    const file = files.get(blobPath(name));
    return file !== undefined && truth.isTrue(name, readFileSync(file));
  }

  #isReadable(claims: Claims, files: ReadonlyMap<string, string>, name: ContentName): boolean {
    return !this.#simulation.disk.unreadable.has(name.versionHash) && this.#isHere(claims, files, name);
  }

  #checkStored(claims: Claims): void {
    const short = claims.storedWithFewer(this.#simulation.life?.plan.replicasRequired ?? 0);
    if (short !== null) this.#fail('stored', `${blobPath(short)} is called stored, and has too few copies that count`);
    const [wrong] = claims.wrongTotals();
    if (wrong !== undefined)
      this.#fail('totals', `the catalog's totals are not what its rows say: ${JSON.stringify(wrong)}`);
  }

  /** A blob that left the data folder has a copy elsewhere, or the simulation took that copy just now. */
  #checkEvicted(claims: Claims): void {
    const { truth, time } = this.#simulation;
    const local = claims.local();
    for (const sequence of this.#local) {
      const name = local.has(sequence) ? null : claims.nameAt(sequence);
      if (name === null || truth.touched.has(name.versionHash) || !truth.mined().has(name.versionHash)) continue;
      const path = blobPath(name);
      // A copy that was called good, and has rotten since anybody read it, is asked for, and seems to be there.
      const isExcused = (store: SimulatedStore) => {
        const rottenMs = store.rotten.get(path) ?? null;
        const isUnknown = rottenMs !== null && (store.poisoned.has(path) || !this.#isSeen(store.id, rottenMs));
        return isUnknown && this.#claimed.has(`${store.id} ${path}`);
      };
      const isElsewhere = this.#stores().some(
        (store) =>
          truth.isTrue(name, store.held(name)) ||
          isExcused(store) ||
          time.steadyMs - (store.harmed.get(path) ?? Number.NEGATIVE_INFINITY) < SLACK_MS,
      );
      if (!isElsewhere) this.#fail('evicted', `${path} left the data folder, and lies nowhere else`);
    }
    this.#local = local;
  }

  #checkFinal(): void {
    const { life, time } = this.#simulation;
    const height = life?.archive.finalHeight(false) ?? null;
    if (life === null || height === null || height === this.#finalHeight) return;
    const since = { height: this.#finalHeight, ms: this.#finalMs };
    this.#finalHeight = height;
    this.#finalMs = time.steadyMs - SLACK_MS;
    this.#checkFinalAt(life, height, this.#finalMs, since);
  }

  /**
   * A block is final when the network says so; where depth decides, when no node has said that it is on another branch.
   * What a node said after `knownMs` may not have been heard. `since`: the height and the moment of the last comparison.
   */
  #checkFinalAt(
    { catalog, plan }: Life,
    height: number,
    knownMs: number,
    since = { height: -1, ms: Number.NEGATIVE_INFINITY },
  ): void {
    const { truth, nodes } = this.#simulation;
    const walked = catalog.chain.blockAt(height);
    if (walked === null) return;
    if (plan.finality === 'chainlock') {
      const { tree, locks } = truth.main.chain;
      const isLocked = height <= (locks.bestBlock?.height ?? -1) && tree.at(height)?.hash === walked.hash;
      if (!isLocked) this.#fail('final', `block ${height} ${walked.hash} is called final, and no lock covers it`);
      return;
    }
    // A single node follows itself.
    if (nodes.length < 2) return;
    for (const node of nodes) {
      // One that came back to this branch was asked by its newest block alone.
      const isElsewhere = (at: number) => node.branch.chain.tree.at(at)?.hash !== catalog.chain.blockAt(at)?.hash;
      const other = [...node.said.values()].find(
        (said) =>
          said.height <= height &&
          said.atMs < knownMs &&
          (said.height > since.height || said.atMs >= since.ms) &&
          catalog.chain.blockAt(said.height)?.hash !== said.hash &&
          // A catalog that was made again begins with the lowest block of which there is a record.
          said.height >= Math.max(FIRST_HEIGHT, catalog.chain.state.lowestHeight ?? FIRST_HEIGHT) &&
          isElsewhere(said.height),
      );
      if (other !== undefined) {
        this.#fail(
          'final',
          `block ${height} is called final, and ${node.origin} said ${other.hash} at ${other.height}`,
        );
      }
    }
  }

  /** A loss is compared once with what there was then, whichever process says it again later; found bytes end it. */
  #checkLost(claims: Claims): void {
    const told = claims.lost();
    if (told.length === 0 && this.#lost.size === 0) return;
    const stored = claims.stored();
    for (const versionHash of this.#lost.keys()) if (stored.has(versionHash)) this.#lost.delete(versionHash);
    for (const name of told) {
      if (this.#lost.has(name.versionHash)) continue;
      this.#lost.set(name.versionHash, this.#simulation.time.steadyMs);
      this.#checkLoss(claims, name);
    }
  }

  #checkLoss(claims: Claims, name: ContentName): void {
    const { nodes, peers, truth, disk } = this.#simulation;
    for (const peer of peers) {
      if (this.#isNew(peer)) continue;
      if (peer.health === 'away') this.#fail('lost', `${blobPath(name)} is lost, and ${peer.name} did not answer`);
      const isThere =
        peer.has(name.versionHash) &&
        (peer.health === 'well' || peer.health === 'withholding' || peer.health === 'parted');
      if (isThere) this.#fail('lost', `${blobPath(name)} is lost, and ${peer.name} has it`);
    }
    for (const store of this.#stores()) {
      if (store.health === 'lying' || this.#isNew(store)) continue;
      if (truth.isTrue(name, store.held(name))) this.#fail('lost', `${blobPath(name)} is lost, and ${store.id} has it`);
      if (store.health === 'gone' || store.health === 'denied') {
        this.#fail('lost', `${blobPath(name)} is lost, and ${store.id} did not answer`);
      }
    }
    for (const node of nodes) {
      if (this.#isNew(node) || node.fault !== null) continue;
      if (node.isAway) this.#fail('lost', `${blobPath(name)} is lost, and ${node.origin} did not answer`);
      else if (node.has(name.versionHash)) this.#fail('lost', `${blobPath(name)} is lost, and ${node.origin} has it`);
    }
    if (disk.fails === 'never' && this.#isReadable(claims, this.#localFiles(), name)) {
      this.#fail('lost', `${blobPath(name)} is lost, and the data folder has it`);
    }
    // The archiver's own memory is a place, too: a client that gets the blob from there refutes the loss.
    const content = truth.contents.get(name.versionHash);
    if (content !== undefined) void this.#read(content);
  }

  #isNew({ changedMs }: SimulatedNode | SimulatedStore | SimulatedPeer): boolean {
    return this.#simulation.time.steadyMs - changedMs < SLACK_MS;
  }

  #askSafety(content: SubmittedContent): void {
    const { life } = this.#simulation;
    const answer = life?.archive.chainView.storedAndFinal([content.versionHash]);
    if (answer?.kind === 'told' && answer.safe[0] === true) this.#checkSafe(content);
  }

  #checkSafe(content: SubmittedContent): void {
    const { life, truth } = this.#simulation;
    if (truth.withheld.has(content.versionHash)) {
      this.#fail('check_vh', `${content.versionHash} is withheld, and true`);
    }
    if (life?.plan.finality !== 'chainlock') return;
    const { tree, locks } = truth.main.chain;
    const height = truth.mined().get(content.versionHash);
    if (height === undefined || height > (locks.bestBlock?.height ?? -1) || tree.at(height) === null) {
      this.#fail('check_vh', `${content.versionHash} is true, and no locked block has it`);
    }
  }

  #askLastBlock(): void {
    const { life } = this.#simulation;
    const claims = this.#claims;
    if (life === null || claims === null) return;
    const answer = life.archive.chainView.lastBlock();
    if (answer.kind === 'found') this.#checkLastBlock(life, answer.block.hash, claims.stored());
  }

  /** `stored`: what was stored when the archiver was asked. */
  #checkLastBlock({ catalog, plan }: Life, hash: string, stored: ReadonlySet<VersionHash>): void {
    const { truth } = this.#simulation;
    const claims = this.#claims;
    const { tree } = truth.main.chain;
    const block = tree.get(hash);
    if (block === null || !tree.isActive(block)) {
      if (plan.finality === 'chainlock') this.#fail('lastblock', `block ${hash} is no block of the chain`);
      return;
    }
    const lost = new Set(claims?.lost().map(({ versionHash }) => versionHash));
    const { height } = block;
    const lowest = catalog.chain.state.startHeight ?? FIRST_HEIGHT;
    for (const [versionHash, at] of truth.mined()) {
      const isAccounted = stored.has(versionHash) || lost.has(versionHash) || truth.touched.has(versionHash);
      if (at > height || at < lowest || isAccounted) continue;
      this.#fail('lastblock', `everything up to ${height} is said to be saved, and ${versionHash} of ${at} is not`);
    }
  }

  async #read(content: SubmittedContent, ask: Asker = askReader): Promise<void> {
    const { life, truth } = this.#simulation;
    if (life === null) return;
    const wasWithheld = truth.withheld.has(content.versionHash);
    const name = { hashType: content.hashType, versionHash: content.versionHash };
    const wasLost = life.catalog.losses.find(name) !== null;
    const before = this.#holders(name).filter((store) => !(wasLost && this.#isBroughtLately(store, name)));
    const wasStored = ask === this.#routes.record && this.#claims?.stored().has(name.versionHash) === true;
    const listing = this.#listing(name);
    const wasWalked = this.#isWalked(life, name);
    try {
      const told = await ask(life, name);
      const isWithheld = wasWithheld && truth.withheld.has(content.versionHash);
      this.#checkTold(name, told, isWithheld);
      if (told.kind === 'record') this.#checkRecord(told.record, wasStored);
      if (told.kind === 'bytes' && wasLost && life.catalog.losses.find(name) !== null) {
        this.#fail('lost', `${blobPath(name)} is recorded as lost, and was served`);
      }
      const lister = this.#listing(name).find((node) => listing.includes(node));
      if (told.kind === 'absent' && lister !== undefined) {
        this.#fail('read', `${blobPath(name)} is told to be absent, and ${lister.origin} lists it`);
      }
      if (told.kind === 'absent' && wasWalked && this.#isWalked(life, name)) {
        this.#fail('read', `${blobPath(name)} is told to be absent, and a block that was examined has it`);
      }
      const after = this.#holders(name);
      const holder = before.find((store) => after.includes(store));
      if ((told.kind === 'absent' || told.kind === 'lost') && holder !== undefined && !isWithheld) {
        this.#fail('read', `${blobPath(name)} is told to be ${told.kind}, and ${holder.id} has it`);
      }
    } catch (error) {
      if (!life.signal.aborted) this.#simulation.note(`read: ${messageOf(error)}`);
    }
  }

  /** Reports whether the archiver has examined the block of a blob, and has recorded no loss of the blob. */
  #isWalked({ catalog }: Life, name: ContentName): boolean {
    const { truth } = this.#simulation;
    const height = truth.mined().get(name.versionHash);
    if (height === undefined || catalog.losses.find(name) !== null) return false;
    return catalog.chain.blockAt(height)?.hash === truth.main.chain.tree.at(height)?.hash;
  }

  /**
   * A loss is what every place said then. What another archiver puts at a place later is found when that place is listed
   * again, and can be read there.
   */
  #isBroughtLately(store: SimulatedStore, name: ContentName): boolean {
    const putMs = store.putByAnotherMs(name);
    if (putMs === null) return false;
    const sinceMs = Math.max(putMs, this.#lost.get(name.versionHash) ?? Number.POSITIVE_INFINITY);
    return store.poisoned.has(blobPath(name)) || !this.#isSeen(listingOf(store), sinceMs);
  }

  /** Stores that are and were healthy, and have the right bytes. */
  #holders(name: ContentName): SimulatedStore[] {
    return this.#stores().filter(
      (store) =>
        store.health === 'well' && !this.#isNew(store) && this.#simulation.truth.isTrue(name, store.held(name)),
    );
  }

  /** Nodes that answer truly, and have answered, and list it. */
  #listing({ versionHash }: ContentName): SimulatedNode[] {
    return this.#simulation.nodes.filter(
      (node) => !node.isAway && node.fault === null && !this.#isNew(node) && node.has(versionHash),
    );
  }

  #checkTold(name: ContentName, told: Told, isWithheld: boolean): void {
    const { truth, time } = this.#simulation;
    if (told.kind === 'withheld' && !truth.touched.has(name.versionHash)) {
      this.#fail('withheld', `${blobPath(name)} is called withheld, and nobody said so`);
    }
    if (told.kind !== 'bytes') return;
    if (isWithheld) this.#fail('withheld', `${blobPath(name)} is withheld, and was served`);
    const bytes = truth.bytes(name.versionHash);
    if (bytes !== null && told.isOf(bytes)) return;
    // The archive reads a file again that it hashed an hour ago; until then its times speak for it, where this process hashed it.
    const rottenMs = truth.rottenSinceMs.get(name.versionHash);
    if (rottenMs !== undefined && rottenMs >= this.#upSinceMs && time.steadyMs - rottenMs < REHASH_MS) return;
    this.#fail('served', `${blobPath(name)} was served with other bytes`);
  }

  /** Compares the record of a blob, as HTTP has it, with the catalog on the disk and with the chain. */
  #checkRecord({ versionHash, state, occurrences }: RouteRecord, wasStored: boolean): void {
    const { life, truth } = this.#simulation;
    const isStored = wasStored || this.#claims?.stored().has(parseVersionHash(versionHash));
    if (state === 'stored' && !isStored) this.#fail('record', `${versionHash} is said to be stored, and is not`);
    if (life?.plan.finality !== 'chainlock') return;
    const { tree, locks } = truth.main.chain;
    for (const one of occurrences) {
      if (one.state !== 'final' || one.height === null) continue;
      const isLocked = one.height <= (locks.bestBlock?.height ?? -1) && tree.at(one.height)?.hash === one.blockHash;
      if (!isLocked) this.#fail('record', `${versionHash} is said to be final at ${one.height}, and no lock covers it`);
    }
  }

  async #requestSafety(life: Life, content: SubmittedContent): Promise<void> {
    const wasSafe = this.#isSafe(life, content);
    const wasStored = this.#claims?.stored().has(content.versionHash) ?? false;
    const safe = await this.#routes.safety(life, [content.versionHash]);
    if (safe === null) return;
    if (safe[0] !== true) {
      if (wasSafe && this.#isSafe(life, content)) {
        this.#fail('check_vh', `${content.versionHash} is stored and final, and false`);
      }
      return;
    }
    this.#checkSafe(content);
    if (!wasStored && this.#claims?.stored().has(content.versionHash) === false) {
      this.#fail('check_vh', `${content.versionHash} is not stored, and true`);
    }
  }

  /** Stored, by the catalog on the disk, and in a block of the chain below what the archiver calls final. */
  #isSafe({ archive, catalog }: Life, { versionHash }: SubmittedContent): boolean {
    const { truth } = this.#simulation;
    const height = truth.mined().get(versionHash) ?? Number.POSITIVE_INFINITY;
    const isFinal = height <= (archive.finalHeight(false) ?? -1);
    if (!isFinal || catalog.chain.blockAt(height)?.hash !== truth.main.chain.tree.at(height)?.hash) return false;
    return !truth.touched.has(versionHash) && this.#claims?.stored().has(versionHash) === true;
  }

  async #requestLastBlock(life: Life): Promise<void> {
    const stored = this.#claims?.stored() ?? new Set();
    const hash = await this.#routes.lastBlock(life);
    if (hash === null) return;
    this.#checkLastBlock(life, hash, new Set([...stored, ...(this.#claims?.stored() ?? [])]));
  }

  /** Adds up how long each blob could be fetched: by a running archiver, from a node that serves it, to a place that takes it. */
  beforeBlock(seconds: number): void {
    const { life, nodes, disk, truth, time } = this.#simulation;
    if (life === null || time.steadyMs - this.#upSinceMs < SLACK_MS) return;
    // A blob without room waits for a place that takes what is here, which an archiver tries again after a rest.
    const isTaken = this.#stores().some(
      (store) => store.health === 'well' && time.steadyMs - store.changedMs > LET_IN_MS,
    );
    const isHome = (!disk.isFull && disk.fails === 'never' && !this.#isCacheFull(life)) || isTaken;
    const [followed] = nodes;
    if (!isHome || followed === undefined || followed.isAway || followed.fault !== null) return;
    if (followed.branch !== truth.main || this.#isNew(followed) || followed.latencyMs > 1_000) return;
    for (const versionHash of truth.contents.keys()) {
      if (this.#saved.has(versionHash) || !followed.has(versionHash)) continue;
      if (disk.refuses(versionHash) && !isTaken) continue;
      const chanceMs = (this.#chanceMs.get(versionHash) ?? 0) + seconds * 1_000;
      this.#chanceMs.set(versionHash, chanceMs);
      const isOwed = this.#isChance(chanceMs) && truth.mined().has(versionHash) && !truth.touched.has(versionHash);
      const isHere = isOwed && life.catalog.find(versionHash).some(({ state }) => state !== 'seen');
      if (isOwed && !isHere) this.#fail('missed', `${versionHash} could be had for two hours, and was not`);
    }
  }

  #isChance(chanceMs: number): boolean {
    return chanceMs > CHANCE_MS + this.#simulation.plan.patienceMs;
  }

  /** A cache without room for one more blob gets room when a place takes what it holds. */
  #isCacheFull({ plan: { budgetBytes }, catalog }: Life): boolean {
    return budgetBytes !== null && catalog.replicas.cached.localBytes() > budgetBytes - LARGEST_BLOB_BYTES;
  }

  #localBytes(): number {
    return filesBelow(`${this.#simulation.archiver.folder}/blobs`)
      .filter((path) => !path.includes('/damaged/') && !/-(wal|shm)$/.test(path))
      .reduce((sum, path) => sum + statSync(path).size, 0);
  }

  #stores(): readonly SimulatedStore[] {
    return this.#simulation.configured;
  }

  #fail(invariant: string, message: string): void {
    this.#simulation.fail(invariant, message);
  }
}

/** The listing of a store, as a place that a scrub has seen. */
function listingOf({ id }: SimulatedStore): string {
  return `listing of ${id}`;
}

/** A reader in the archiver's own process. */
async function askReader({ archive, signal }: Life, name: ContentName): Promise<Told> {
  const given = await archive.reader.open(name, { signal, ...ROOM_IS_MADE });
  if (given.kind !== 'memory' && given.kind !== 'file') return given;
  const bytes = given.kind === 'memory' ? given.blob.bytes : Buffer.alloc(given.file.sizeBytes);
  if (given.kind === 'file') {
    try {
      await given.file.read(bytes, 0);
    } finally {
      given.file.close();
    }
  }
  return { kind: 'bytes', isOf: (expected) => Buffer.compare(expected, bytes) === 0 };
}

/** Linux alone tells which files a process has open; 0 elsewhere. */
function openBelow(folder: string): number {
  if (!existsSync(OPEN_FILES)) return 0;
  const targets = readdirSync(OPEN_FILES).flatMap((descriptor) => {
    try {
      return [readlinkSync(`${OPEN_FILES}/${descriptor}`)];
    } catch {
      // The one that lists the folder is closed by now.
      return [];
    }
  });
  return targets.filter((target) => target.startsWith(folder)).length;
}
