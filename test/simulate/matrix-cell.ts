import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { Alerts } from '../../src/core/alerts/alerts.ts';
import { Notifier } from '../../src/core/notifier.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import type { BlobHasher } from '../../src/verify/hasher.ts';
import { ROOM_IS_MADE } from '../../src/view/archive-view.ts';
import type { Life } from './archiver.ts';
import { Claims } from './claims.ts';
import { type Cell, FILE_BYTES, planOfCell, ROW_BYTES } from './matrix-cells.ts';
import { type FaultKind, HOUR_MS } from './plan.ts';
import type { SubmittedContent } from './simulated-chain.ts';
import { filesBelow } from './simulated-disk.ts';
import type { World } from './simulated-process.ts';
import { blobPath } from './simulated-store.ts';
import { Simulation } from './simulation.ts';

/** Claims of the archiver at one moment: blobs by state, and what a client gets. */
export interface Claimed {
  readonly stored: number;
  readonly spooled: number;
  readonly seen: number;
  readonly lost: number;
  /** Blobs that `check_vh` calls stored and final. */
  readonly safe: number;
  /** Blobs that a reader got; null: no client read, since a read would have found what this cell waits for. */
  readonly served: number | null;
  readonly isReady: boolean;
}

/** A condition that the fault raised. */
export interface Told {
  readonly code: string;
  readonly afterSeconds: number;
  /** Seconds from the fault to the first alert about it; null: none was sent. */
  readonly alertSeconds: number | null;
}

export interface CellResult {
  readonly cell: Cell;
  /** Blobs of this cell's world. */
  readonly blobs: number;
  /** Shortly before a fault ends, or ten minutes after one that is over at once. null: the process did not run. */
  readonly claimed: Claimed | null;
  readonly told: readonly Told[];
  /** Documents that a receiver of alerts got. */
  readonly alerts: number;
  /** Exit code of the check that the fault met; null: no check, or it ended with its process. */
  readonly checkExit: number | null;
  /** Blobs that are nowhere any more, although some place or node had them right after the fault. */
  readonly lost: number;
  /** Blobs that no place and no node had any more right after the fault, and those of them that the archiver says are lost. */
  readonly takenAway: number;
  readonly takenAwayTold: number;
  /** Seconds from the fault's end until everything is whole, and until no condition stands. null: not within eight hours. */
  readonly wholeSeconds: number | null;
  readonly clearSeconds: number | null;
  /** Conditions that stand at the end. */
  readonly standing: readonly string[];
  /** A claim that was not true; null: there was none. */
  readonly falseClaim: string | null;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const SAMPLE_MS = 5 * SECOND_MS;
const BLOCK_SECONDS = 300;
/** Blocks after which the node has pruned the first blobs, each so many seconds after the one before. */
const WINDOW = { blocks: 18, seconds: 2_400 } as const;
const FAULT_MS = HOUR_MS;
const LOOK_AT_MS = 10 * MINUTE_MS;
const MOMENT_WITHIN_MS = 15 * MINUTE_MS;
const SETTLED_MS = 10 * MINUTE_MS;
const LIMIT_MS = 8 * HOUR_MS;
const RESTARTED_WITHIN_MS = 40 * MINUTE_MS;
const MAX_TRIES = 40;

/** Tasks as the schedule of an archiver has them, more often: minutes after the fault, and minutes between. */
const TASKS = { canary: [20, 60], scrub: [40, 120], audit: [50, 120] } as const;

/** Found by a scrub alone: clients that read would find it first. */
const SILENT: ReadonlySet<FaultKind> = new Set<FaultKind>([
  ...(['store-loses-object', 'store-rots', 'store-collects', 'store-wiped', 'store-unpins'] as const),
  ...(['object-poisoned', 'file-rots', 'row-rots', 'file-unreadable', 'planted-loss'] as const),
]);

const ended = z.object({ event: z.literal('ended'), outcome: z.looseObject({ exitCode: z.number() }).nullable() });

type IsMeant = (place: 'disk' | 'store' | 'node' | 'peer', operation: string, path: string) => boolean;

/** Runs one cell: a small archive becomes whole, the fault comes at its moment and ends, and the archive becomes whole again. */
export class CellRun {
  readonly #cell: Cell;
  readonly #simulation: Simulation;
  #labels = 0;
  #minedMs = 0;
  #isMeant: IsMeant = () => false;
  #isMet = false;
  #isWiped = false;
  #life: Life | null = null;
  #claims: Claims | null = null;
  /** The process whose files `#claims` reads. */
  #claimsLife: Life | null = null;
  #lifeMs = 0;
  #faultMs = Number.POSITIVE_INFINITY;
  #endMs = Number.POSITIVE_INFINITY;
  #brokenMs = 0;
  #stoodMs = 0;
  #checkExit: number | null = null;
  readonly #before = new Set<string>();
  readonly #toldMs = new Map<string, number>();
  readonly #alerts: { readonly code: string | null; readonly atMs: number }[] = [];

