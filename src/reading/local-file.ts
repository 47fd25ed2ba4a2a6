import type { ContentName, HashType, VersionHash } from '../core/blob/ids.ts';
import { StorageError } from '../storage/errors.ts';
import type { OpenBlobFile } from '../storage/local/open-blob-file.ts';
import type { FileIdentity } from '../verify/verified-blob.ts';
import type { ProvenFile } from '../view/archive-view.ts';

/** A local file that was verified and has not changed since; looked at again behind every part that is read. */
export class LocalFile implements ProvenFile {
  readonly hashType: HashType;
  readonly versionHash: VersionHash;
  readonly sizeBytes: number;
  readonly #file: OpenBlobFile;
  readonly #proven: FileIdentity;
  readonly #isGiven: () => boolean;

  /** `isGiven` reports whether the proof still holds, and the name may still be served. */
  constructor(name: ContentName, file: OpenBlobFile, proven: FileIdentity, isGiven: () => boolean) {
    this.hashType = name.hashType;
    this.versionHash = name.versionHash;
    this.sizeBytes = Number(proven.sizeBytes);
    this.#file = file;
    this.#proven = proven;
    this.#isGiven = isGiven;
  }

  async read(into: Uint8Array, position: number): Promise<void> {
    this.#refuseChanged(into.length, await this.#file.read(into, position));
  }

  /** Runs after the read: a writer sets the times before it writes, so that every reader of changed bytes sees them. */
  #refuseChanged(expectedBytes: number, readBytes: number): void {
    const now = this.#file.identity();
    const same =
      readBytes === expectedBytes && now.sizeBytes === this.#proven.sizeBytes && now.mtimeNs === this.#proven.mtimeNs;
    if (same && (now.ctimeNs === this.#proven.ctimeNs || this.#isEvicted())) return;
    throw new StorageError('storage/fault', `The file of ${this.versionHash} changed while it was sent.`, {
      details: { hashType: this.hashType, versionHash: this.versionHash },
      retryable: true,
      hint: 'Find out who writes into the data folder; the next read hashes it again.',
    });
  }

  /** An eviction changes nothing but the ctime: the answer goes on. A takedown and a found damage delete as well, and end it. */
  #isEvicted(): boolean {
    return this.#file.isUnlinked() && this.#isGiven();
  }

  close(): void {
    this.#file.close();
  }
}
