import { constants } from 'node:fs';
import { type FileHandle, open, rename, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { clauseOf, codeOf } from '../core/blob/errors.ts';
import { syncFolder } from '../storage/local/durable-file.ts';
import { assertRegular } from '../storage/local/regular-file.ts';
import type { BundlePlace, BundleTarget } from './bundle-target.ts';
import { BundleError, exists } from './errors.ts';

/**
 * The name can be guessed, and the folder may be open to others: a link that they place there is not followed to
 * another file.
 */
const BEGUN_FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Before a write, what comes in small pieces is gathered. */
const GATHERED_BYTES = 1_048_576;

/** Bytes that an archive leaves free on the volume of its data folder, so that its catalog goes on. */
export interface VolumeReserve {
  readonly path: string;
  reservedBytes(): Promise<number>;
}

/**
 * The file of a bundle while it is written, under a name that says that it is not whole. What an earlier run left there is
 * compared section by section before more is written behind it.
 */
export class BundleFile implements BundlePlace, BundleTarget {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #reserve: VolumeReserve;
  /** Size of what an earlier run left; null: it was looked through to its last right byte. */
  #begunBytes: number | null;
  #keptBytes = 0;
  #at = 0;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;

  private constructor(path: string, handle: FileHandle, begunBytes: number, reserve: VolumeReserve) {
    this.path = path;
    this.#handle = handle;
    this.#reserve = reserve;
    this.#begunBytes = begunBytes;
  }

  /** @throws BundleError `bundle/exists`, `bundle/unwritable` */
  static async open(path: string, reserve: VolumeReserve): Promise<BundleFile> {
    if (await isThere(path)) throw exists(path);
    const begun = partOf(path);
    try {
      const handle = await open(begun, BEGUN_FLAGS);
      try {
        const found = await handle.stat();
        assertRegular(found, begun);
        return new BundleFile(path, handle, found.size, reserve);
      } catch (cause) {
        await handle.close();
        throw cause;
      }
    } catch (cause) {
      throw unwritable(begun, cause);
    }
  }

  /** Bytes that an interruption leaves: written, about to be, or found to be right. */
  get sizeBytes(): number {
    return this.#at + this.#gatheredBytes;
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** @throws BundleError `bundle/unwritable`, before a byte is written that the volume has no room for */
  async begin(sizeBytes: number): Promise<BundleTarget> {
    await this.#writing(() => this.#assertRoom(sizeBytes - (this.#begunBytes ?? 0)));
    return this;
  }

  async passesOver(length: number, isRight: (bytes: Uint8Array) => boolean): Promise<boolean> {
    if (this.#begunBytes === null) return false;
    const bytes = await this.#begun(length, this.#begunBytes);
    if (bytes === null || !isRight(bytes)) {
      await this.#cut();
      return false;
    }
    this.#at += length;
    this.#keptBytes += length;
    return true;
  }

  /** null: the earlier run did not come so far. */
  async #begun(length: number, begunBytes: number): Promise<Uint8Array | null> {
    if (this.#at + length > begunBytes) return null;
    const bytes = new Uint8Array(length);
    const { bytesRead } = await this.#handle.read(bytes, 0, length, this.#at);
    return bytesRead === length ? bytes : null;
  }

  /** Forgets what an earlier run left behind here. */
  async #cut(): Promise<void> {
    this.#begunBytes = null;
    await this.#writing(() => this.#handle.truncate(this.#at));
  }

  async write(...chunks: readonly Uint8Array[]): Promise<void> {
    if (this.#begunBytes !== null) await this.#cut();
    for (const chunk of chunks) {
      this.#gathered.push(chunk);
      this.#gatheredBytes += chunk.length;
    }
    if (this.#gatheredBytes >= GATHERED_BYTES) await this.#flush();
  }

  /** Makes the file durable under its own name. */
  async finish(): Promise<void> {
    if (this.#begunBytes !== null) await this.#cut();
    await this.#flush();
    // An export can take hours, during which another process may have created the file.
    if (await isThere(this.path)) throw exists(this.path);
    await this.#writing(async () => {
      await this.#handle.sync();
      await rename(partOf(this.path), this.path);
      await syncFolder(dirname(this.path));
    });
  }

  /** Written bytes stay for another run. */
  async close(): Promise<void> {
    try {
      await this.#flush();
    } finally {
      await this.#handle.close();
    }
  }

  async #flush(): Promise<void> {
    const gathered = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    if (gathered.length === 0) return;
    await this.#writing(async () => {
      // Others write to this volume as well while a bundle is written, which can take hours.
      await this.#assertRoom(gathered.reduce((sum, { length }) => sum + length, 0));
      for (let left = gathered; left.length > 0; ) {
        const { bytesWritten } = await this.#handle.writev(left, this.#at);
        this.#at += bytesWritten;
        left = behind(left, bytesWritten);
      }
    });
  }

  async #assertRoom(neededBytes: number): Promise<void> {
    const path = partOf(this.path);
    const folder = dirname(path);
    const [volume, its, data] = await Promise.all([statfs(folder), stat(folder), stat(this.#reserve.path)]);
    const reservedBytes = its.dev === data.dev ? await this.#reserve.reservedBytes() : 0;
    const freeBytes = Math.max(0, volume.bavail * volume.bsize - reservedBytes);
    // Some file systems do not say how large they are.
    if (volume.blocks > 0 && neededBytes > freeBytes) throw noRoom(path, neededBytes, freeBytes);
  }

  async #writing(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      throw unwritable(partOf(this.path), cause);
    }
  }
}

/** The name of a bundle that is not whole. */
export function partOf(path: string): string {
  return `${path}.part`;
}

/** Remainder of the chunks after the first `bytes` bytes. */
function behind(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes;
  return chunks.flatMap((chunk) => {
    const skipped = Math.min(skip, chunk.length);
    skip -= skipped;
    return skipped === chunk.length ? [] : [chunk.subarray(skipped)];
  });
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return false;
    throw unwritable(path, cause);
  }
}

function noRoom(path: string, neededBytes: number, freeBytes: number): BundleError {
  const needed = Math.ceil(neededBytes / 1_048_576).toLocaleString('en');
  const free = Math.floor(freeBytes / 1_048_576).toLocaleString('en');
  const message = `${path} cannot be written: it needs ${needed} MiB more, and the volume can give ${free} MiB.`;
  return new BundleError('bundle/unwritable', message, {
    details: { path, neededBytes, freeBytes },
    retryable: true,
    hint: `Name a place on another volume, give this one more room, or export fewer blocks. The archive keeps the room that its catalog needs. Delete ${path} to have its room back.`,
  });
}

function unwritable(path: string, cause: unknown): BundleError {
  if (cause instanceof BundleError) return cause;
  return new BundleError('bundle/unwritable', `${path} cannot be written: ${clauseOf(cause)}.`, {
    details: { path, systemCode: codeOf(cause) },
    retryable: true,
    hint: 'See that the folder is there, may be written, and has room; beside a daemon it is the daemon that writes. Type the command again: it goes on where the file ends.',
    cause,
  });
}