  constructor(cell: Cell, seed: number, root: string, hasher: BlobHasher, trace: ((line: string) => void) | null) {
    this.#cell = cell;
    this.#simulation = new Simulation(planOfCell(seed, cell), root, hasher, trace);
    this.#watch();
  }

  get world(): World {
    return this.#simulation.world;
  }

  async run(): Promise<CellResult> {
    try {
      const old = await this.#warmUp();
      const isThere = await this.#waitForMoment(old);
      if (!isThere) return notRun({ ...this.#cell, reason: 'this moment does not come here' });
      const isLasting = this.#begin();
      // This fault falls silent first, and takes everything some minutes later.
      if (this.#cell.kind === 'stores-wiped') await this.#passUntil(() => this.#isWiped);
      const had = new Set(this.#mined().filter((content) => this.#isSomewhere(content)));
      const claimed = await this.#passFault(isLasting);
      await this.#becomeWhole();
      return this.#result(claimed, had);
    } finally {
      this.#claims?.close();
      this.#simulation.end();
    }
  }

  /** Four blobs that the node has pruned since, and two that it still has: all of them stored and final. */
  async #warmUp(): Promise<readonly SubmittedContent[]> {
    const simulation = this.#simulation;
    simulation.start();
    this.#minedMs = simulation.time.steadyMs;
    this.#mineOn();
    await this.#pass(MINUTE_MS);
    const old = [...this.#publish(), ...this.#publish()];
    await this.#pass(12 * MINUTE_MS);
    await this.#passWindow();
    old.push(...this.#publish());
    this.#sample();
    await this.#pass(12 * MINUTE_MS);
    if (this.#broken().length > 0) throw new Error(`before the fault, not whole: ${this.#broken().join(', ')}`);
    return old;
  }

  /** Hours of the chain and of all clocks in a few minutes of work. */
  async #passWindow(): Promise<void> {
    const { time, truth } = this.#simulation;
    for (let block = 0; block < WINDOW.blocks; block += 1) {
      time.stepWall(WINDOW.seconds * SECOND_MS);
      truth.main.mine(WINDOW.seconds);
      for (const node of this.#simulation.nodes) node.notify();
      await this.#pass(20 * SECOND_MS);
    }
  }

  /** Gives whether the moment came. */
  async #waitForMoment(old: readonly SubmittedContent[]): Promise<boolean> {
    const simulation = this.#simulation;
    const { backend, moment } = this.#cell;
    const oldPaths = new Set(old.map(blobPath));
    const isOldFile = (path: string) => old.some(({ versionHash }) => path.endsWith(versionHash));
    const isRead: IsMeant = (place, operation, path) =>
      backend === 'disk'
        ? place === 'disk' && ['open', 'read', 'readFile'].includes(operation) && isOldFile(path)
        : place === 'store' && operation === 'get' && oldPaths.has(path);
    switch (moment) {
      case 'before':
        simulation.time.after(MINUTE_MS, 'world', () => void this.#publish());
        return true;
      case 'stored':
        return true;
      case 'write':
        this.#publish();
        if (backend === 'catalog' || backend === 'clock') {
          return await this.#passUntil(() => (simulation.life?.catalog.totals().spooled ?? 0) > 0);
        }
        return await this.#passUntilMet((place, operation, path) => {
          if (backend === 'disk') return place === 'disk' && operation === 'write';
          if (backend === 'node') return place === 'node' && operation === 'fetch';
          if (backend === 'peer') return place === 'peer';
          return place === 'store' && operation === 'put' && !path.includes('.') && !oldPaths.has(path);
        });
      case 'scrub':
        void simulation.scrub();
        return await this.#passUntilMet(isRead);
      case 'eviction':
        this.#publish();
        return await this.#passUntilMet((place, operation, path) =>
          backend === 'disk'
            ? place === 'disk' && operation === 'remove' && isOldFile(path)
            : place === 'store' && (operation === 'stat' || operation === 'get') && oldPaths.has(path),
        );
      case 'check':
        void this.#check();
        return await this.#passUntilMet(isRead);
      default:
        return moment satisfies never;
    }
  }

  /** A fault whose victim is left to chance is begun again until it has one. Gives whether it lasts. */
  #begin(): boolean {
    const { time, nodes, disk, stores, truth } = this.#simulation;
    const { kind } = this.#cell;
    if (kind === null) throw new TypeError('a cell without a kind is not run');
    for (const { code } of this.#simulation.life?.archive.standing() ?? []) this.#before.add(code);
    this.#faultMs = time.steadyMs;
    this.#brokenMs = time.steadyMs;
    this.#stoodMs = time.steadyMs;
    this.#scheduleTasks();
    const hasVictim = () => {
      if (kind === 'node-forgets') return nodes.some(({ forgotten }) => forgotten.size > 0);
      if (kind === 'object-poisoned') return stores.some(({ poisoned }) => poisoned.size > 0);
      if (kind === 'disk-refuses-some') return [...truth.contents.keys()].some((hash) => disk.refuses(hash));
      return true;
    };
    let isLasting = false;
    for (let number = 1; number <= MAX_TRIES; number += 1) {
      isLasting = this.#simulation.begin({ number, atMs: time.steadyMs, forMs: FAULT_MS, kind });
      if (hasVictim()) return isLasting;
    }
    throw new Error(`${kind} has no victim`);
  }

  async #passFault(isLasting: boolean): Promise<Claimed | null> {
    await this.#passTo(this.#faultMs + LOOK_AT_MS);
    if (isLasting) await this.#passTo(this.#faultMs + FAULT_MS - 3 * MINUTE_MS);
    const claimed = await this.#claimedNow();
    if (isLasting) await this.#passTo(this.#faultMs + FAULT_MS + SECOND_MS);
    const endMs = isLasting ? this.#faultMs + FAULT_MS : this.#faultMs;
    await this.#passUntil(() => this.#simulation.life !== null, RESTARTED_WITHIN_MS);
    this.#sampleNow();
    this.#endMs = Math.max(endMs, this.#lifeMs);
    return claimed;
  }

  async #becomeWhole(): Promise<void> {
    const { time } = this.#simulation;
    const isOver = () =>
      time.steadyMs - Math.max(this.#endMs, this.#brokenMs, this.#stoodMs) >= SETTLED_MS &&
      this.#takenAwayUntold().length === 0;
    while (!isOver() && time.steadyMs < this.#endMs + LIMIT_MS && this.#simulation.violation === null) {
      await this.#pass(MINUTE_MS);
    }
  }

  #result(claimed: Claimed | null, had: ReadonlySet<SubmittedContent>): CellResult {
    const simulation = this.#simulation;
    const nowMs = simulation.time.steadyMs;
    const mined = this.#mined();
    const gone = mined.filter((content) => !this.#isSomewhere(content));
    const takenAway = gone.filter((content) => !had.has(content) || this.#isExcused(content));
    const untold = this.#takenAwayUntold().length;
    const since = (ms: number) => Math.max(0, Math.round((ms - this.#endMs) / SECOND_MS));
    const isSettled = (ms: number) => nowMs - ms >= SETTLED_MS;
    const { violation } = simulation;
    const standing = simulation.life?.archive.standing().map(({ code }) => code) ?? [];
    const unsaid = untold > 0 ? `told: ${untold} blobs are nowhere, and no loss is recorded` : null;
    return {
      cell: this.#cell,
      blobs: mined.length,
      claimed,
      told: [...this.#toldMs].map(([code, atMs]) => ({
        code,
        afterSeconds: Math.round((atMs - this.#faultMs) / SECOND_MS),
        alertSeconds: this.#alertSeconds(code),
      })),
      alerts: this.#alerts.length,
      checkExit: this.#checkExit,
      lost: gone.length - takenAway.length,
      takenAway: takenAway.length,
      takenAwayTold: takenAway.length - untold,
      wholeSeconds: isSettled(this.#brokenMs) ? since(this.#brokenMs) : null,
      clearSeconds: isSettled(this.#stoodMs) ? since(this.#stoodMs) : null,
      standing: standing.filter((code) => !this.#before.has(code)),
      falseClaim: violation === null ? unsaid : `${violation.invariant}: ${violation.message}`,
    };
  }

  #alertSeconds(code: string): number | null {
    const first = this.#alerts.find((alert) => alert.code === code);
    return first === undefined ? null : Math.round((first.atMs - this.#faultMs) / SECOND_MS);
  }

  /** One blob that is a row, and one that is a file, in the next block, which comes now. */
  #publish(): SubmittedContent[] {
    const { truth, nodes } = this.#simulation;
    const published = [ROW_BYTES, FILE_BYTES].flatMap((sizeBytes) => {
      this.#labels += 1;
      const hashType = this.#labels % 3 === 0 ? 'blake2s256' : 'keccak256';
      const content = truth.main.submit(`matrix ${this.#labels}`, sizeBytes, hashType);
      if (content !== null) truth.note(content);
      return content ?? [];
    });
    // The node of a peer's cell never had what the peer is asked for.
    if (this.#cell.backend === 'peer' && this.#labels > 6) {
      for (const { versionHash } of published) for (const node of nodes) node.forgotten.add(versionHash);
    }
    this.#mine();
    return published;
  }

  #mine(): void {
    const { time, truth, nodes } = this.#simulation;
    const seconds = Math.max(1, Math.round((time.steadyMs - this.#minedMs) / SECOND_MS));
    this.#minedMs = time.steadyMs;
    if (this.#cell.kind === null || !SILENT.has(this.#cell.kind)) {
      this.#simulation.mine(seconds);
      return;
    }
    truth.main.mine(seconds);
    for (const node of nodes) if (node.branch === truth.main) node.notify();
  }

  #mineOn(): void {
    this.#simulation.time.after(BLOCK_SECONDS * SECOND_MS, 'world', () => {
      this.#mine();
      this.#mineOn();
    });
  }

  #scheduleTasks(): void {
    const { time } = this.#simulation;
    for (const task of ['canary', 'scrub', 'audit'] as const) {
      const [first, every] = TASKS[task];
      const again = () => {
        time.after(every * MINUTE_MS, 'world', again);
        void this.#perform(task);
      };
      time.after(first * MINUTE_MS, 'world', again);
    }
  }

  /** Runs a task the way the schedule of a daemon does, which tells when a task fails. */
  async #perform(task: keyof typeof TASKS): Promise<void> {
    const { life } = this.#simulation;
    if (task === 'scrub') return await this.#simulation.scrub();
    if (life === null) return;
    const { routine, reports } = life.archive;
    try {
      await (task === 'canary' ? routine.lookAtBackends(life.signal) : routine.audit.run(life.signal));
      reports.taskEnded(task, null);
    } catch (error) {
      if (!life.signal.aborted) reports.taskEnded(task, error);
    }
  }

  async #check(): Promise<void> {
    const { life } = this.#simulation;
    if (life === null) return;
    const id = life.jobs.start('check', { subset: { index: 1, of: 1 } });
    for await (const line of life.jobs.follow(id, new AbortController().signal)) {
      const told = ended.safeParse(JSON.parse(line));
      if (told.success) this.#checkExit = told.data.outcome?.exitCode ?? null;
    }
  }

  async #claimedNow(): Promise<Claimed | null> {
    const { life, truth } = this.#simulation;
    const claims = this.#claimsOf(life);
    if (life === null || claims === null) return null;
    const { stored, spooled, seen } = life.catalog.totals();
    const isReady = life.archive.standing().every(({ blocksReadiness }) => !blocksReadiness);
    const lost = claims.lost().length;
    const safe = [...truth.contents.values()].filter((content) => isSafe(life, content)).length;
    return { stored, spooled, seen, lost, safe, served: await this.#served(life), isReady };
  }

  async #served(life: Life): Promise<number | null> {
    const { kind } = this.#cell;
    if (kind !== null && SILENT.has(kind)) return null;
    let served = 0;
    let waiting = 0;
    for (const { hashType, versionHash } of this.#simulation.truth.contents.values()) {
      waiting += 1;
      life.archive.reader
        .open({ hashType, versionHash }, { signal: life.signal, ...ROOM_IS_MADE })
        .then(
          (given) => {
            if (given.kind === 'file') given.file.close();
            if (given.kind === 'file' || given.kind === 'memory') served += 1;
          },
          () => undefined,
        )
        .finally(() => {
          waiting -= 1;
        });
    }
    await this.#passUntil(() => waiting === 0, 2 * MINUTE_MS);
    return served;
  }

  /** Looks every few seconds at what is told and at what is true. */
  #sample(): void {
    this.#simulation.time.after(SAMPLE_MS, 'world', () => {
      this.#sampleNow();
      this.#sample();
    });
  }

  #sampleNow(): void {
    const { life, time } = this.#simulation;
    const nowMs = time.steadyMs;
    if (life !== null && life !== this.#life) this.#attach(life);
    if (nowMs < this.#faultMs) return;
    for (const { code } of life?.archive.standing() ?? []) {
      this.#noteTold(code);
      if (!this.#before.has(code)) this.#stoodMs = nowMs;
    }
    if (this.#broken().length > 0) this.#brokenMs = nowMs;
  }

  #noteTold(code: string): void {
    const nowMs = this.#simulation.time.steadyMs;
    if (nowMs < this.#faultMs || this.#before.has(code) || this.#toldMs.has(code)) return;
    this.#toldMs.set(code, nowMs);
  }

  #attach(life: Life): void {
    const { time } = this.#simulation;
    this.#life = life;
    // One that is cleared within the same second is told all the same, in the log.
    before(life.conditions, 'set', (_: string, raised: { readonly code: string } | null) => {
      if (raised !== null) this.#noteTold(raised.code);
    });
    this.#lifeMs = this.#faultMs === Number.POSITIVE_INFINITY ? 0 : time.steadyMs;
    const post = async ({ code }: { readonly code: string | null }) => {
      this.#alerts.push({ code, atMs: time.steadyMs });
    };
    const alerts = new Alerts({
      ...{ archiverId: 'matrix', hook: { post }, ledger: life.catalog.toldAlerts },
      archive: { standing: () => life.archive.standing(), summary: () => '' },
      ...{ conditions: life.conditions, clock: SYSTEM_CLOCK },
      wait: (ms, signal) => new Notifier().wait(ms, signal),
    });
    void alerts.run(life.signal);
  }

  #claimsOf(life: Life | null): Claims | null {
    if (life === null) return null;
    if (this.#claims === null || this.#claimsLife !== life) {
      this.#claims?.close();
      this.#claims = new Claims(life.folder);
      this.#claimsLife = life;
    }
    return this.#claims;
  }

  /** Blobs that can be had, and are not stored, with as many true copies as are asked for, and safe where they are final. */
  #broken(): string[] {
    const { life, plan, configured, truth } = this.#simulation;
    const claims = this.#claimsOf(life);
    const mined = this.#mined();
    const files = this.#files();
    if (life === null || claims === null) return mined.map(blobPath);
    const good = claims.good();
    const stored = claims.stored();
    return mined
      .filter((content) => {
        if (!this.#isSomewhere(content, files)) return false;
        const copies = good.filter(
          ({ name, counts, backend }) =>
            counts &&
            name.versionHash === content.versionHash &&
            (backend === 'local'
              ? this.#isHere(content, files)
              : configured.some(
                  (store) => store.id === backend && store.health === 'well' && truth.isTrue(name, store.held(name)),
                )),
        );
        if (!stored.has(content.versionHash) || copies.length < plan.replicasRequired) return true;
        const height = truth.mined().get(content.versionHash) ?? Number.POSITIVE_INFINITY;
        if (height > this.#finalHeight()) return false;
        return !isSafe(life, content);
      })
      .map(blobPath);
  }

  #finalHeight(): number {
    const { truth, plan } = this.#simulation;
    const { locks, tip } = truth.main.chain;
    return plan.finality === 'chainlock' ? (locks.bestBlock?.height ?? -1) : tip.height - 3;
  }

  #mined(): SubmittedContent[] {
    const { truth } = this.#simulation;
    return [...truth.contents.values()].filter(({ versionHash }) => truth.mined().has(versionHash));
  }

  #isSomewhere(content: SubmittedContent, files = this.#files()): boolean {
    const { stores, nodes, peers, truth } = this.#simulation;
    return (
      stores.some((store) => truth.isTrue(content, store.held(content))) ||
      nodes.some((node) => node.has(content.versionHash)) ||
      peers.some((peer) => peer.has(content.versionHash)) ||
      this.#isHere(content, files)
    );
  }

