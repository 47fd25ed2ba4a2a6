import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { codeOf, messageOf } from '../blob/errors.ts';
import type { ContentName } from '../blob/ids.ts';
import { hashTypeCode } from '../sqlite/hash-type-code.ts';
import type { ByteSource, SourceAnswer, ToldSize } from './byte-source.ts';
import { BODY_LIMIT_BYTES, candidatesOf } from './candidates.ts';
import { SourceError } from './errors.ts';

const bytesRow = z.instanceof(Buffer);

interface Rows {
  readonly database: Database.Database;
  readonly select: Database.Statement;
}

/**
 * A folder with blobs in it: a data folder of ours (its files and its small rows), or files named by their version hash,
 * raw or as hex text, in the folder itself or as a bucket is laid out. Nothing is written to it, and no lock is taken.
 */
export class FolderSource implements ByteSource {
  readonly name: string;
  readonly #path: string;
  readonly #rows: Rows | null;

  private constructor(path: string, rows: Rows | null) {
    this.name = `dir ${path}`;
    this.#path = path;
    this.#rows = rows;
  }

  /** @throws SourceError `source/unreadable` when there is no such folder, or it cannot be read. */
  static async open(path: string): Promise<FolderSource> {
    await assertFolder(path);
    const small = join(path, 'blobs', 'small.sqlite');
    if (!(await isThere(small))) return new FolderSource(path, null);
    try {
      const database = new Database(small, { readonly: true, fileMustExist: true });
      const select = database.prepare('SELECT bytes FROM blob WHERE version_hash = ? AND hash_type = ?').pluck();
      return new FolderSource(path, { database, select });
    } catch (cause) {
      throw unreadable(small, cause);
    }
  }

  async find(name: ContentName, signal: AbortSignal): Promise<SourceAnswer> {
    const row = this.#row(name);
    const candidates = row === null ? [] : [row];
    for (const file of this.#files(name)) {
      signal.throwIfAborted();
      const body = await readUpTo(file, BODY_LIMIT_BYTES);
      if (body !== null) candidates.push(...candidatesOf(body));
    }
    if (candidates.length > 0) return { kind: 'bytes', candidates };
    // A folder that was unmounted has nothing either, and has not said so.
    await assertFolder(this.#path);
    return { kind: 'absent' };
  }

  async size(name: ContentName, signal: AbortSignal): Promise<ToldSize> {
    const answer = await this.find(name, signal);
    return answer.kind === 'bytes' ? (answer.candidates[0]?.length ?? null) : null;
  }

  async close(): Promise<void> {
    this.#rows?.database.close();
  }

  #row({ hashType, versionHash }: ContentName): Uint8Array | null {
    if (this.#rows === null) return null;
    try {
      const found = this.#rows.select.get(Buffer.from(versionHash, 'hex'), hashTypeCode(hashType));
      return found === undefined ? null : bytesRow.parse(found);
    } catch (cause) {
      throw unreadable(this.#path, cause);
    }
  }

  #files({ hashType, versionHash }: ContentName): string[] {
    const shelf = versionHash.slice(0, 2);
    return [
      join(this.#path, 'blobs', hashType, shelf, versionHash),
      join(this.#path, 'blobs', hashType, versionHash),
      join(this.#path, hashType, shelf, versionHash),
      join(this.#path, hashType, versionHash),
      join(this.#path, versionHash),
    ];
  }
}

async function assertFolder(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) return;
  } catch (cause) {
    throw unreadable(path, cause);
  }
  throw unreadable(path, new Error('it is no folder'));
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (cause) {
    if (isAbsence(cause)) return false;
    throw unreadable(path, cause);
  }
}

/** null: there is no such file. */
async function readUpTo(path: string, limitBytes: number): Promise<Uint8Array | null> {
  try {
    const handle = await open(path, 'r');
    try {
      const { size } = await handle.stat();
      const bytes = new Uint8Array(Math.min(size, limitBytes));
      let read = 0;
      while (read < bytes.length) {
        const { bytesRead } = await handle.read(bytes, read, bytes.length - read, read);
        if (bytesRead === 0) break;
        read += bytesRead;
      }
      return bytes.subarray(0, read);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    if (isAbsence(cause)) return null;
    throw unreadable(path, cause);
  }
}

function isAbsence(cause: unknown): boolean {
  const code = codeOf(cause);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function unreadable(path: string, cause: unknown): SourceError {
  if (cause instanceof SourceError) return cause;
  return new SourceError('source/unreadable', `${path} cannot be read: ${messageOf(cause)}.`, {
    details: { path, systemCode: codeOf(cause) },
    retryable: false,
    hint: 'See that the folder is there and may be read; what could not be read is not absent.',
    cause,
  });
}
