import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { Catalog } from '../../src/catalog/catalog.ts';
import type { ContentName } from '../../src/core/blob/ids.ts';
import { ConditionBoard } from '../../src/core/conditions/condition-board.ts';
import { createLogger } from '../../src/core/observability/logger.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import { pollUntil } from '../../src/core/time/run-loop.ts';
import { Spooler } from '../../src/ingest/spooler.ts';
import { LocalStore } from '../../src/storage/local/local-store.ts';
import { BINDING, isCustom, type NewObject, type ObjectKey } from '../../src/storage/object-store.ts';
import { RehashRule, verifyBlob } from '../../src/verify/verified-blob.ts';
import { nameOfMine } from '../left-folders.ts';
import { composeReplication } from '../replication/compose-replication.ts';
import { MemoryBackend } from '../replication/memory-backend.ts';
import { HASHER, NEVER, sampleBlob, sampleBytes } from '../sample-blobs.ts';
import { temporaryParent } from '../temporary-parent.ts';
import { Claims } from './claims.ts';
import { inMiB, MemoryCurve } from './memory-curve.ts';
import { filesBelow } from './simulated-disk.ts';

/** Small blobs through a cache in a real folder, until so many of them were evicted: `<evictions>`. */
const [evictions = 1_000_000] = process.argv.slice(2).map(Number);
const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));
const BUDGET_BYTES = 4_194_304;
/** Bytes of the disk for each byte of small blobs at most: a row takes whole pages. */
const BYTES_ON_DISK = 1.5;
const AT_ONCE = 32;
const ROUND = 2_000;
const TOLD_EVERY = 20_000;
/** More for each eviction is a leak. */
const MAX_HEAP_BYTES = 4;
/** One of so many is a blob that came before: on its way, in the cache, or evicted since. */
const AGAIN_EVERY = 20;
const AGAIN_WITHIN = 5_000;

/** A bucket that knows which of the numbered blobs it has, and makes their bytes again. */
class NumberedBackend extends MemoryBackend {
  readonly #database: Database.Database;
  readonly #insert: Database.Statement;
  readonly #find: Database.Statement;
  /** Numbers of blobs that may be on their way. */
  readonly numbers = new Map<string, number>();

  constructor(id: string, path: string) {
    super(id);
    this.#database = new Database(path);
    this.#database.pragma('synchronous = OFF');
    this.#database.pragma('journal_mode = OFF');
    this.#database.exec('CREATE TABLE object (name BLOB PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID');
    this.#insert = this.#database.prepare('INSERT OR IGNORE INTO object VALUES (?, ?)');
    this.#find = this.#database.prepare('SELECT number FROM object WHERE name = ?').pluck();
  }

  override async put(object: NewObject, ...rest: [never, never]): Promise<void> {
    if ('path' in object) return super.put(object, ...rest);
    if (isCustom(object)) throw new TypeError('it holds blobs alone');
    this.#insert.run(Buffer.from(object.versionHash, 'hex'), this.numbers.get(object.versionHash));
    this.numbers.delete(object.versionHash);
  }

  override async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    if (key === BINDING) return super.get(key, signal);
    const number = this.#numberOf(key as ContentName);
    return number === null ? null : bytesAt(number);
  }

  override async stat(key: ObjectKey): Promise<{ readonly sizeBytes: number } | null> {
    const number = this.#numberOf(key as ContentName);
    return number === null ? null : { sizeBytes: sizeAt(number) };
  }

  override async isKept(): Promise<boolean> {
    return true;
  }

  #numberOf({ versionHash }: ContentName): number | null {
    return (this.#find.get(Buffer.from(versionHash, 'hex')) as number | undefined) ?? null;
  }
}

const sizeAt = (number: number) => 64 + ((number * 2_654_435_761) % 4_000);
const bytesAt = (number: number) => sampleBytes(`soak ${number}`, sizeAt(number));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const root = mkdtempSync(join(temporaryParent(), nameOfMine('simulation')));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
const folder = join(root, 'data');
const store = await LocalStore.open(folder);
const catalog = Catalog.open({
  path: join(folder, 'catalog.sqlite'),
  migrationsFolder: MIGRATIONS,
  backends: ['bucket'],
  localIsCache: true,
  replicasRequired: 1,
  clock: SYSTEM_CLOCK,
});
const bucket = new NumberedBackend('bucket', join(root, 'bucket.sqlite'));
const log = createLogger('fatal', { write: () => {} });
const conditions = new ConditionBoard(log, SYSTEM_CLOCK.wallMs);
const disk = async () => ({ freeBytes: 2 ** 40, totalBytes: 2 ** 41 });
const { replication, writer, activity } = composeReplication(
  {
    requests: 8,
    bytesPerSecond: null,
    local: { mode: 'cache', budgetBytes: BUDGET_BYTES, disk, freeBytes: () => null },
  },
  {
    ...{ backends: [bucket], store, catalog, conditions, log, chain: async () => null, clock: SYSTEM_CLOCK },
    rehash: new RehashRule(HASHER, { entries: 1_000, periodMs: 3_600_000, steadyMs: SYSTEM_CLOCK.steadyMs }),
    verifier: { verify: async (candidate) => verifyBlob(candidate, HASHER) },
  },
);
const spooler = new Spooler(writer, catalog, conditions, activity, SYSTEM_CLOCK);
for (const fault of await replication.admit(NEVER)) throw new Error(fault.join(': '));
const stopping = new AbortController();
const running = replication.run(stopping.signal);

