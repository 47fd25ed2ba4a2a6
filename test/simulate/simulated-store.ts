import { type ContentName, type HashType, parseVersionHash } from '../../src/core/blob/ids.ts';
import type { Backend } from '../../src/replication/backend.ts';
import { StorageError, type StorageErrorCode } from '../../src/storage/errors.ts';
import {
  customNameOf,
  customPath,
  isCustom,
  keyOf,
  type ListedObject,
  type NewObject,
  type ObjectKey,
  type ObjectRange,
  type ObjectStore,
  type PurgeTarget,
  type PutMode,
  type StoreProperties,
} from '../../src/storage/object-store.ts';
import { faultOf, good, type ProbeFinding, warning } from '../../src/storage/probe.ts';
import { recordPathOrNull } from '../../src/storage/record-path.ts';
import type { KeepBytes, KeptBytes } from './kept-bytes.ts';
import type { SeededRandom } from './random.ts';
import type { SimulatedTime } from './simulated-time.ts';

/** State of a place; `empty`: another, empty one answers under its address; `full`: it gives what it has, and takes nothing. */
export type Health = 'well' | 'gone' | 'empty' | 'denied' | 'lying' | 'full';

const BLOB_KINDS = new Set(['blob'] as const);
const ALL_KINDS = new Set(['blob', 'custom', 'record', 'evidence', 'binding', 'mark'] as const);
/** A put that was acknowledged by a Kubo is on its disk within this. */
const SETTLE_MS = 20_000;
const PUT_LATENCY = 3;
export const STORE_LATENCY_MS = 30;

interface Kept {
  read: KeptBytes;
  readonly sizeBytes: number;
  readonly putMs: number;
  isPinned: boolean;
  /** Whether the bytes are others than those that were put. */
  isRotten: boolean;
  /** Another archiver put it here, and this one has not replaced it. */
  readonly isByAnother?: boolean;
}

/**
 * A bucket or a Kubo in memory. What it acknowledged is durable, as the product's own stores promise it of real servers;
 * what the simulation does to an object behind the product's back is noted, and is the only excuse for a claim that fails.
 */
export class SimulatedStore implements ObjectStore, Backend {
  readonly id: string;
  readonly kind: 's3' | 'kubo';
  readonly clockOffsetMs = null;
  latencyMs = STORE_LATENCY_MS;
  /** Listings show what lay there so long ago. */
  listingLateMs = 0;
  /** Listings leave out some objects and name others that are not there. */
  listsWrongly = false;
  /** Objects of the right size with other bytes, which only a read can find. Since when, by `steadyMs`. */
  readonly rotten = new Map<string, number>();
  /** Objects that its own disks, or its archive, do not give, nor let anybody replace; with the fault that says so. */
  readonly poisoned = new Map<string, 'storage/fault' | 'storage/archived'>();
  #objects = new Map<string, Kept>();
  #moves = 0;
  /** Objects that the other, empty place took. */
  readonly #elsewhere = new Map<string, Kept>();
  /** Objects that the simulation took or changed and the archiver has not rewritten; since when, by `steadyMs`. */
  readonly harmed = new Map<string, number>();
  #health: Health = 'well';
  /** When its health last changed. */
  changedMs = 0;
  /** Grows with every change of the objects here. */
  changes = 0;
  /** Grows when an object that was here may be here no more, or with other bytes. */
  taken = 0;
  readonly #time: SimulatedTime;
  readonly #random: SeededRandom;
  readonly #keep: KeepBytes;

  constructor(id: string, kind: 's3' | 'kubo', time: SimulatedTime, random: SeededRandom, keep: KeepBytes) {
    this.id = id;
    this.kind = kind;
    this.#time = time;
    this.#random = random;
    this.#keep = keep;
  }

  get properties(): StoreProperties {
    const isKubo = this.kind === 'kubo';
    return { holds: isKubo ? BLOB_KINDS : ALL_KINDS, pins: isKubo, layout: 'holdfast', where: this.place };
  }

  get place(): string {
    return `simulated ${this.id}, ${this.#moves}`;
  }

  /** Makes the name stand for another, empty place: the settings of a process that starts after this say so. */
  move(): void {
    this.#moves += 1;
    this.#objects = new Map();
    this.poisoned.clear();
    this.changes += 1;
    this.taken += 1;
  }

  get store(): ObjectStore {
    return this;
  }

  readonly openAgain = async (): Promise<ObjectStore> => this;

  get health(): Health {
    return this.#health;
  }

