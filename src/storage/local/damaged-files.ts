import { constants } from 'node:fs';
import { copyFile, link, lstat, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../../core/blob/errors.ts';
import { makeDurableFolder, syncFolder } from './durable-file.ts';

/** A disk that goes bad as a whole must not fill itself with what it spoilt. */
const MAX_BYTES = 268_435_456;

/**
 * Keeps wrong bytes that were found under the name of a blob, for a closer look. The folder follows from the blob's
 * name.
 */
export class DamagedFiles {
  readonly #root: string;
  #bytes: number | null = null;

  /** On the volume of the files that it keeps. */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Gives the file a second name here, so that the first is never absent. null: nothing is there, or here is no more room.
   * A folder, FIFO or the like, which can have no second name and which no file can replace, is moved here.
   */
  async keep(path: string, below: string): Promise<string | null> {
    const found = await lstat(path, { bigint: true }).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return null;
      throw error;
    });
    if (found === null) return null;
    const folder = join(this.#root, below);
    const kept = join(folder, `${found.mtimeNs}-${found.size}`);
    if (!found.isFile()) {
      await makeDurableFolder(folder);
      await rename(path, kept);
      return kept;
    }
    this.#bytes ??= await bytesBelow(this.#root);
    if (this.#bytes + Number(found.size) > MAX_BYTES) return null;
    await makeDurableFolder(folder);
    try {
      await linkOrCopy(path, kept);
      this.#bytes += Number(found.size);
    } catch (error) {
      // The same damage again is the same copy.
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    return kept;
  }

  /** Deletes all that was kept below this. false: there was nothing. */
  async remove(below: string): Promise<boolean> {
    const folder = join(this.#root, below);
    try {
      await rm(folder, { recursive: true });
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    }
    await syncFolder(dirname(folder));
    this.#bytes = null;
    return true;
  }
}

/** Some network volumes know no second names. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']);

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!NO_LINKS.has(codeOf(error) ?? '')) throw error;
    await copyFile(from, to, constants.COPYFILE_EXCL);
  }
}

async function bytesBelow(root: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const entry of await opendir(root, { recursive: true })) {
      if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  return bytes;
}
