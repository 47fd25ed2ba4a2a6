import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Archive } from '../../src/app/archive.ts';
import { backfillJob } from '../../src/backfill/backfill-job.ts';
import { exportJob } from '../../src/bundle/export-job.ts';
import { importJob } from '../../src/bundle/import-job.ts';
import { Catalog } from '../../src/catalog/catalog.ts';
import { parseFinality } from '../../src/chain/finality.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { JobTable } from '../../src/core/jobs/job-table.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { attestJob } from '../../src/federation/attest-job.ts';
import { Peer } from '../../src/federation/peer.ts';
import type { ChainNode } from '../../src/node/chain-node.ts';
import { createBlobNode } from '../../src/node/index.ts';
import { upkeepJobs } from '../../src/replication/upkeep-jobs.ts';
import { archiverIdIn } from '../../src/storage/local/archiver-id.ts';
import { ArchiverKey } from '../../src/storage/local/archiver-key.ts';
import { DataFolder } from '../../src/storage/local/data-folder.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { type BlobHasher, hashWith } from '../../src/verify/hasher.ts';
import { type Namer, nameElsewhere, RehashRule, type Verifier, verifyBlob } from '../../src/verify/verified-blob.ts';
import { HOUR_MS, type Plan } from './plan.ts';
import { FIRST_HEIGHT } from './simulated-chain.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { SimulatedPeer } from './simulated-peer.ts';
import type { SimulatedStore } from './simulated-store.ts';

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));
export const REQUESTS = 3;
const PEER_QUESTIONS = 10;
/** A file whose times are as they were is taken for what it was for so long. */
export const REHASH_MS = HOUR_MS;

export interface ArchiverModules {
  /** With the settings as they are now. */
  readonly plan: () => Plan;
  /** No loop that waits for a change looks more often than this, as things are now. */
  readonly patienceMs: () => number;
  readonly root: string;
  readonly hasher: BlobHasher;
  readonly nodes: readonly SimulatedNode[];
  readonly peers: readonly SimulatedPeer[];
  /** Stores that the settings name now. */
  readonly stores: () => readonly SimulatedStore[];
  /** null: no log is read. */
  readonly log: ((line: string) => void) | null;
  /** Called with each process before it follows a node: a command runs the same way beside an archiver that stands still. */
  readonly opened: (life: Life) => void;
}

/** One life of the archiver's process, from its start to its end, by whatever that comes. */
export interface Life {
  /** With the settings of this process. */
  readonly plan: Plan;
  readonly archive: Archive;
  readonly catalog: Catalog;
  readonly store: LocalStore;
  readonly conditions: ConditionBoard;
  readonly jobs: JobTable;
  readonly folder: string;
  readonly signal: AbortSignal;
}

type Closing = (() => unknown)[];

/** The archiver's process: the same parts as the daemon puts together, begun, stopped and killed again and again. */
export class Archiver {
  readonly #modules: ArchiverModules;
  #lives = 0;
  #closing: Closing = [];
  #stopping = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  /** null: it does not run, or is not put together yet. */
  life: Life | null = null;

  constructor(modules: ArchiverModules) {
    this.#modules = modules;
    mkdirSync(this.folder, { recursive: true });
  }

