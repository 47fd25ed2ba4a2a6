import type { ContentName } from '../core/blob/ids.ts';
import { mayBeOneFile } from '../storage/errors.ts';
import type { LocalStore } from '../storage/local/local-store.ts';
import type { RehashRule, VerifiedBlob, Verifier } from '../verify/verified-blob.ts';
import type { CopyFinding } from './backend-handle.ts';

type ReadOnce = (name: ContentName, signal: AbortSignal) => Promise<CopyFinding>;

/** The copies in the local store, each of them hashed before it is called good. */
export class LocalCopies {
  readonly store: LocalStore;
  readonly #rehash: RehashRule;
  readonly #verifier: Verifier;

  /** @param verifier hashes on the other thread */
  constructor(store: LocalStore, rehash: RehashRule, verifier: Verifier) {
    this.store = store;
    this.#rehash = rehash;
    this.#verifier = verifier;
  }

  get id(): string {
    return this.store.id;
  }

  /** Reads and hashes a copy, once. */
  async read(name: ContentName, signal: AbortSignal): Promise<CopyFinding> {
    const copy = await this.store.copy(name, signal);
    return copy === null ? MISSING : findingOf(this.#rehash.prove(name, copy.blob.bytes, copy.identity));
  }

  /**
   * Reads and hashes a copy. One that seems bad, or is not given, is read again before it is called so. A copy that the disk
   * has and does not give, while it takes and gives another, is damaged; a fault of the whole disk is thrown.
   * `BackendHandle.examine` has the same rule for backends.
   */
  async examine(
    name: ContentName,
    signal: AbortSignal,
    readFirst: ReadOnce = (...of) => this.read(...of),
  ): Promise<CopyFinding> {
    const first = await orError(() => readFirst(name, signal), signal);
    if ('kind' in first && first.kind === 'good') return first;
    const second = await orError(() => this.read(name, signal), signal);
    if ('kind' in second) return second;
    if (mayBeOneFile(second.error) && (await this.store.isServing())) {
      return { kind: 'damaged', error: second.error };
    }
    throw second.error;
  }

  /** Does what `examine` does, and hashes on the other thread: this one has the next blobs to write meanwhile. */
  async examineElsewhere(name: ContentName, signal: AbortSignal): Promise<CopyFinding> {
    return await this.examine(name, signal, async () => {
      const copy = await this.store.copy(name, signal);
      if (copy === null) return MISSING;
      return findingOf(await this.#rehash.proveElsewhere(name, copy.blob.bytes, copy.identity, this.#verifier));
    });
  }

  /** Does what `examine` does; a file that this process hashed, and that has not changed since, is not hashed again. */
  async examineUnlessKnown(name: ContentName, signal: AbortSignal): Promise<CopyFinding> {
    return await this.examine(name, signal, async () => {
      const copy = await this.store.copy(name, signal);
      if (copy === null) return MISSING;
      return findingOf(await this.#rehash.admit(name, copy.blob.bytes, copy.identity, this.#verifier));
    });
  }

  /** Writes a blob, which is not hashed again on its way to the backends. */
  async keep(blob: VerifiedBlob, signal: AbortSignal): Promise<void> {
    const identity = await this.store.keep(blob, signal);
    if (identity !== null) this.#rehash.noteWritten(blob, identity);
  }

  /** Notes that bytes from here came out wrong elsewhere: a file can rot without being touched. */
  doubt(name: ContentName): void {
    this.#rehash.doubt(name);
  }
}

const MISSING: CopyFinding = { kind: 'missing' };

function findingOf(blob: VerifiedBlob | null): CopyFinding {
  return blob === null ? { kind: 'damaged' } : { kind: 'good', blob };
}

async function orError(read: () => Promise<CopyFinding>, signal: AbortSignal) {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    return { error };
  }
}
