import { type BlockHash, type ContentName, parseVersionHash } from '../../src/core/blob/ids.ts';
import type { Backend, RemoteStore } from '../../src/replication/backend.ts';
import type { StoredEntry } from '../../src/storage/blob-store.ts';
import { StorageError } from '../../src/storage/errors.ts';
import { good, type ProbeFinding } from '../../src/storage/probe.ts';
import type { UnverifiedBlob, VerifiedBlob } from '../../src/verify/verified-blob.ts';

/** A backend in memory whose every answer a test can change: what no server can be made to do on demand. */
export class MemoryBackend implements RemoteStore, Backend {
  readonly id: string;
  readonly documents = null;
  readonly blobs = new Map<string, Uint8Array>();
  /** Each question, in its order: `get keccak256/…`. */
  readonly asked: string[] = [];
  readonly setAsideNames: string[] = [];
  chain: BlockHash | null = null;
  /** Throws, or waits, before a question is answered. */
  before: (operation: string, name: ContentName | null, signal: AbortSignal) => Promise<void> | void = () => {};
  /** The listing fails behind so many entries. */
  breaksOffAfter: number | null = null;
  /** The listing stands still behind so many entries. */
  waitsAfter: { readonly entries: number; readonly until: Promise<void> } | null = null;
  findings: readonly ProbeFinding[] = [good('reachable', 'It answers.')];

  constructor(id: string) {
    this.id = id;
  }

  get place(): string {
    return `memory ${this.id}`;
  }

  get store(): RemoteStore {
    return this;
  }

  readonly openAgain = async () => this;

  async put(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    await this.#asking('put', blob, signal);
    this.blobs.set(keyOf(blob), Uint8Array.from(blob.bytes));
  }

  async putUnseen(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    await this.#asking('putUnseen', blob, signal);
    if (!this.blobs.has(keyOf(blob))) this.blobs.set(keyOf(blob), Uint8Array.from(blob.bytes));
  }

  async get(name: ContentName, signal: AbortSignal): Promise<UnverifiedBlob | null> {
    await this.#asking('get', name, signal);
    const bytes = this.blobs.get(keyOf(name));
    const { hashType, versionHash } = name;
    return bytes === undefined ? null : { hashType, versionHash, bytes: Uint8Array.from(bytes) };
  }

  async stat(name: ContentName, signal: AbortSignal): Promise<StoredEntry | null> {
    await this.#asking('stat', name, signal);
    const bytes = this.blobs.get(keyOf(name));
    const { hashType, versionHash } = name;
    return bytes === undefined ? null : { hashType, versionHash, sizeBytes: bytes.length };
  }

  async *list(signal: AbortSignal): AsyncIterable<StoredEntry> {
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

  async delete(name: ContentName, signal: AbortSignal): Promise<void> {
    await this.#asking('delete', name, signal);
    this.blobs.delete(keyOf(name));
  }

  async setAside(name: ContentName, signal: AbortSignal): Promise<string | null> {
    await this.#asking('set aside', name, signal);
    this.setAsideNames.push(keyOf(name));
    return `damaged/${keyOf(name)}`;
  }

  async boundChain(signal: AbortSignal): Promise<BlockHash | null> {
    await this.#asking('read the marker', null, signal);
    return this.chain;
  }

  async bindTo(genesis: BlockHash, signal: AbortSignal): Promise<void> {
    await this.#asking('bind', null, signal);
    this.chain = genesis;
  }

  async probe(): Promise<readonly ProbeFinding[]> {
    return this.findings;
  }

  async close(): Promise<void> {}

  async #asking(operation: string, name: ContentName | null, signal: AbortSignal): Promise<void> {
    this.asked.push(name === null ? operation : `${operation} ${keyOf(name)}`);
    await this.before(operation, name, signal);
  }
}

export function keyOf({ hashType, versionHash }: ContentName): string {
  return `${hashType}/${versionHash}`;
}

/** As of a server whose disks have lost part of one object: it gives it to nobody, until it is written anew. */
export function losePart(backend: MemoryBackend, name: ContentName): void {
  backend.findings = [good('readable', 'What is written is read back.')];
  let isLost = true;
  backend.before = (operation, asked) => {
    if (asked === null || keyOf(asked) !== keyOf(name)) return;
    if (operation === 'putUnseen') return;
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
