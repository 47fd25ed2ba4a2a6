import { type BlockHash, type ContentName, parseVersionHash } from '../../src/core/blob/ids.ts';
import type { Backend } from '../../src/replication/backend.ts';
import { boundChain, markerText } from '../../src/storage/chain-binding.ts';
import { StorageError } from '../../src/storage/errors.ts';
import {
  BINDING,
  isCustom,
  type ListedObject,
  type NewObject,
  type ObjectKey,
  type ObjectRange,
  type ObjectStore,
  type PurgeTarget,
  type PutMode,
  type StoreProperties,
} from '../../src/storage/object-store.ts';
import { good, type ProbeFinding } from '../../src/storage/probe.ts';

/** A backend in memory whose every answer a test can change: what no server can be made to do on demand. It holds blobs. */
export class MemoryBackend implements ObjectStore, Backend {
  readonly id: string;
  readonly clockOffsetMs = null;
  readonly blobs = new Map<string, Uint8Array>();
  /** Each question, in its order: `get keccak256/…`. */
  readonly asked: string[] = [];
  readonly setAsideNames: string[] = [];
  chain: BlockHash | null = null;
  /** Whether blobs are kept for good; null: a backend that pins nothing. */
  isPinned: (() => boolean) | null = null;
  /** Throws, or waits, before a question is answered. */
  before: (operation: string, name: ContentName | null, signal: AbortSignal) => Promise<void> | void = () => {};
  /** The listing fails behind so many entries. */
  breaksOffAfter: number | null = null;
  /** The listing stands still behind so many entries. */
  waitsAfter: { readonly entries: number; readonly until: Promise<void> } | null = null;
  findings: readonly ProbeFinding[] = [good('reachable', 'It answers.')];
  /** Answers the question for free space; null: it does not tell. */
  room: () => Promise<number | null> = async () => null;

  constructor(id: string) {
    this.id = id;
  }

  get properties(): StoreProperties {
    const holds = new Set(['blob', 'binding'] as const);
    return { holds, pins: this.isPinned !== null, layout: 'holdfast', where: this.place };
  }

  get place(): string {
    return `memory ${this.id}`;
  }

  get store(): ObjectStore {
    return this;
  }

  readonly openAgain = async () => this;

  async put(object: NewObject, mode: PutMode, signal: AbortSignal): Promise<void> {
    if ('path' in object) {
      await this.#asking('bind', null, signal);
      this.chain = await boundChain(
        Object.assign(new MemoryBackend(this.id), { get: async () => Buffer.from(object.text) }),
        signal,
      );
      return;
    }
    const name = blobNameOf(object);
    await this.#asking(mode === 'create' ? 'putNew' : 'put', name, signal);
    const there = this.blobs.get(keyOf(name));
    if (there !== undefined && mode === 'create') return;
    if (there !== undefined && Buffer.compare(there, object.bytes) !== 0) {
      await this.#asking('set aside', name, signal);
      this.setAsideNames.push(keyOf(name));
    }
    this.blobs.set(keyOf(name), Uint8Array.from(object.bytes));
  }

  async get(key: ObjectKey, signal: AbortSignal): Promise<Uint8Array | null> {
    if (key === BINDING) {
      await this.#asking('bind', null, signal);
      return this.chain === null ? null : Buffer.from(markerText('holdfast', this.chain));
    }
    const name = blobNameOf(key);
    await this.#asking('get', name, signal);
    const bytes = this.blobs.get(keyOf(name));
    return bytes === undefined ? null : Uint8Array.from(bytes);
  }

  async stat(key: ObjectKey, signal: AbortSignal): Promise<{ readonly sizeBytes: number } | null> {
    const name = blobNameOf(key);
    await this.#asking('stat', name, signal);
    const bytes = this.blobs.get(keyOf(name));
    return bytes === undefined || this.isPinned?.() === false ? null : { sizeBytes: bytes.length };
  }

  async isKept(key: ObjectKey, signal: AbortSignal): Promise<boolean> {
    await this.#asking('is kept', blobNameOf(key), signal);
    return this.isPinned?.() !== false;
  }

  async *list(range: ObjectRange, signal: AbortSignal): AsyncIterable<ListedObject> {
    if (range !== 'blobs') return;
    await this.#asking('list', null, signal);
    for (const [index, [key, { length }]] of [...this.blobs].entries()) {
      if (index === this.breaksOffAfter) throw refusal(this.id);
      if (index === this.waitsAfter?.entries) await this.waitsAfter.until;
      const [hashType, hash = ''] = key.split('/');
      yield {
        hashType: hashType === 'blake2s256' ? 'blake2s256' : 'keccak256',
        versionHash: parseVersionHash(hash),
        sizeBytes: length,
      };
    }
  }

  async delete(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const name = blobNameOf(key);
    await this.#asking('delete', name, signal);
    this.blobs.delete(keyOf(name));
  }

  async purge(target: PurgeTarget, signal: AbortSignal): Promise<boolean> {
    if ('customOf' in target) return false;
    await this.#asking('delete', target, signal);
    return this.blobs.delete(keyOf(target));
  }

  async probe(): Promise<readonly ProbeFinding[]> {
    return this.findings;
  }

  async freeBytes(): Promise<number | null> {
    return await this.room();
  }

  async close(): Promise<void> {}

  async #asking(operation: string, name: ContentName | null, signal: AbortSignal): Promise<void> {
    this.asked.push(name === null ? operation : `${operation} ${keyOf(name)}`);
    await this.before(operation, name, signal);
  }
}

function blobNameOf(key: ObjectKey): ContentName {
  if (typeof key === 'string' || isCustom(key)) throw new TypeError('a backend in memory holds blobs alone');
  return key;
}

export function keyOf({ hashType, versionHash }: ContentName): string {
  return `${hashType}/${versionHash}`;
}

/** Acts as a server whose disks have lost part of one object: it gives the object to no client until it is written again. */
export function losePart(backend: MemoryBackend, name: ContentName): void {
  backend.findings = [good('readable', 'What is written is read back.')];
  let isLost = true;
  backend.before = (operation, asked) => {
    if (asked === null || keyOf(asked) !== keyOf(name)) return;
    if (operation === 'putNew') return;
    if (operation === 'put') isLost = false;
    if (isLost) throw refusal(backend.id, 'storage/unreadable');
  };
}

export function refusal(backend: string, code: StorageError['code'] = 'storage/unreachable'): StorageError {
  return new StorageError(code, `The ${backend} store refuses.`, {
    details: { backend },
    retryable: true,
    hint: 'A test said so.',
  });
}
