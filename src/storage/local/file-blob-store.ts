import { randomBytes } from 'node:crypto';
import { open, opendir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';
import { type ContentName, HASH_TYPES, parseVersionHash } from '../../core/blob/ids.ts';
import { lendMemory } from '../../core/blob/lent-memory.ts';
import { MAX_BLOB_BYTES } from '../../core/blob/limits.ts';
import type { FileIdentity, VerifiedBlob } from '../../verify/verified-blob.ts';
import type { ListedBlob } from '../object-store.ts';
import { DamagedFiles } from './damaged-files.ts';
import { makeDurableFolder, removeDurably, writeDurably } from './durable-file.ts';
import { OpenBlobFile } from './open-blob-file.ts';

/** Bytes of a file together with what tells that the file has not changed since. */
export interface ReadFile {
  readonly bytes: Uint8Array;
  readonly identity: FileIdentity;
}

/** More than a disk writes at once. */
const PROBE_BYTES = 8_192;

/** Large blobs, a file each: `blobs/<hash type>/<first two hex>/<version hash>`. */
export class FileBlobStore {
  readonly #root: string;
  readonly #temporary: string;
  readonly #madeFolders = new Set<string>();
  readonly #damaged: DamagedFiles;

  private constructor(root: string) {
    this.#root = root;
    this.#temporary = join(root, '.tmp');
    this.#damaged = new DamagedFiles(join(root, 'damaged'));
  }

  static async open(root: string): Promise<FileBlobStore> {
    const store = new FileBlobStore(root);
    await makeDurableFolder(store.#temporary);
    // A file that a crash left half-written was never acknowledged.
    for (const name of await readdir(store.#temporary)) {
      await rm(join(store.#temporary, name), { force: true, recursive: true });
    }
    return store;
  }

  #path(name: ContentName): string {
    return join(this.#root, name.hashType, name.versionHash.slice(0, 2), name.versionHash);
  }

  /** Puts a blob. Other bytes under its name are kept aside and replaced in place. */
  async put(blob: VerifiedBlob): Promise<FileIdentity> {
    const path = this.#path(blob);
    const folder = dirname(path);
    if (!this.#madeFolders.has(folder)) {
      await makeDurableFolder(folder);
      this.#madeFolders.add(folder);
    }
    if (!(await this.#isSame(blob))) {
      // Unreadable bytes cannot be kept aside, and are replaced all the same.
      await this.#damaged.keep(path, below(blob)).catch(() => null);
    }
    return await writeDurably(path, blob.bytes, this.#temporary);
  }

  /** Writes something new, syncs it and reads it: does the disk do its work for others than the one file that failed? */
  async probe(): Promise<void> {
    const path = join(this.#temporary, `probe-${randomBytes(12).toString('hex')}`);
    const written = randomBytes(PROBE_BYTES);
    try {
      const handle = await open(path, 'wx+');
      try {
        await handle.writeFile(written);
        await handle.sync();
        const { buffer } = await handle.read(Buffer.alloc(PROBE_BYTES), 0, PROBE_BYTES, 0);
        if (!buffer.equals(written)) throw new Error('it gives other bytes than were written');
      } finally {
        await handle.close();
      }
    } finally {
      await rm(path, { force: true });
    }
  }

  async #isSame(blob: VerifiedBlob): Promise<boolean> {
    try {
      const there = await this.get(blob, new AbortController().signal);
      return there === null || Buffer.compare(there.bytes, blob.bytes) === 0;
    } catch {
      // An unreadable file counts as different.
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

  /** Opens a blob's file for sending it in parts; the caller closes the file. */
  openFile(name: ContentName): Promise<OpenBlobFile | null> {
    return OpenBlobFile.open(this.#path(name));
  }

  async stat(name: ContentName): Promise<{ readonly sizeBytes: number } | null> {
    try {
      const found = await stat(this.#path(name));
      return { sizeBytes: found.size };
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    }
  }

  /** A folder that cannot be read keeps none of the others from being listed; what is wrong with it is thrown at the end. */
  async *list(signal: AbortSignal): AsyncIterable<ListedBlob> {
    let failure: { readonly error: unknown } | null = null;
    for (const hashType of HASH_TYPES) {
      for (const prefix of await prefixFoldersIn(join(this.#root, hashType))) {
        try {
          for await (const name of namesIn(join(this.#root, hashType, prefix))) {
            signal.throwIfAborted();
            const found = await this.#listed({ hashType, versionHash: parseVersionHash(name) });
            if (found !== null) yield found;
          }
        } catch (error) {
          signal.throwIfAborted();
          failure ??= { error };
        }
      }
    }
    if (failure !== null) throw failure.error;
  }

  /** A file whose size is unreadable is listed without a size; reading it then gives the reason. */
  async #listed({ hashType, versionHash }: ContentName): Promise<ListedBlob | null> {
    try {
      const found = await this.stat({ hashType, versionHash });
      return found === null ? null : { hashType, versionHash, ...found };
    } catch {
      return { hashType, versionHash, sizeBytes: 0 };
    }
  }

  async delete(name: ContentName): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  /** Deletes the blob and its copies kept aside. Returns false when there was nothing. */
  async purge(name: ContentName): Promise<boolean> {
    const isThere = (await this.stat(name)) !== null;
    await removeDurably(this.#path(name));
    return (await this.#damaged.remove(below(name))) || isThere;
  }
}

async function* namesIn(folder: string): AsyncIterable<string> {
  for await (const entry of await opendir(folder)) {
    if (entry.isFile() && /^[0-9a-f]{64}$/.test(entry.name)) yield entry.name;
  }
}

function below({ hashType, versionHash }: ContentName): string {
  return join(hashType, versionHash);
}

/** Other files in this folder (a desktop's own files, `lost+found`) are not Holdfast's. */
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
