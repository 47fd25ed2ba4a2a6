/** Changes of files in their order, as `file-faults.c` records them, and the states in which a power failure can leave them. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const HEADER_BYTES = 25;
const SECTOR_BYTES = 512;
/** The numbers of `file-faults.c`. */
const OPERATIONS = ['create', 'write', 'truncate', 'sync', 'rename', 'unlink', 'link', 'mkdir', 'rmdir'] as const;

export interface RecordedChange {
  readonly operation: (typeof OPERATIONS)[number];
  /** Number of the file on its volume; 0 where only paths are changed. */
  readonly inode: bigint;
  /** Offset of a write, length after a truncation; of a sync 1 when it was a folder's. */
  readonly value: number;
  /** Bytes that were written, or the path. */
  readonly first: Buffer;
  readonly second: string;
}

/** A record that the end of the process cut off is left out. */
export function readChanges(log: Buffer): RecordedChange[] {
  const changes: RecordedChange[] = [];
  for (let at = 0; at + HEADER_BYTES <= log.length; ) {
    const firstBytes = log.readUInt32LE(at + 17);
    const end = at + HEADER_BYTES + firstBytes + log.readUInt32LE(at + 21);
    if (end > log.length) break;
    const operation = OPERATIONS[log.readUInt8(at) - 1];
    if (operation === undefined) throw new Error(`The log of changes has no operation ${log.readUInt8(at)}.`);
    const first = log.subarray(at + HEADER_BYTES, at + HEADER_BYTES + firstBytes);
    const second = log.toString('utf8', at + HEADER_BYTES + firstBytes, end);
    changes.push({
      operation,
      inode: log.readBigUInt64LE(at + 1),
      value: Number(log.readBigUInt64LE(at + 9)),
      first,
      second,
    });
    at = end;
  }
  return changes;
}

/** `none`: only what was synced is there. `all`: everything is. `some`: any part of it, writes torn at sectors. */
export type Survivors = 'none' | 'some' | 'all';

/** One change of a file's bytes that was not synced; null bytes: a truncation to `at`. */
interface Write {
  readonly at: number;
  readonly bytes: Buffer | null;
}

interface RecordedFile {
  durable: Buffer;
  readonly pending: Write[];
}

/** A name that was set or removed, and is durable once its folder was synced. `inode` null: it was removed. */
interface NameChange {
  readonly folder: string;
  apply(names: Map<string, bigint>, folders: Set<string>): void;
}

function written(before: Buffer, { at, bytes }: Write, length = bytes?.length ?? 0): Buffer {
  if (bytes === null && before.length >= at) return Buffer.from(before.subarray(0, at));
  const after = Buffer.alloc(Math.max(before.length, at + length));
  before.copy(after);
  bytes?.copy(after, at, 0, length);
  return after;
}

/** A volume that keeps apart what is durable and what a power failure can still take. */
export class RecordedVolume {
  readonly #root: string;
  readonly #files = new Map<bigint, RecordedFile>();
  /** Names as programs see them, and as they are durable. */
  readonly #seen = new Map<string, bigint>();
  readonly #names = new Map<string, bigint>();
  readonly #folders: Set<string>;
  readonly #folderOf = new Map<bigint, string>();
  #pending: NameChange[] = [];

  constructor(root: string) {
    this.#root = root;
    this.#folders = new Set([root]);
  }

  apply({ operation, inode, value, first, second }: RecordedChange): void {
    switch (operation) {
      case 'write':
        this.#file(inode).pending.push({ at: value, bytes: first });
        break;
      case 'truncate':
        this.#file(inode).pending.push({ at: value, bytes: null });
        break;
      case 'sync':
        if (value === 1) this.#syncFolder(this.#folderOf.get(inode) ?? this.#root);
        else this.#syncFile(this.#file(inode));
        break;
      default:
        this.#rename(operation, inode, first.toString('utf8'), second);
    }
  }

  #rename(operation: RecordedChange['operation'], inode: bigint, path: string, to: string): void {
    const folder = dirname(to === '' ? path : to);
    const pend = (apply: NameChange['apply']) => this.#pending.push({ folder, apply });
    if (operation === 'create') {
      this.#files.set(inode, { durable: Buffer.alloc(0), pending: [] });
      this.#seen.set(path, inode);
      pend((names) => names.set(path, inode));
    } else if (operation === 'unlink') {
      this.#seen.delete(path);
      pend((names) => names.delete(path));
    } else if (operation === 'mkdir') {
      this.#folderOf.set(inode, path);
      pend((_names, folders) => folders.add(path));
    } else if (operation === 'rmdir') {
      pend((_names, folders) => folders.delete(path));
    } else {
      const moved = this.#seen.get(path);
      if (moved === undefined) throw new Error(`${path} was renamed and never made.`);
      if (operation === 'rename') this.#seen.delete(path);
      this.#seen.set(to, moved);
      pend((names) => {
        if (operation === 'rename') names.delete(path);
        names.set(to, moved);
      });
    }
  }

  /** Writes the state after a power failure at this moment into a folder. `random` gives numbers from 0 to 1. */
  write(into: string, survivors: Survivors, random: () => number): void {
    const [names, folders] = [new Map(this.#names), new Set(this.#folders)];
    for (const change of this.#pending) {
      if (survivors === 'all' || (survivors === 'some' && random() < 0.5)) change.apply(names, folders);
    }
    rmSync(into, { recursive: true, force: true });
    const isReached = (folder: string): boolean =>
      folder === this.#root || (folders.has(folder) && isReached(dirname(folder)));
    const here = (path: string) => join(into, path.slice(this.#root.length));
    for (const folder of folders) if (isReached(folder)) mkdirSync(here(folder), { recursive: true });
    for (const [path, inode] of names) {
      // SQLite makes this file anew at each start.
      if (!isReached(dirname(path)) || path.endsWith('-shm')) continue;
      writeFileSync(here(path), this.#bytes(this.#file(inode), survivors, random));
    }
  }

  #bytes({ durable, pending }: RecordedFile, survivors: Survivors, random: () => number): Buffer {
    let bytes = durable;
    for (const write of survivors === 'none' ? [] : pending) {
      const chance = survivors === 'all' ? 0 : random();
      if (chance < 0.5) bytes = written(bytes, write);
      else if (chance < 0.6 && write.bytes !== null) {
        const sectors = Math.floor((random() * write.bytes.length) / SECTOR_BYTES);
        bytes = written(bytes, write, sectors * SECTOR_BYTES);
      }
    }
    return bytes;
  }

  #file(inode: bigint): RecordedFile {
    const known = this.#files.get(inode);
    if (known !== undefined) return known;
    const file = { durable: Buffer.alloc(0), pending: [] };
    this.#files.set(inode, file);
    return file;
  }

  #syncFile(file: RecordedFile): void {
    for (const write of file.pending.splice(0)) file.durable = written(file.durable, write);
  }

  #syncFolder(folder: string): void {
    for (const change of this.#pending) if (change.folder === folder) change.apply(this.#names, this.#folders);
    this.#pending = this.#pending.filter((change) => change.folder !== folder);
  }
}