  /** In the data folder, whether the archiver runs or not. */
  #isHere(content: SubmittedContent, files: ReadonlyMap<string, string>): boolean {
    const { archiver, disk, truth, life } = this.#simulation;
    if (disk.unreadable.has(content.versionHash)) return false;
    const row = life === null ? rowIn(archiver.folder, content) : (this.#claimsOf(life)?.row(content) ?? null);
    if (row !== null) return truth.isTrue(content, row);
    const path = files.get(content.versionHash);
    return path !== undefined && truth.isTrue(content, readFileSync(path));
  }

  /** Files of blobs in the data folder, by version hash. */
  #files(): ReadonlyMap<string, string> {
    const paths = filesBelow(`${this.#simulation.archiver.folder}/blobs`);
    return new Map(paths.filter((path) => !path.includes('/damaged/')).map((path) => [basename(path), path]));
  }

  /** A copy that was called good had rotten, and the local one was evicted because of it. */
  #isExcused(content: SubmittedContent): boolean {
    return this.#simulation.stores.some(({ rotten }) => rotten.has(blobPath(content)));
  }

  #takenAwayUntold(): SubmittedContent[] {
    const { life } = this.#simulation;
    const lost = new Set((this.#claimsOf(life)?.lost() ?? []).map(({ versionHash }) => versionHash));
    return this.#mined().filter((content) => !this.#isSomewhere(content) && !lost.has(content.versionHash));
  }

  async #pass(ms: number): Promise<void> {
    await this.#passTo(this.#simulation.time.steadyMs + ms);
  }

  async #passTo(endMs: number): Promise<void> {
    await this.#simulation.until(endMs);
  }

  async #passUntil(isEnough: () => boolean, withinMs = MOMENT_WITHIN_MS): Promise<boolean> {
    await this.#simulation.until(this.#simulation.time.steadyMs + withinMs, isEnough);
    return isEnough();
  }

  async #passUntilMet(isMeant: IsMeant): Promise<boolean> {
    this.#isMet = false;
    this.#isMeant = isMeant;
    const isMet = await this.#passUntil(() => this.#isMet);
    this.#isMeant = () => false;
    return isMet;
  }

  /** Each call of the archiver is compared with the one that the moment waits for. */
  #watch(): void {
    const { disk, stores, nodes, peers } = this.#simulation;
    const tell = (...[place, operation, path]: Parameters<IsMeant>) => {
      if (this.#isMeant(place, operation, path)) this.#isMet = true;
    };
    before(disk, 'call', (operation: string, path: string) => tell('disk', operation, path));
    for (const store of stores) {
      before(store, 'wipe', () => {
        this.#isWiped = true;
      });
      for (const operation of ['put', 'get', 'stat', 'delete'] as const) {
        before(store, operation, (key: unknown) => tell('store', operation, pathOf(key)));
      }
    }
    for (const node of nodes) {
      before(node, 'dispatch', ({ body }: { readonly body: unknown }) => {
        if (String(body).includes('getnevmblobdata')) tell('node', 'fetch', '');
      });
    }
    for (const peer of peers) before(peer, 'find', () => tell('peer', 'find', ''));
  }
}

