import { existsSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import { z } from 'zod';
import { type HashType, parseVersionHash } from '../../src/core/blob/ids.ts';
import type { ChainLockPolicy, Devnode } from '../../src/devnode/index.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { listBlobs } from '../../src/storage/object-store.ts';
import { verifyBlob } from '../../src/verify/verified-blob.ts';
import { SharedByTests } from '../cleanup.ts';
import { HASHER, NEVER, sampleBytes } from '../sample-blobs.ts';
import { SeededRandom } from '../simulate/random.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { ArchiveClient } from './archive-client.ts';
import { type ArchiveSetup, environmentOf, startArchive, startNode, stop, untilStored } from './archive-process.ts';
import { LyingServer } from './backends/lying-server.ts';
import { type CountedGets, countGets } from './counted-gets.ts';
import { eventually } from './eventually.ts';
import { HoldfastProcess } from './holdfast-process.ts';

export type TortureMode = 'keep' | 'cache';

/** Holds few blobs: nearly every life evicts. */
const CACHE_BYTES = 1_500_000;
const LARGE = 2_097_152;
/** Milliseconds that a daemon lives at most after it has said its address, on a quiet machine. */
const LIFE_MS = 900;
/** Time for the last daemon to bring everything, on a machine that does much besides. */
const PATIENCE_MS = 300_000;
const TYPES: readonly HashType[] = ['keccak256', 'blake2s256'];

interface Published {
  readonly label: string;
  readonly sizeBytes: number;
  readonly hashType: HashType;
  readonly gets: CountedGets;
}

/** A content as the catalog has it: its state, and the states of its copies by the names of their places. */
interface Claimed {
  readonly versionHash: string;
  readonly state: number;
  readonly copies: ReadonlyMap<string, number>;
}

interface Books {
  readonly contents: readonly Claimed[];
  readonly lost: number;
}

const contentRow = z.object({ versionHash: z.string(), sequence: z.number(), state: z.number() });
const copyRow = z.object({ object: z.number(), name: z.string(), state: z.number() });

/** A reorganisation takes back at most this many blocks, and none that has a ChainLock: what is final stays so. */
const DEEPEST = 2;
const LOCKS: ChainLockPolicy = { kind: 'follow', lagBlocks: DEEPEST };

/**
 * A daemon that is killed again and again at random moments, on one data folder and one bucket. Blobs come and are read
 * meanwhile, and branches change. After each kill everything that the catalog claims is compared with the bytes, and with what was published.
 */
export class Torture {
  readonly #mode: TortureMode;
  readonly #name: string;
  readonly #random: SeededRandom;
  readonly #node: Devnode;
  readonly #bucket: LyingServer;
  readonly #setup: ArchiveSetup;
  readonly #published = new Map<string, Published>();
  /** Blobs that a daemon said to hold, over HTTP. */
  readonly #claimed = new Set<string>();
  /** Blobs whose bytes were in the data folder or in the bucket after the last kill. */
  #durable: ReadonlySet<string> = new Set();
  /** Blobs in the data folder or the catalog after the last kill. What a full folder put into the bucket without a row is asked for again. */
  #found: ReadonlySet<string> = new Set();

  private constructor(mode: TortureMode, name: string, node: Devnode, bucket: LyingServer, setup: ArchiveSetup) {
    this.#mode = mode;
    this.#name = name;
    this.#random = new SeededRandom(name);
    this.#node = node;
    this.#bucket = bucket;
    this.#setup = setup;
  }

  /** Kills so often, and has a last daemon bring everything. `tell` gets a line for each kill. Rejects when a claim is false. */
  static async run(mode: TortureMode, seed: number, kills: number, tell: (line: string) => void): Promise<void> {
    const name = `${mode}, seed ${seed}`;
    const { atEnd, close } = new SharedByTests();
    const [node, bucket] = await Promise.all([startNode({ chainLocks: LOCKS }, atEnd), LyingServer.start()]);
    const dataDir = temporaryFolder();
    atEnd(() => rm(dataDir, { recursive: true, force: true }));
    atEnd(() => bucket.objects.clear());
    const cache = { HOLDFAST_LOCAL_MODE: 'cache', HOLDFAST_LOCAL_BYTES: String(CACHE_BYTES), ...bucket.environment };
    const env = { HOLDFAST_NODE_REQUESTS: '2', ...(mode === 'cache' ? cache : {}) };
    const torture = new Torture(mode, name, node, bucket, { dataDir, node, env, atEnd });
    try {
      for (let kill = 1; kill <= kills; kill += 1) {
        await torture.#cycle(kill);
        tell(`kill ${kill} of ${kills} of ${torture.#situation}`);
      }
      await torture.#end();
      tell(`over: ${torture.#situation}`);
    } finally {
      await close();
    }
  }

  get #situation(): string {
    const { size } = this.#published;
    return `${this.#name}: ${size} blobs are published, ${this.#claimed.size} were claimed, ${this.#durable.size} are durable`;
  }

  async #cycle(kill: number): Promise<void> {
    this.#publish(kill);
    const before = new Map([...this.#found].map((versionHash) => [versionHash, this.#getsOf(versionHash)]));
    const methods = ['getnevmblobdata'];
    const slow = this.#node.faults.add({ fault: { kind: 'latency', ms: this.#random.between(0, 60) }, methods });
    if (this.#random.chance(0.15)) await this.#endUnheard();
    else if (this.#random.chance(0.5)) await this.#endAtAnyMoment();
    else {
      // This life ends in the middle, however fast the machine is: all requests but so many hang until the kill.
      const after = this.#random.between(1, 6);
      const hanging = this.#node.faults.add({ fault: { kind: 'latency', ms: 3_600_000 }, methods, after });
      await this.#endInTheMiddle();
      hanging.remove();
    }
    slow.remove();
    const again = [...before].filter(([versionHash, count]) => this.#getsOf(versionHash) !== count);
    expect(again, `what was durable was fetched again: ${this.#situation}`).toEqual([]);
    await this.#compare();
  }

  #publish(kill: number): void {
    const random = this.#random;
    for (let index = random.between(4, 15); index > 0; index -= 1) {
      const kind = random.next();
      const sizeBytes = kind < 0.6 ? random.between(1, 60_000) : kind < 0.95 ? random.between(65_537, 300_000) : LARGE;
      const blob = { label: `${this.#name}, kill ${kill}, blob ${index}`, sizeBytes, hashType: random.pick(TYPES) };
      const { versionHash } = this.#node.submitLabelled(blob);
      this.#published.set(versionHash, { ...blob, gets: countGets(this.#node, versionHash) });
    }
    if (random.chance(0.8)) this.#node.mine(random.between(1, 2));
    if (random.chance(0.06)) this.#node.reorganise(random.between(1, DEEPEST));
  }

  #getsOf(versionHash: string): number {
    return this.#published.get(versionHash)?.gets.count ?? 0;
  }

  /** Kills a daemon that mostly has not said its address yet. */
  async #endUnheard(): Promise<void> {
    const daemon = new HoldfastProcess(['run'], { env: environmentOf(this.#setup), atEnd: () => {} });
    // The moment is to be a random one.
    await pause(this.#random.between(100, 1_500));
    daemon.kill('SIGKILL');
    await daemon.ended;
  }

  async #endAtAnyMoment(): Promise<void> {
    // The bucket takes and gives nothing during some of these lives.
    this.#bucket.lie = this.#random.chance(0.3) ? '500' : null;
    const bornMs = performance.now();
    await this.#live(async (client) => {
      const slowness = Math.min(8, Math.max(1, (performance.now() - bornMs) / 1_000));
      const endMs = performance.now() + this.#random.next() * LIFE_MS * slowness;
      while (performance.now() < endMs) {
        await this.#look(client);
        await pause(this.#random.between(0, 60));
      }
    });
    this.#bucket.lie = null;
  }

  async #endInTheMiddle(): Promise<void> {
    const { size } = this.#claimed;
    await this.#live(async (client) => {
      await eventually(async () => {
        await this.#look(client);
        expect(this.#claimed.size).toBeGreaterThan(size);
      });
      await pause(this.#random.between(0, 120));
    });
  }

  async #live(life: (client: ArchiveClient) => Promise<void>): Promise<void> {
    const archive = await startArchive({ ...this.#setup, atEnd: () => {} });
    try {
      await life(archive.client);
    } finally {
      archive.kill('SIGKILL');
      expect(await archive.ended).toMatchObject({ signal: 'SIGKILL' });
    }
  }

  /** Notes what the daemon says to hold, and reads one of these blobs: what is read from the bucket goes into the cache. */
  async #look(client: ArchiveClient): Promise<void> {
    const { blobs } = await client.page('order=newest&limit=200');
    for (const { versionHash, state } of blobs) {
      if (state === 'stored' || state === 'spooled') this.#claimed.add(versionHash);
    }
    if (this.#claimed.size > 0) await this.#read(client, this.#random.pick([...this.#claimed]), [200, 503]);
  }

  async #read(client: ArchiveClient, versionHash: string, allowed: readonly number[]): Promise<void> {
    const { status, body } = await client.blob(versionHash);
    expect(allowed, `${versionHash}: ${status} ${body.subarray(0, 200)}`).toContain(status);
    const { label, sizeBytes } = this.#published.get(versionHash) ?? { label: '', sizeBytes: 0 };
    if (status === 200) expect(body.equals(sampleBytes(label, sizeBytes)), versionHash).toBe(true);
  }

  /** The next life begins with what the kill left: a copy of the folder is read. */
  async #compare(): Promise<{ readonly here: ReadonlySet<string>; readonly books: Books }> {
    const folder = temporaryFolder();
    try {
      await cp(this.#setup.dataDir, folder, { recursive: true, filter: (path) => !path.endsWith('.sock') });
      const books = booksIn(folder);
      const here = await durableIn(folder);
      const there = this.#inBucket();
      const problems = [
        ...books.contents.flatMap((content) => falseClaimsOf(content, here, there)),
        ...this.#missing(books, here, there),
        ...(books.lost > 0 ? [`${books.lost} blobs are called lost`] : []),
      ];
      expect(problems, this.#situation).toEqual([]);
      this.#durable = here.union(there);
      this.#found = here.union(heldBy(books));
      return { here, books };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  #missing(books: Books, here: ReadonlySet<string>, there: ReadonlySet<string>): string[] {
    const held = heldBy(books);
    return [
      ...[...this.#claimed.difference(held)].map((one) => `${one} was claimed, and is held no more`),
      ...[...this.#durable.difference(here.union(there))].map((one) => `${one} was durable, and is gone`),
    ];
  }

  #inBucket(): ReadonlySet<string> {
    const right = [...this.#published].filter(([versionHash, { label, sizeBytes, hashType }]) =>
      this.#bucket.objects.get(`blobs/${hashType}/${versionHash}`)?.equals(sampleBytes(label, sizeBytes)),
    );
    return new Set(right.map(([versionHash]) => versionHash));
  }

  async #end(): Promise<void> {
    this.#node.mine(3);
    const archive = await startArchive({ ...this.#setup, atEnd: () => {} });
    try {
      await untilStored(archive, this.#published.size, PATIENCE_MS);
      for (const versionHash of this.#published.keys()) {
        await eventually(() => this.#read(archive.client, versionHash, [200]));
      }
      await eventually(async () => {
        expect(await archive.client.status()).toMatchObject({ content: { failing: 0 }, conditions: [] });
      });
    } finally {
      await stop(archive);
    }
    // A stop that was cut off may leave such files: the next start finds them.
    const { stdout } = await archive.ended;
    expect(stdout).toContain('"msg":"stopped"');
    const { here, books } = await this.#compare();
    expect(this.#durable.size).toBe(this.#published.size);
    const inBooks = new Set(books.contents.filter(isClaimedHere).map(({ versionHash }) => versionHash));
    const inNoBooks = [...here.difference(inBooks)].map((versionHash) => ({
      ...this.#published.get(versionHash),
      copies: JSON.stringify([...(books.contents.find((one) => one.versionHash === versionHash)?.copies ?? [])]),
    }));
    expect(inNoBooks, `files are in no books: ${this.#situation}\n${stdout}`).toEqual([]);
    const sizeOf = (versionHash: string) => this.#published.get(versionHash)?.sizeBytes ?? 0;
    const bytesHere = [...here].reduce((sum, versionHash) => sum + sizeOf(versionHash), 0);
    expect(bytesHere).toBeLessThanOrEqual(this.#mode === 'cache' ? CACHE_BYTES : Number.POSITIVE_INFINITY);
  }
}

function heldBy({ contents }: Books): Set<string> {
  return new Set(contents.filter(({ state }) => state > 0).map(({ versionHash }) => versionHash));
}

/** A spooled copy counts before it is read back. 0 wanted, 1 good, 2 damaged: as the column spells them. */
function isClaimedHere({ copies }: Claimed): boolean {
  return (copies.get('local') ?? 2) < 2;
}

function falseClaimsOf(content: Claimed, here: ReadonlySet<string>, there: ReadonlySet<string>): string[] {
  const { versionHash, state, copies } = content;
  const isThere = copies.get('s3') === 1;
  const said = `${versionHash} is in state ${state} with copies ${JSON.stringify([...copies])}`;
  return [
    ...(state === 0 ? [`${said}: it was held`] : []),
    ...(state > 0 && !isClaimedHere(content) && !isThere ? [`${said}: no place holds it`] : []),
    ...(isClaimedHere(content) && !here.has(versionHash) ? [`${said}: its bytes are not in the folder`] : []),
    ...(isThere && !there.has(versionHash) ? [`${said}: its bytes are not in the bucket`] : []),
  ];
}

/** The blobs in the folder: every entry hashes to its name, or the test ends here. */
async function durableIn(folder: string): Promise<Set<string>> {
  const store = await LocalStore.open(folder);
  const durable = new Set<string>();
  try {
    for await (const entry of listBlobs(store, NEVER)) {
      const bytes = await store.get(entry, NEVER);
      expect(bytes === null ? null : verifyBlob({ ...entry, bytes }, HASHER), entry.versionHash).not.toBeNull();
      durable.add(entry.versionHash);
    }
  } finally {
    await store.close();
  }
  return durable;
}

function booksIn(folder: string): Books {
  const path = join(folder, 'catalog.sqlite');
  if (!existsSync(path)) return { contents: [], lost: 0 };
  const database = new Database(path);
  try {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    const isMade = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'content'").get() !== undefined;
    if (!isMade) return { contents: [], lost: 0 };
    const contents = z
      .array(contentRow)
      .parse(database.prepare('SELECT lower(hex(version_hash)) AS versionHash, sequence, state FROM content').all());
    const copies = z
      .array(copyRow)
      .parse(
        database.prepare('SELECT object, name, state FROM copy JOIN backend ON id = backend_id WHERE kind = 5').all(),
      );
    const bySequence = Map.groupBy(copies, ({ object }) => object);
    return {
      contents: contents.map(({ versionHash, sequence, state }) => ({
        versionHash: parseVersionHash(versionHash),
        state,
        copies: new Map(bySequence.get(sequence)?.map((copy) => [copy.name, copy.state])),
      })),
      lost: z.number().parse(database.prepare('SELECT COUNT(*) FROM lost').pluck().get()),
    };
  } finally {
    database.close();
  }
}