  /** While another place answers, the objects of the first one are as good as lost. */
  set health(value: Health) {
    const before = this.#shown;
    this.#health = value;
    this.changedMs = this.#time.steadyMs;
    if (this.#shown === before) return;
    this.taken += 1;
    for (const path of before.keys()) if (!this.#shown.has(path)) this.#harm(path);
    for (const [path, { isPinned, isRotten, isByAnother }] of this.#shown) {
      // An object of another archiver may be wrong, and no claim is about it.
      if (isPinned && !isRotten && isByAnother !== true) this.#unharm(path);
      else this.#harm(path);
      if (isRotten) this.rotten.set(path, this.#time.steadyMs);
    }
  }

  /** The truth of the place that is there now, also where it does not answer. */
  held(name: ContentName): KeptBytes | null {
    const kept = this.#shown.get(blobPath(name));
    return kept === undefined || !kept.isPinned ? null : kept.read;
  }

  /** When another archiver put it here; null: it did not, or this one has replaced it. */
  putByAnotherMs(name: ContentName): number | null {
    const kept = this.#shown.get(blobPath(name));
    return kept?.isByAnother === true ? kept.putMs : null;
  }

  get paths(): readonly string[] {
    return [...this.#shown.keys()].sort();
  }

  get blobs(): readonly string[] {
    return this.paths.filter(isBlobPath);
  }

  /** The same in the order in which they came. */
  get oldestBlobs(): readonly string[] {
    return [...this.#shown.keys()].filter(isBlobPath);
  }

  /** The objects that answer now: another, empty place keeps its own. */
  get #shown(): Map<string, Kept> {
    return this.health === 'empty' ? this.#elsewhere : this.#objects;
  }

  lose(path: string): void {
    if (this.#shown.delete(path)) this.#harm(path);
  }

  rot(path: string): void {
    const kept = this.#shown.get(path);
    if (kept === undefined) return;
    const bytes = new Uint8Array(kept.read());
    const at = this.#random.between(0, Math.max(bytes.length - 1, 0));
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    kept.read = this.#keep(bytes);
    kept.isRotten = true;
    this.#harm(path);
    this.rotten.set(path, this.#time.steadyMs);
  }

  unpin(path: string): void {
    const kept = this.#shown.get(path);
    if (kept === undefined) return;
    kept.isPinned = false;
    this.#harm(path);
  }

  /** Another archiver puts a blob here that is not here yet. A claim about wrong bytes of its has no excuse. */
  putByAnother(name: ContentName, bytes: Uint8Array): void {
    const path = blobPath(name);
    if (this.#shown.has(path)) return;
    this.#shown.set(path, {
      read: this.#keep(new Uint8Array(bytes)),
      sizeBytes: bytes.length,
      putMs: this.#time.steadyMs,
      isPinned: true,
      isRotten: false,
      isByAnother: true,
    });
    this.changes += 1;
  }

  /** Deletes all objects that nothing pins. */
  collect(): void {
    for (const [path, { isPinned }] of this.#shown) if (!isPinned) this.lose(path);
  }

  /** The power fails: objects that a Kubo acknowledged lately may be gone. */
  losePower(): void {
    if (this.kind === 's3') return;
    for (const [path, { putMs }] of this.#shown) {
      if (this.#time.steadyMs - putMs < SETTLE_MS && this.#random.chance(0.5)) this.lose(path);
    }
  }

  /** All objects can be read again. A change that no scrub could see until now is as good as new. */
  recover(): void {
    for (const path of this.poisoned.keys()) {
      if (this.harmed.has(path)) this.#harm(path);
      if (this.rotten.has(path)) this.rotten.set(path, this.#time.steadyMs);
    }
    this.poisoned.clear();
  }

  /** Does what `wipe` does, without an excuse for a claim about the objects that were here. */
  loseUntold(): void {
    this.wipe();
    this.harmed.clear();
  }

  wipe(): void {
    for (const path of this.paths) this.lose(path);
  }

  async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    const path = pathOf(keyOf(object));
    // A part of Node's pool would keep all of it.
    const bytes = 'path' in object ? new TextEncoder().encode(object.text) : new Uint8Array(object.bytes);
    await this.#answering('put', PUT_LATENCY, signal, path);
    const shown = this.#shown;
    const there = shown.get(path);
    if (mode === 'create' && there !== undefined) {
      there.isPinned = true;
      return;
    }
    if (there !== undefined) this.taken += 1;
    const { length: sizeBytes } = bytes;
    shown.set(path, {
      ...{ read: this.#keep(bytes), sizeBytes, putMs: this.#time.steadyMs, isPinned: true, isRotten: false },
    });
    this.#unharm(path);
  }

  async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    const path = pathOf(key);
    await this.#answering('get', 1, signal, path);
    const kept = this.#shown.get(path);
    if (kept === undefined) return null;
    const bytes = new Uint8Array(kept.read());
    if (this.health === 'lying' && typeof key !== 'string') bytes[0] = (bytes[0] ?? 0) ^ 1;
    return bytes;
  }

  async stat(key: ObjectKey, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    const path = pathOf(key);
    await this.#answering('stat', 1, signal);
    const kept = this.#shown.get(path);
    return kept === undefined || !kept.isPinned ? null : { sizeBytes: kept.sizeBytes };
  }

  async isKept(key: ObjectKey, signal: AbortSignal): Promise<boolean> {
    const path = pathOf(key);
    await this.#answering('stat', 1, signal);
    return this.#shown.get(path)?.isPinned === true;
  }

  async *list(range: ObjectRange, signal: AbortSignal): AsyncIterable<ListedObject> {
    await this.#answering('list', 1, signal);
    const latestMs = this.#time.steadyMs - this.listingLateMs;
    for (const [path, { sizeBytes, putMs, isPinned }] of [...this.#shown].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (putMs > latestMs || (this.kind === 'kubo' && !isPinned)) continue;
      if (this.listsWrongly && this.#random.chance(0.1)) continue;
      const listed = listedAs(path, this.kind === 'kubo' ? null : sizeBytes, range);
      if (listed !== null) yield listed;
    }
    if (!this.listsWrongly) return;
    for (const path of [...this.harmed.keys()].sort()) {
      if (this.#shown.has(path)) continue;
      const listed = listedAs(path, this.kind === 'kubo' ? null : 1_000, range);
      if (listed !== null) yield listed;
    }
  }

  async delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    await this.#answering('delete', 1, signal);
    this.#remove(pathOf(key));
  }

  async purge(target: PurgeTarget, signal: AbortSignal): Promise<boolean> {
    await this.#answering('delete', 1, signal);
    if (!('customOf' in target)) return this.#remove(pathOf(target));
    const below = `custom/${target.customOf}/`;
    return (
      [...this.#shown.keys()].filter((path) => path.startsWith(below)).map((path) => this.#remove(path)).length > 0
    );
  }

  async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    try {
      await this.#answering('probe', 1, signal);
      if (this.health === 'lying') throw this.#error('storage/unreadable', 'probe');
      const found = [good('reachable', 'It answers.'), good('readable', 'What is written is read back.')];
      return this.kind === 's3' ? found : [...found, warning('durable', 'It acknowledges before its disk has it.', '')];
    } catch (error) {
      signal.throwIfAborted();
      return [faultOf('reachable', error)];
    }
  }

  async freeBytes(): Promise<number | null> {
    return null;
  }

  async close(): Promise<void> {}

  #remove(path: string): boolean {
    this.changes += 1;
    this.taken += 1;
    return this.#shown.delete(path);
  }

  #harm(path: string): void {
    this.harmed.set(path, this.#time.steadyMs);
    this.changes += 1;
    this.taken += 1;
  }

  #unharm(path: string): void {
    this.harmed.delete(path);
    this.rotten.delete(path);
    this.changes += 1;
  }

  async #answering(operation: string, cost: number, signal: AbortSignal, path: string | null = null): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const event = this.#time.after(this.#random.next() * this.latencyMs * cost, this.#time.running, resolve);
    try {
      await promise;
    } finally {
      event.cancel();
      signal.removeEventListener('abort', stop);
    }
    if (this.health === 'gone') throw this.#error('storage/unreachable', operation);
    if (this.health === 'full' && operation === 'put') throw this.#error('storage/full', operation);
    if (this.health === 'denied') throw this.#error('storage/denied', operation);
    const poison = path === null ? undefined : this.poisoned.get(path);
    if (poison !== undefined) throw this.#error(poison, operation);
  }

  #error(code: StorageErrorCode, operation: string): StorageError {
    return new StorageError(code, `The ${this.id} store is ${this.health} (${operation}).`, {
      details: { backend: this.id, operation },
      retryable: true,
      hint: 'The simulation said so.',
    });
  }
}

export function blobPath({ hashType, versionHash }: ContentName): string {
  return `${hashType}/${versionHash}`;
}

function isBlobPath(path: string): boolean {
  return /^(keccak|blake)/.test(path);
}

function pathOf(key: ObjectKey): string {
  if (typeof key === 'string') return key;
  return isCustom(key) ? customPath(key) : blobPath(key);
}

function listedAs(path: string, sizeBytes: number | null, range: ObjectRange): ListedObject | null {
  if (range === 'blobs') {
    const [hashType, hash] = path.split('/');
    if (!isHashType(hashType) || hash === undefined) return null;
    return { hashType, versionHash: parseVersionHash(hash), sizeBytes };
  }
  if ('below' in range) {
    const record = path.startsWith(range.below) ? recordPathOrNull(path) : null;
    return record === null ? null : { path: record, sizeBytes: sizeBytes ?? 0 };
  }
  const custom = customNameOf(path);
  if (custom === null || (range.customOf !== null && custom.versionHash !== range.customOf)) return null;
  return { ...custom, sizeBytes: sizeBytes ?? 0 };
}

export function isHashType(text: string | undefined): text is HashType {
  return text === 'keccak256' || text === 'blake2s256';
}
