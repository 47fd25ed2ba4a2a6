import { accessSync, constants, existsSync, mkdirSync, statfsSync, statSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../../core/blob/errors.ts';
import { type BlockHash, parseBlockHash } from '../../core/blob/ids.ts';
import { isLocked, lockExclusively } from '../../core/sqlite/exclusive-lock.ts';
import { StorageError, storageFault } from '../errors.ts';
import { writeDurably } from './durable-file.ts';
import { closeToOthers, type FileOwner, OWNER_UMASK, ownerShutOut } from './owner-only.ts';
import { readRegularFile } from './regular-file.ts';

export const LOCAL_MODES = ['keep', 'cache'] as const;
/** Whether the folder holds every blob for good, or is a spool and read cache. */
export type LocalMode = (typeof LOCAL_MODES)[number];

const MARKER = 'holdfast.json';
const ADDRESS = 'daemon.json';
const LOCK = 'lock.sqlite';
/** Files of which each archive has one at least, also while it is made again. */
const OF_AN_ARCHIVE = [LOCK, MARKER, 'catalog.sqlite'];
/** The largest size of a small file, which normally has hundreds of bytes. */
const MAX_FILE_BYTES = 65_536;

const marker = z.object({
  format: z.literal('holdfast'),
  version: z.literal(1),
  layout: z.literal('holdfast'),
  chain: z.object({ genesis: z.string().transform((text) => parseBlockHash(text)) }),
  /** Absent in folders of before: they keep. */
  local: z.object({ mode: z.enum(LOCAL_MODES) }).default({ mode: 'keep' }),
});

const address = z.object({
  pid: z.number().int(),
  url: z.string(),
  /** The emulated node of a development daemon, with its credentials, which guard nothing. */
  emulatedNode: z.string().nullable(),
  /** The socket through which other commands on this machine work with it; null: it has none. Absent before there were any. */
  adminSocket: z.string().nullable().default(null),
});
/** Address at which other commands reach the daemon that holds a folder. */
export type DaemonAddress = z.infer<typeof address>;

/** A data folder that this process, and no other, may write. */
export class DataFolder {
  readonly path: string;
  readonly #lock: { close(): void };
  #mode: LocalMode = 'keep';
  /** The chain that the marker names; null: the marker was not read yet, or names none. */
  #chain: BlockHash | null = null;
  /** Paths that other users of this machine can open, and that this user cannot close to them. */
  readonly openToOthers: readonly string[];

  private constructor(path: string, lock: { close(): void }, openToOthers: readonly string[]) {
    this.path = path;
    this.openToOthers = openToOthers;
    this.#lock = lock;
  }

  /**
   * Takes the folder for this process. The lock is SQLite's, on a file of its own: the operating system drops it with
   * the process, so `kill -9` leaves nothing to clean up. Afterwards every file of this process, old or new, is
   * accessible to its user alone.
   */
  static async claim(path: string): Promise<DataFolder> {
    try {
      process.umask(OWNER_UMASK);
      makeWritableFolder(path);
      const owner = ownerShutOut(path, OF_AN_ARCHIVE);
      if (owner !== null) throw ofAnotherUser(path, owner);
      const openToOthers = closeToOthers(path);
      return new DataFolder(path, lockExclusively(join(path, LOCK)), openToOthers);
    } catch (cause) {
      if (codeOf(cause) === 'SQLITE_BUSY') throw await inUse(path, cause);
      throw unusable(path, cause);
    }
  }

  /** The same for a folder that a daemon has made; null when there is none, and none is made. */
  static async claimExisting(path: string): Promise<DataFolder | null> {
    return DataFolder.exists(path) ? await DataFolder.claim(path) : null;
  }

  static exists(path: string): boolean {
    return existsSync(join(path, LOCK));
  }

  /**
   * The chain that this folder belongs to; null before it was bound. A folder is bound for good and is this process's alone,
   * so its marker is read once: a disk that gives nothing any more stops no work that another place can do.
   */
  async boundChain(): Promise<BlockHash | null> {
    this.#chain ??= (await this.#marker())?.chain.genesis ?? null;
    return this.#chain;
  }

  /** Binds the folder to a chain for good. The caller has seen that it is unbound. */
  async bindTo(genesis: BlockHash): Promise<void> {
    const marked = {
      format: 'holdfast',
      version: 1,
      layout: 'holdfast',
      chain: { genesis },
      local: { mode: this.#mode },
    };
    await this.#write(MARKER, `${JSON.stringify(marked, null, 2)}\n`);
    this.#chain = genesis;
  }

  /**
   * Settles what the folder is, and records it: what the operator says; else what it has been; else, for a new one, a
   * cache where backends hold the bytes and the keeper where there are none.
   */
  async settleMode(said: LocalMode | null, hasBackends: boolean): Promise<LocalMode> {
    const marked = await this.#marker();
    this.#mode = said ?? marked?.local.mode ?? (hasBackends ? 'cache' : 'keep');
    if (marked !== null && marked.local.mode !== this.#mode) await this.bindTo(marked.chain.genesis);
    return this.#mode;
  }

  async #marker(): Promise<z.infer<typeof marker> | null> {
    const file = join(this.path, MARKER);
    let text: string;
    try {
      text = (await readRegularFile(file, MAX_FILE_BYTES)).toString('utf8');
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return null;
      throw storageFault('local', 'read its marker', cause, file);
    }
    try {
      return marker.parse(JSON.parse(text));
    } catch (cause) {
      throw new StorageError('storage/unknown-format', `${file} does not say what a folder of this version says.`, {
        details: { file },
        retryable: false,
        hint: 'A newer holdfast may have written it: run that one, or name another data folder.',
        cause,
      });
    }
  }

  /** Tells other commands where this daemon answers. */
  async announce(daemon: Omit<DaemonAddress, 'pid'>): Promise<void> {
    const address: DaemonAddress = { pid: process.pid, ...daemon };
    await this.#write(ADDRESS, `${JSON.stringify(address)}\n`);
  }

  /** Room on its volume. */
  async room(): Promise<{ freeBytes: number; totalBytes: number }> {
    try {
      const { bavail, blocks, bsize } = await statfs(this.path);
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
    } catch (cause) {
      throw storageFault('local', 'look how much room is left', cause, this.path);
    }
  }

  /** Free bytes on its volume at this moment; null: the system does not say. */
  freeBytes(): number | null {
    try {
      const { bavail, bsize } = statfsSync(this.path);
      return bavail * bsize;
    } catch {
      // A volume that is away is told of by what reads and writes there.
      return null;
    }
  }

  async release(): Promise<void> {
    try {
      await rm(join(this.path, ADDRESS), { force: true });
    } finally {
      // The next daemon writes its own address there: a file that stays is no reason to hold the folder.
      this.#lock.close();
    }
  }

  async #write(name: string, text: string): Promise<void> {
    try {
      await writeDurably(join(this.path, name), Buffer.from(text), this.path);
    } catch (cause) {
      throw storageFault('local', `write ${name}`, cause, this.path);
    }
  }
}

/**
 * Reads the address that the daemon on this folder announced; null when no daemon runs. The address of a killed daemon
 * is ignored: another archive may answer there now.
 */
export async function announcedDaemon(path: string): Promise<DaemonAddress | null> {
  try {
    if (!existsSync(join(path, LOCK)) || !isLocked(join(path, LOCK))) return null;
    return address.parse(JSON.parse((await readRegularFile(join(path, ADDRESS), MAX_FILE_BYTES)).toString('utf8')));
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT' || cause instanceof SyntaxError || cause instanceof z.ZodError) return null;
    throw storageFault('local', 'read where the daemon answers', cause, path);
  }
}

/** Says "read-only" or "denied" where SQLite would only say that it cannot open a file, and mkdir that it finds none. */
function makeWritableFolder(path: string): void {
  const writable = constants.R_OK | constants.W_OK | constants.X_OK;
  try {
    makeEachFolder(resolve(path));
    mkdirSync(path, { recursive: true });
  } catch (cause) {
    let above = resolve(path);
    while (!existsSync(above)) above = dirname(above);
    if (!statSync(above).isDirectory()) throw notAFolder(path, above, cause);
    accessSync(above, writable);
    throw cause;
  }
  accessSync(path, writable);
}

/**
 * Creates the folders one by one: where none can be made (`/proc`), the recursive call never returns and ignores
 * signals.
 */
function makeEachFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      mkdirSync(folder);
    } catch (cause) {
      // Another process created the folder in this moment.
      if (codeOf(cause) !== 'EEXIST') throw cause;
    }
  }
}

