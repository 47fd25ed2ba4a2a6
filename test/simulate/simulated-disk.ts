import fs, { type BigIntStats, type Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { SeededRandom } from './random.ts';
import type { SimulatedTime } from './simulated-time.ts';

/** Names in a folder that a power loss takes back until the folder is synced. */
interface NameChange {
  readonly folder: string;
  /** Content of the file that the name stood for. */
  readonly content?: Buffer | null;
  undo(): void;
}

/** Everything that the simulation itself does with files goes by these, also while the functions of Node are replaced. */
const real = { ...fs };

const READING = new Set(['read', 'open', 'stat', 'readdir', 'readFile', 'lstat']);
/** Operations between two of which a crash leaves a work half done. */
export const CHANGES = ['create', 'write', 'sync', 'rename', 'remove'] as const;
const LATENCY_MS = 4;

/** Work for the moment of a change that is still to come. */
interface AwaitedChange {
  readonly operation: string;
  left: number;
  readonly work: () => void;
}

/**
 * The disk under the data folder. Bytes lie in real files, which SQLite needs. A call that Node makes in another thread
 * runs here, in this one. An event answers it, so that its place among all others follows from the seed.
 * What is not synced goes with the power. A file of SQLite's counts as synced with each of its commits, as it asks for.
 */
export class SimulatedDisk {
  readonly #time: SimulatedTime;
  readonly #random: SeededRandom;
  /** Files that hold bytes which no sync made durable, by their inode. */
  readonly #unsynced = new Set<number>();
  #changes: NameChange[] = [];
  readonly #awaited = new Set<AwaitedChange>();
  /** Writes of each file: what tells a file that was changed from one that was not, as its times do on a real disk. */
  readonly #writes = new Map<number, bigint>();
  isFull = false;
  /** No file can be read, or none can be written. */
  fails: 'never' | 'reading' | 'writing' = 'never';
  /** When it last refused an operation because of that. */
  failedMs = Number.NEGATIVE_INFINITY;
  /** Files by their names whose sectors cannot be read, and since when: until another file takes the name. */
  readonly unreadable = new Map<string, number>();
  /** Whether a file belongs to an archiver that is not watched: a name of its own says nothing of the other's. */
  isAside: (path: string) => boolean = () => false;
  /** Called with each name that another file takes, or that is deleted; gives the undo for a power failure. */
  onRenewed: (name: string) => () => void = () => () => undefined;
  /** Blobs whose files it does not take, by the first digits of their names. */
  refused: readonly string[] = [];

  constructor(time: SimulatedTime, random: SeededRandom) {
    this.#time = time;
    this.#random = random;
  }

  /**
   * Does the work when the archiver has asked for so many more of these operations. The last one is done by then or not, by
   * chance, and its caller has no answer. Gives the way to call the work off.
   */
  atChange(operation: (typeof CHANGES)[number], count: number, work: () => void): () => void {
    const awaited = { operation, left: count, work };
    this.#awaited.add(awaited);
    return () => void this.#awaited.delete(awaited);
  }

  #noteAsked(operation: string, path: string): void {
    if (this.isAside(path)) return;
    for (const awaited of this.#awaited) {
      if (awaited.operation !== operation) continue;
      awaited.left -= 1;
      if (awaited.left > 0) continue;
      this.#awaited.delete(awaited);
      this.#time.soon('world', awaited.work);
    }
  }

  /** Carries it out at its begin or at its end, by chance: a crash between the two finds it done or not. */
  call<T>(operation: string, path: string, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const attempt = () => this.#attempt(operation, path, work);
      this.#noteAsked(operation, path);
      const early = this.#random.chance(0.5) ? attempt() : null;
      this.#time.after(this.#random.next() * LATENCY_MS, this.#time.running, () => {
        const done = early ?? attempt();
        if ('value' in done) resolve(done.value);
        else reject(done.error);
      });
    });
  }

  #attempt<T>(operation: string, path: string, work: () => T): { value: T } | { error: unknown } {
    try {
      this.#refuse(operation, path);
      return { value: work() };
    } catch (error) {
      return { error };
    }
  }

  #refuse(operation: string, path: string): void {
    if (this.isFull && (operation === 'write' || operation === 'create')) throw systemError('ENOSPC', operation, path);
    const isReading = READING.has(operation);
    const name = basename(path);
    const isHit = this.unreadable.has(name) && (operation === 'read' || operation === 'readFile');
    const isRefused = operation === 'rename' && this.refuses(name);
    const isFailing = this.fails === (isReading ? 'reading' : 'writing');
    if (isFailing) this.failedMs = this.#time.steadyMs;
    if (isHit || isRefused || isFailing) throw systemError('EIO', operation, path);
  }

  /** Whether it takes no file of a blob of this name. */
  refuses(versionHash: string): boolean {
    return versionHash.length === 64 && this.refused.some((digit) => versionHash.startsWith(digit));
  }

  noteWrite(descriptor: number): void {
    const { ino } = real.fstatSync(descriptor);
    this.#unsynced.add(ino);
    this.#writes.set(ino, (this.#writes.get(ino) ?? 0n) + 1n);
  }

  noteSync(descriptor: number, path: string): void {
    const found = real.fstatSync(descriptor);
    if (found.isDirectory()) this.#changes = this.#changes.filter(({ folder }) => folder !== path);
    else this.#unsynced.delete(found.ino);
  }

  noteCreated(path: string): void {
    this.#changes.push({ folder: dirname(path), undo: () => real.rmSync(path, { force: true }) });
  }

  noteFolder(path: string): void {
    this.#changes.push({ folder: dirname(path), undo: () => real.rmSync(path, { force: true, recursive: true }) });
  }

  rename(from: string, to: string): void {
    const replaced = contentOf(to);
    real.renameSync(from, to);
    const harmAgain = this.#renew(to);
    const undo = () => {
      harmAgain();
      if (real.existsSync(to)) real.renameSync(to, from);
      if (replaced !== null) real.writeFileSync(to, replaced);
    };
    this.#changes.push({ folder: dirname(to), content: replaced, undo });
  }

  remove(path: string, options: fs.RmOptions): void {
    const removed = contentOf(path);
    real.rmSync(path, options);
    const harmAgain = this.#renew(path);
    if (removed === null) return;
    const undo = () => {
      harmAgain();
      real.writeFileSync(path, removed);
    };
    this.#changes.push({ folder: dirname(path), content: removed, undo });
  }

  #renew(path: string): () => void {
    if (this.isAside(path)) return () => undefined;
    this.unreadable.delete(basename(path));
    return this.onRenewed(basename(path));
  }

  /** Times of files would follow from how fast this machine is. */
  withTimes<T extends Stats | BigIntStats>(stats: T): T {
    const count = this.#writes.get(Number(stats.ino)) ?? 0n;
    return Object.assign(stats, { mtimeNs: count, ctimeNs: count });
  }

  /** Bytes of files that a power failure would bring back. */
  get heldBytes(): number {
    return this.#changes.reduce((sum, { content }) => sum + (content?.length ?? 0), 0);
  }

  /** Names that were not synced are as before, from some moment on; files that were not synced are cut short. */
  losePower(folders: readonly string[]): void {
    const kept = this.#random.between(0, this.#changes.length);
    for (const change of this.#changes.splice(kept).reverse()) {
      if (folders.some((folder) => change.folder.startsWith(folder))) change.undo();
    }
    for (const path of folders.flatMap(filesBelow)) {
      const { ino, size } = real.statSync(path);
      if (this.#unsynced.has(ino)) real.truncateSync(path, this.#random.between(0, size));
    }
    this.forget();
  }

  /** A crash of the process alone: what it wrote is with the system. */
  forget(): void {
    this.#changes = [];
    this.#unsynced.clear();
  }

  /** A bit is not what it was, and no time of the file tells. */
  rot(path: string, at: number): void {
    const bytes = real.readFileSync(path);
    const place = at % Math.max(bytes.length, 1);
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    real.writeFileSync(path, bytes);
  }
}

function contentOf(path: string): Buffer | null {
  const found = real.lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true ? real.readFileSync(path) : null;
}

export function filesBelow(folder: string): string[] {
  if (!real.existsSync(folder)) return [];
  return real
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .sort();
}

function systemError(code: string, operation: string, path: string): Error {
  return Object.assign(new Error(`${code}: simulated, ${operation} '${path}'`), { code, syscall: operation, path });
}