/** The number of the blob that comes at this turn. */
function numberAt(turn: number): number {
  if (turn % AGAIN_EVERY !== 0) return turn;
  const earlier = Math.max(turn - 1 - ((turn * 40_503) % AGAIN_WITHIN), 1);
  return earlier % AGAIN_EVERY === 0 ? earlier - 1 : earlier;
}

async function spoolOne(turn: number): Promise<void> {
  const number = numberAt(turn);
  const blob = sampleBlob(`soak ${number}`, sizeAt(number));
  if (number === turn) bucket.numbers.set(blob.versionHash, number);
  const facts = { sizeBytes: blob.bytes.length, txid: null, medianTimeSeconds: 0, firstSeenMs: SYSTEM_CLOCK.wallMs() };
  await spooler.spool(blob, facts, NEVER);
}

/** Bytes of files of blobs, and of the log beside them, which has a limit of its own. */
const bytesHere = () => {
  const sizes = filesBelow(join(folder, 'blobs')).map((path) => ({ path, bytes: statSync(path).size }));
  const sum = (some: typeof sizes) => some.reduce((total, { bytes }) => total + bytes, 0);
  const isLog = ({ path }: { readonly path: string }) => /-(wal|shm)$/.test(path);
  return { blobs: sum(sizes.filter((one) => !isLog(one))), log: sum(sizes.filter(isLog)) };
};

const claims = new Claims(folder);
const curve = new MemoryCurve();
let spooled = 0;
let evicted = 0;
const { delete: plainly } = store;
store.delete = async (key, signal) => {
  await plainly.call(store, key, signal);
  evicted += 1;
};
const most = { blobs: 0, log: 0 };
let toldAt = 0;
while (evicted < evictions) {
  const end = spooled + ROUND;
  const lane = async () => {
    while (spooled < end) {
      spooled += 1;
      await spoolOne(spooled);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const here = bytesHere();
  most.blobs = Math.max(most.blobs, here.blobs);
  most.log = Math.max(most.log, here.log);
  if (evicted - toldAt < TOLD_EVERY && evicted < evictions) continue;
  toldAt = evicted;
  const { user, system } = process.cpuUsage();
  const seconds = ((user + system) / 1e6).toFixed(0);
  say(`${evicted} evicted, ${inMiB(here.blobs)} on the disk, ${curve.note(evicted)}; ${seconds} s of processor time`);
}
await pollUntil(
  () => (catalog.totals().spooled === 0 ? true : null),
  () => 50,
  NEVER,
);
stopping.abort();
await running;

const local = claims.local();
const rows = claims.rows();
const unbooked = rows.filter((name) => !local.has(claims.sequenceOf(name) ?? -1));
const { stored, spooled: waiting } = catalog.totals();
const again = Math.floor(spooled / AGAIN_EVERY);
const [counted, inBooks] = [replication.room.cachedBytes, catalog.replicas.cached.localBytes()];
const perEviction = curve.slope('heapBytes');
const isInBooks = unbooked.length === 0 && rows.length === local.size && counted === inBooks;
const isWithin = most.blobs <= BUDGET_BYTES * BYTES_ON_DISK;
say(`${evicted} evicted of ${spooled}, ${again} of which came before: ${stored} stored, ${waiting} not yet`);
say(`${rows.length} rows, ${local.size} in the books, ${unbooked.length} rows in no books`);
say(`${inBooks} bytes in the books, ${counted} counted`);
say(
  `at most ${inMiB(most.blobs)} of blobs and ${inMiB(most.log)} of their log, with a budget of ${inMiB(BUDGET_BYTES)}`,
);
say(`slope of the heap: ${perEviction.toFixed(2)} bytes an eviction, ${inMiB(perEviction * 1e6)} a million`);
say(`slope of the resident memory: ${inMiB(curve.slope('residentBytes') * 1e6)} a million evictions`);
claims.close();
process.exit(isInBooks && isWithin && perEviction < MAX_HEAP_BYTES && stored === spooled - again ? 0 : 1);