/** At the start nothing goes on by itself: who may not write the folder has to change something, and start again. */
function unusable(path: string, cause: unknown): StorageError {
  const fault = storageFault('local', 'claim', cause, path);
  const { message, details } = fault;
  switch (fault.code) {
    case 'storage/not-a-folder':
    case 'storage/unusable-folder':
      return fault;
    case 'storage/read-only':
    case 'storage/denied':
      return new StorageError('storage/unusable-folder', message, {
        details,
        retryable: false,
        hint: fault.hint,
        cause,
      });
    default: {
      const hint = 'Look at the disk and the system log, or set HOLDFAST_DATA_DIR to another folder; then start again.';
      return new StorageError(fault.code, message, { details, retryable: false, hint, cause });
    }
  }
}

function notAFolder(path: string, file: string, cause: unknown): StorageError {
  const says = resolve(path) === file ? 'is a file' : `cannot be made: ${file} is a file`;
  return new StorageError('storage/not-a-folder', `The data folder ${path} ${says}.`, {
    details: { path, file },
    retryable: false,
    hint: 'Set HOLDFAST_DATA_DIR to a folder; one that is not there yet is made.',
    cause,
  });
}

/** The owner may be a number without an account, as in a container: `sudo` knows no such user, and `setpriv` does. */
function ofAnotherUser(path: string, { uid, gid }: FileOwner): StorageError {
  const message = `The data folder ${path} belongs to the user ${uid}, who could not open what root would leave there.`;
  return new StorageError('storage/unusable-folder', message, {
    details: { path, owner: uid },
    retryable: false,
    hint: `Type the command as that user: \`setpriv --reuid ${uid} --regid ${gid} --clear-groups holdfast …\`, or with \`systemd-run\` for the unit of systemd, as its comment shows.`,
  });
}

async function inUse(path: string, cause: unknown): Promise<StorageError> {
  const daemon = await announcedDaemon(path);
  const who = daemon === null ? 'another process' : `process ${daemon.pid} (${daemon.url})`;
  return new StorageError('storage/in-use', `The data folder ${path} is in use by ${who}.`, {
    details: { path, pid: daemon?.pid ?? null },
    retryable: false,
    hint: 'Stop that process, or set HOLDFAST_DATA_DIR to another folder.',
    cause,
  });
}
