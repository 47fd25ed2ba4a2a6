import { type ContentName, parseVersionHash } from '../../src/core/blob/ids.ts';
import {
  customNameOf,
  customPath,
  isCustom,
  keyOf,
  type ListedObject,
  type NewObject,
  type ObjectKey,
  type ObjectKind,
  type ObjectRange,
  type ObjectStore,
  type PurgeTarget,
  type PutMode,
  type StoreProperties,
} from '../../src/storage/object-store.ts';
import { good, type ProbeFinding } from '../../src/storage/probe.ts';
import { recordPathOrNull } from '../../src/storage/record-path.ts';

const HOLDS: ReadonlySet<ObjectKind> = new Set(['blob', 'custom', 'record', 'evidence', 'binding', 'mark']);

/** All that a backend has to be, in memory. It stands for the next backend: what it needs, that one needs. */
export class MemoryStore implements ObjectStore {
  readonly id: string;
  readonly properties: StoreProperties;
  readonly clockOffsetMs = null;
  /** Every object by its path. */
  readonly objects = new Map<string, Uint8Array>();
  /** Paths of the objects whose other bytes were replaced; a copy of those bytes is kept. */
  readonly setAside = new Map<string, Uint8Array>();

  constructor(id: string) {
    this.id = id;
    this.properties = { holds: HOLDS, pins: false, layout: 'holdfast', where: `memory ${id}` };
  }

  /** The text of every object, in the order in which they came. */
  get documents(): ReadonlyMap<string, string> {
    return new Map([...this.objects].map(([path, bytes]) => [path, Buffer.from(bytes).toString('utf8')]));
  }

  async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const path = pathOf(keyOf(object));
    const there = this.objects.get(path);
    if (there !== undefined && mode === 'create') return;
    const bytes = 'path' in object ? Buffer.from(object.text) : object.bytes;
    if (there !== undefined && !('path' in object) && Buffer.compare(there, bytes) !== 0)
      this.setAside.set(path, there);
    this.objects.set(path, Uint8Array.from(bytes));
  }

  async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    signal.throwIfAborted();
    const found = this.objects.get(pathOf(key));
    return found === undefined ? null : Uint8Array.from(found);
  }

  async stat(key: ObjectKey, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    signal.throwIfAborted();
    const found = this.objects.get(pathOf(key));
    return found === undefined ? null : { sizeBytes: found.length };
  }

  async isKept(): Promise<boolean> {
    return true;
  }

  async *list(range: ObjectRange, signal: AbortSignal): AsyncIterable<ListedObject> {
    const below = belowOf(range);
    for (const [path, { length }] of [...this.objects].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      signal.throwIfAborted();
      const entry = path.startsWith(below) ? entryOf(path, length) : null;
      if (entry !== null) yield entry;
    }
    signal.throwIfAborted();
  }

  async delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.objects.delete(pathOf(key));
  }

  async purge(target: PurgeTarget, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const below = 'customOf' in target ? belowOf(target) : pathOf(target);
    let found = false;
    for (const places of [this.objects, this.setAside]) {
      for (const path of places.keys()) if (path.startsWith(below)) found = places.delete(path) || found;
    }
    return found;
  }

  async probe(signal: AbortSignal): Promise<readonly ProbeFinding[]> {
    signal.throwIfAborted();
    return [good('reachable', 'It is memory.'), good('readable', 'What is written is read back.')];
  }

  async freeBytes(): Promise<number | null> {
    return null;
  }

  async close(): Promise<void> {}
}

export function pathOf(key: ObjectKey): string {
  if (typeof key === 'string') return key;
  return isCustom(key) ? customPath(key) : blobPath(key);
}

export function blobPath({ hashType, versionHash }: ContentName): string {
  return `blobs/${hashType}/${versionHash}`;
}

function belowOf(range: ObjectRange): string {
  if (range === 'blobs') return 'blobs/';
  if ('below' in range) return range.below;
  return range.customOf === null ? 'custom/' : `custom/${range.customOf}/`;
}

function entryOf(path: string, sizeBytes: number): ListedObject | null {
  const [folder, type, hash] = path.split('/');
  if (folder === 'blobs' && hash !== undefined) {
    const hashType = type === 'blake2s256' ? 'blake2s256' : 'keccak256';
    return { hashType, versionHash: parseVersionHash(hash), sizeBytes };
  }
  const custom = customNameOf(path);
  if (custom !== null) return { ...custom, sizeBytes };
  const record = recordPathOrNull(path);
  return record === null ? null : { path: record, sizeBytes };
}