  get folder(): string {
    return join(this.#modules.root, `life-${this.#lives}`);
  }

  /** @throws the error that the daemon would end with. */
  async start(): Promise<void> {
    const closing: Closing = [];
    this.#closing = closing;
    const stopping = new AbortController();
    this.#stopping = stopping;
    try {
      const life = await this.#open(closing, stopping.signal);
      this.#modules.opened(life);
      this.life = life;
      this.#running = life.archive.run(stopping.signal);
      await this.#running;
    } catch (error) {
      this.life = null;
      await this.#close(closing);
      throw error;
    }
  }

  /** Stops it the way a supervisor does; resolves when the process has ended. */
  async stop(): Promise<void> {
    const closing = this.#closing;
    this.#stopping.abort();
    await Promise.all([this.#running, this.life?.jobs.stop()]);
    this.life = null;
    await this.#close(closing);
  }

  /**
   * `kill -9`: nothing of it runs on. Its files stay as they are at this moment, under another name. The memory of this
   * process about the first name is the memory of a dead process.
   */
  kill(): void {
    const dead = this.folder;
    this.#lives += 1;
    this.life = null;
    cpSync(dead, this.folder, { recursive: true });
    for (const close of this.#closing.splice(0).reverse()) void closeOfDead(close);
    rmSync(dead, { recursive: true, force: true });
  }

  /** After a kill: the machine is another one, with an empty folder. */
  loseFolder(): void {
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { recursive: true });
  }

  /** After a kill: the index is gone, with what SQLite keeps beside it. */
  loseCatalog(): void {
    for (const end of ['', '-wal', '-shm']) rmSync(join(this.folder, `catalog.sqlite${end}`), { force: true });
  }

  async #close(closing: Closing): Promise<void> {
    try {
      for (let close = closing.pop(); close !== undefined; close = closing.pop()) await close();
    } finally {
      // One that failed ends the process, and the system gives back the rest.
      for (const close of closing.splice(0).reverse()) void closeOfDead(close);
    }
  }

  async #open(closing: Closing, signal: AbortSignal): Promise<Life> {
    const { hasher, log: write } = this.#modules;
    const plan = this.#modules.plan();
    const folder = await DataFolder.claim(this.folder);
    closing.push(() => folder.release());
    const store = await LocalStore.open(folder.path);
    closing.push(() => store.close());
    const backends = this.#modules.stores();
    const genesis = await folder.boundChain();
    const mode = await folder.settleMode(plan.mode, backends.length > 0);
    const catalog = Catalog.open({
      path: join(folder.path, 'catalog.sqlite'),
      migrationsFolder: MIGRATIONS,
      backends: [...(mode === 'keep' ? [store.id] : []), ...backends.map(({ id }) => id)],
      places: new Map(backends.map(({ id, place }) => [id, place])),
      localIsCache: mode === 'cache',
      replicasRequired: plan.replicasRequired,
      clock: SYSTEM_CLOCK,
    });
    closing.push(() => catalog.close());
    const log = createLogger(write === null ? 'fatal' : 'debug', { write: write ?? (() => undefined) });
    const conditions = new ConditionBoard(log, SYSTEM_CLOCK.wallMs);
    const [node, ...otherNodes] = this.#modules.nodes.map(({ origin }) =>
      waitingLonger(createBlobNode({ url: origin }), this.#modules.patienceMs),
    );
    if (node === undefined) throw new TypeError('a simulation has a node');
    const verifier: Verifier & Namer = {
      verify: async (candidate) => verifyBlob(candidate, hasher),
      name: (hashType, bytes) =>
        nameElsewhere(hashType, bytes, async (type, given) => ({
          digest: hashWith(hasher, type, given),
          bytes: given,
        })),
    };
    const peers = this.#modules.peers.map(
      (source) =>
        new Peer(source, { called: null, verifier, conditions, ratePerSecond: PEER_QUESTIONS, clock: SYSTEM_CLOCK }),
    );
    const archive = new Archive(
      {
        ...{ version: 'simulated', emulated: true, isNewFolder: genesis === null },
        ...{ pollMs: 60_000, sweepMs: 300_000, pageEntries: 5_000, requests: REQUESTS },
        chain: {
          startHeight: plan.startsAtWindow ? null : FIRST_HEIGHT,
          finality: parseFinality(plan.finality),
          archiverId: await archiverIdIn(folder.path),
          silentBlocks: 0,
        },
        replication: {
          requests: 4,
          bytesPerSecond: null,
          local: {
            mode,
            budgetBytes: plan.budgetBytes,
            disk: () => folder.room(),
            freeBytes: () => folder.freeBytes(),
          },
        },
        scrub: { days: 1 },
        cacheBytes: plan.cacheBytes,
      },
      {
        ...{ node, otherNodes, catalog, store, backends, hasher, conditions, log },
        binding: folder,
        ...{ verifier, peers },
        signer: await ArchiverKey.open(folder.path),
        rehash: new RehashRule(hasher, { entries: 1_000, periodMs: REHASH_MS, steadyMs: SYSTEM_CLOCK.steadyMs }),
        clock: SYSTEM_CLOCK,
      },
    );
    const openSource = async (text: string) => this.#modules.peers.find(({ name }) => name === text) ?? null;
    const bundles = { openBucket: () => Promise.reject(new TypeError('no bucket is simulated')), alone: null };
    const jobs = new JobTable(
      [
        ...[...upkeepJobs(archive), backfillJob(archive, { openSource, alone: null }), attestJob(archive)],
        ...[exportJob(archive, bundles), importJob(archive, bundles)],
      ],
      { log, nowMs: SYSTEM_CLOCK.wallMs },
    );
    return { plan, archive, catalog, store, conditions, jobs, folder: folder.path, signal };
  }
}

/** Waits for a block as long as the loops here wait for a change: most calls of an ordinary day report nothing. */
function waitingLonger<N extends Pick<ChainNode, 'waitForNewBlock'>>(node: N, patienceMs: () => number): N {
  return { ...node, waitForNewBlock: (ms, signal) => node.waitForNewBlock(Math.max(ms, patienceMs()), signal) };
}

/** Gives back what this process still has open for one that was killed. */
async function closeOfDead(close: () => unknown): Promise<void> {
  try {
    await close();
  } catch {
    // A statement that was under way keeps its file open until it is collected; a disk may fail for the dead, too.
  }
}