/** Tells each call of this method before it is made. */
function before<T extends object, K extends keyof T>(target: T, key: K, told: (...given: never[]) => void): void {
  const real = target[key] as (...given: never[]) => unknown;
  Object.assign(target, {
    [key]: (...given: never[]) => {
      told(...given);
      return real.apply(target, given);
    },
  });
}

function isSafe({ archive }: Life, { versionHash }: SubmittedContent): boolean {
  const answer = archive.chainView.storedAndFinal([versionHash]);
  return answer.kind === 'told' && answer.safe[0] === true;
}

/** The result of a cell that is not run. */
export function notRun(cell: Cell): CellResult {
  return {
    ...{ cell, blobs: 0, claimed: null, told: [], alerts: 0, checkExit: null, lost: 0, takenAway: 0, takenAwayTold: 0 },
    ...{ wholeSeconds: null, clearSeconds: null, standing: [], falseClaim: null },
  };
}

/** A small blob in the folder of an archiver that does not run. */
function rowIn(folder: string, { versionHash }: SubmittedContent): Buffer | null {
  const path = join(folder, 'blobs', 'small.sqlite');
  if (!existsSync(path)) return null;
  const rows = new Database(path, { readonly: true });
  try {
    const found = rows
      .prepare('SELECT bytes FROM blob WHERE version_hash = ?')
      .pluck()
      .get(Buffer.from(versionHash, 'hex'));
    return found === undefined ? null : z.instanceof(Buffer).parse(found);
  } finally {
    rows.close();
  }
}

/** The path of a blob; of any other object, one with a dot. */
function pathOf(key: unknown): string {
  const blob = z.object({ hashType: z.string(), versionHash: z.string() }).safeParse(key);
  return blob.success ? `${blob.data.hashType}/${blob.data.versionHash}` : 'another.object';
}
