import { opendir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../blob/errors.ts';
import { type ContentName, HASH_TYPES, parseVersionHash } from '../../blob/ids.ts';
import { lendMemory } from '../../blob/lent-memory.ts';
import { MAX_BLOB_BYTES } from '../../blob/limits.ts';
import type { FileIdentity, VerifiedBlob } from '../../verify/verified-blob.ts';
import type { StoredEntry } from '../blob-store.ts';
import { DamagedFiles } from './damaged-files.ts';
import { makeDurableFolder, writeDurably } from './durable-file.ts';
import { OpenBlobFile } from './open-blob-file.ts';

/** Bytes of a file together with what tells that the file has not changed since. */
export interface ReadFile {
  readonly bytes: Uint8Array;
  readonly identity: FileIdentity;
}

/** Large blobs, a file each: `blobs/<hash type>/<first two hex>/<version hash>`. */
export class FileShelf {
  readonly #root: string;
  readonly #temporary: string;
  readonly #madeFolders = new Set<string>();
  readonly #damaged: DamagedFiles;

  private constructor(root: string) {
    this.#root = root;
    this.#temporary = join(root, '.tmp');
    this.#damaged = new DamagedFiles(join(root, 'damaged'));
  }

  static async open(root: string): Promise<FileShelf> {
    const shelf = new FileShelf(root);
    await makeDurableFolder(shelf.#temporary);
    // What a crash left half-written was never acknowledged.
    for (const name of await readdir(shelf.#temporary)) await rm(join(shelf.#temporary, name), { force: true });
    return shelf;
  }

  #path(name: ContentName): string {
    return join(this.#root, name.hashType, name.versionHash.slice(0, 2), name.versionHash);
  }

  /** What lies there and is not this blob is kept aside, and replaced in place. */
  async put(blob: VerifiedBlob): Promise<FileIdentity> {
    const path = this.#path(blob);
    const folder = dirname(path);
    if (!this.#madeFolders.has(folder)) {
      await makeDurableFolder(folder);
      this.#madeFolders.add(folder);
    }
    if ((await this.stat(blob)) !== null && !(await this.#isSame(blob))) await this.#damaged.keep(path, below(blob));
    return await writeDurably(path, blob.bytes, this.#temporary);
  }

  async #isSame(blob: VerifiedBlob): Promise<boolean> {
    try {
      const there = await this.get(blob, new AbortController().signal);
      return there === null || Buffer.compare(there.bytes, blob.bytes) === 0;
    } catch {
      // What the disk does not give is not the same.
      return false;
    }
  }

  async get(name: ContentName, signal: AbortSignal): Promise<ReadFile | null> {
    const file = await this.openFile(name);
    if (file === null) return null;
    try {
      const before = file.identity();
      // A damaged folder can hold anything under a blob's name; no blob is larger than this.
      const length = Math.min(Number(before.sizeBytes), MAX_BLOB_BYTES + 1);
      const bytes = Buffer.from(lendMemory(length), 0, length);
      let read = 0;
      while (read < length) {
        signal.throwIfAborted();
        const bytesRead = await file.read(read === 0 ? bytes : bytes.subarray(read), read);
        if (bytesRead === 0) break;
        read += bytesRead;
      }
      const after = file.identity();
      const isSteady =
        after.mtimeNs === before.mtimeNs && after.ctimeNs === before.ctimeNs && after.sizeBytes === before.sizeBytes;
      return {
        bytes: read === length ? bytes : bytes.subarray(0, read),
        // Changed under our hands: an identity that no record can equal, so that the bytes are hashed.
        identity: isSteady && read === length ? after : { ...after, sizeBytes: -1n },
      };
    } finally {
      file.close();
    }
  }

  /** For whoever sends it in parts; the caller closes it. */
  openFile(name: ContentName): Promise<OpenBlobFile | null> {
    return OpenBlobFile.open(this.#path(name));
  }

  async stat(name: ContentName): Promise<StoredEntry | null> {
    try {
      const found = await stat(this.#path(name));
      return { hashType: name.hashType, versionHash: name.versionHash, sizeBytes: found.size };
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    }
  }

  async *list(signal: AbortSignal): AsyncIterable<StoredEntry> {
    for (const hashType of HASH_TYPES) {
      for (const prefix of await prefixFoldersIn(join(this.#root, hashType))) {
        for await (const entry of await opendir(join(this.#root, hashType, prefix))) {
          signal.throwIfAborted();
          if (!entry.isFile() || !/^[0-9a-f]{64}$/.test(entry.name)) continue;
          const found = await this.stat({ hashType, versionHash: parseVersionHash(entry.name) });
          if (found !== null) yield found;
        }
      }
    }
  }

  async delete(name: ContentName): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  /** What was kept aside as well. false: there was nothing. */
  async purge(name: ContentName): Promise<boolean> {
    const isThere = (await this.stat(name)) !== null;
    await this.delete(name);
    return (await this.#damaged.remove(below(name))) || isThere;
  }
}

function below({ hashType, versionHash }: ContentName): string {
  return join(hashType, versionHash);
}

/** What else lies there (a desktop's own files, `lost+found`) is not ours. */
async function prefixFoldersIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && /^[0-9a-f]{2}$/.test(entry.name))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}
