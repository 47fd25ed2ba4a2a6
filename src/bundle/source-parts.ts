import type { Dirent } from 'node:fs';
import { type FileHandle, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { EnvHttpProxyAgent, request } from 'undici';
import { BODY_LIMIT_BYTES } from '../backfill/source/candidates.ts';
import { clauseOf, codeOf } from '../core/blob/errors.ts';
import { lendMemory } from '../core/blob/lent-memory.ts';
import { mayBeOneObject, StorageError } from '../storage/errors.ts';
import { openRegularFile, readRegularFile } from '../storage/local/regular-file.ts';
import type { S3Bucket } from '../storage/s3/s3-bucket.ts';
import { bucketChunks } from './bucket-chunks.ts';
import { BundleError } from './errors.ts';
import type { Part } from './part.ts';
import { type StreamJudge, streamParts } from './stream-parts.ts';

/** Limit of nested folders: deeper ones are a mistake or an attack. */
const MAX_DEPTH = 32;
const CHUNK_BYTES = 1_048_576;
const CONNECT_MS = 10_000;
/** Without a byte for so long, an address is given up. */
const SILENCE_MS = 60_000;

/** Opens the bucket that a text names (`<bucket>[/<prefix>][?backend=<id>]`), over the settings of this process. @throws SourceError, ConfigError */
export type OpenBucket = (text: string) => Promise<S3Bucket>;

export interface PartsOptions {
  readonly openBucket: OpenBucket;
  readonly judge: StreamJudge;
  /** Gives only the files of folders and tarballs that may be records. */
  readonly recordsOnly: boolean;
}

export function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

const BUCKET = 's3=';

/**
 * Everything in a file, a folder and the folders in it, behind an address, or below a prefix of a bucket.
 * @throws BundleError `bundle/unreadable` when the source itself cannot be read, `bundle/bad-answer`; StorageError
 */
export async function* sourceParts(source: string, options: PartsOptions, signal: AbortSignal): AsyncGenerator<Part> {
  if (isUrl(source)) yield* addressParts(new URL(source), options, signal);
  else if (source.startsWith(BUCKET)) yield* bucketParts(source.slice(BUCKET.length), options, signal);
  else if (await isFolder(source)) yield* folderParts(source, options, 0, signal);
  else yield* fileParts(source, options, signal);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

async function* folderParts(
  path: string,
  options: PartsOptions,
  depth: number,
  signal: AbortSignal,
): AsyncGenerator<Part> {
  if (depth > MAX_DEPTH) {
    yield { kind: 'unusable', path, why: `It lies below more than ${MAX_DEPTH} folders.` };
    return;
  }
  // Read as it is gone through: a folder may hold millions.
  for await (const entry of await opendir(path)) {
    signal.throwIfAborted();
    const inside = join(path, entry.name);
    try {
      if (entry.isDirectory()) yield* folderParts(inside, options, depth + 1, signal);
      else if (!options.recordsOnly || mayBeRecord(entry.name)) yield* entryParts(inside, entry, options, signal);
    } catch (error) {
      signal.throwIfAborted();
      yield { kind: 'fault', path: inside, why: `It cannot be read: ${clauseOf(error)}.` };
    }
  }
}

async function* entryParts(
  path: string,
  entry: Dirent,
  options: PartsOptions,
  signal: AbortSignal,
): AsyncGenerator<Part> {
  if (entry.isFile()) yield* fileParts(path, options, signal);
  else if (entry.isSymbolicLink() && !(await isFolder(path))) yield* fileParts(path, options, signal);
  else if (!options.recordsOnly) {
    const what = entry.isSymbolicLink() ? 'a link to a folder, which is not followed' : 'no file';
    yield { kind: 'unusable', path, why: `It is ${what}.` };
  }
}

/** Records are named so by every archive, and tarballs hold them; to look into all other files twice would cost as much as the import. */
function mayBeRecord(name: string): boolean {
  return /\.(?:json|tar|tgz|tar\.gz)$/.test(name);
}

async function* fileParts(path: string, options: PartsOptions, signal: AbortSignal): AsyncGenerator<Part> {
  try {
    const handle = await openRegularFile(path);
    try {
      const { size } = await handle.stat();
      if (size <= BODY_LIMIT_BYTES) {
        const bytes = new Uint8Array(await readRegularFile(path, BODY_LIMIT_BYTES));
        yield* streamParts(path, once(bytes), options.judge);
      } else {
        yield* streamParts(path, fileChunks(handle, signal), options.judge);
      }
    } finally {
      await handle.close();
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw unreadable(path, cause);
  }
}

/** In memory that is used again as soon as its bytes were taken: fresh memory costs as much as reading does. */
async function* fileChunks(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (;;) {
    signal.throwIfAborted();
    const memory = lendMemory(CHUNK_BYTES);
    const { bytesRead } = await handle.read(new Uint8Array(memory), 0, CHUNK_BYTES);
    if (bytesRead === 0) return;
    yield new Uint8Array(memory, 0, bytesRead);
  }
}

async function* addressParts(url: URL, options: PartsOptions, signal: AbortSignal): AsyncGenerator<Part> {
  const shown = `${url.protocol}//${url.host}${url.pathname}`;
  const dispatcher = new EnvHttpProxyAgent({ connectTimeout: CONNECT_MS, allowH2: false });
  try {
    const address = new URL(url);
    const user = decodeURIComponent(address.username);
    const password = decodeURIComponent(address.password);
    address.username = '';
    address.password = '';
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const answer = await request(address, {
      dispatcher,
      signal,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
      headers: user === '' ? {} : { authorization },
    });
    if (answer.statusCode !== 200) throw badAnswer(shown, answer.statusCode);
    yield* streamParts(shown, answer.body, options.judge);
  } catch (cause) {
    signal.throwIfAborted();
    throw cause instanceof BundleError ? cause : unreadable(shown, cause);
  } finally {
    await dispatcher.destroy();
  }
}

/** Bucket and folders, the last name behind them, and the words behind the `?`. */
const OBJECT = /^([^?]*?)(?:\/([^/?]+))?\/?(\?.*)?$/s;

/** The object of this name, or every object below it. */
async function* bucketParts(text: string, options: PartsOptions, signal: AbortSignal): AsyncGenerator<Part> {
  const [, folder = '', name = '', query = ''] = OBJECT.exec(text) ?? [];
  const bucket = await options.openBucket(`${folder}${query}`);
  try {
    let isEmpty = true;
    for await (const { key, sizeBytes } of bucket.list(name, signal)) {
      if (name !== '' && key !== name && !key.startsWith(`${name}/`)) continue;
      // Consoles make one to show a folder.
      if (sizeBytes === 0 && key.endsWith('/')) continue;
      isEmpty = false;
      if (options.recordsOnly && !mayBeRecord(key)) continue;
      const path = `${bucket.where}/${key}`;
      try {
        yield* streamParts(path, bucketChunks(bucket, key, sizeBytes, signal), options.judge);
      } catch (error) {
        signal.throwIfAborted();
        if (!mayBeOneObject(error) && !isOfItAlone(error)) throw error;
        yield { kind: 'fault', path, why: `It cannot be read: ${clauseOf(error)}.` };
      }
    }
    if (isEmpty) throw unreadable(`${bucket.where}/${name}`, new Error('no object is there'));
  } finally {
    bucket.close();
  }
}

/** Others may write the bucket, and its rules may archive: this object went, changed or cannot be read, and the others can. */
function isOfItAlone(error: unknown): error is StorageError {
  return error instanceof StorageError && (error.code === 'storage/conflict' || error.code === 'storage/archived');
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function unreadable(path: string, cause: unknown): BundleError {
  if (cause instanceof BundleError) return cause;
  return new BundleError('bundle/unreadable', `${path} cannot be read: ${clauseOf(cause)}.`, {
    details: { path, systemCode: codeOf(cause) },
    retryable: true,
    hint: 'Name a file, folder or address that holdfast may read; beside a daemon it is the daemon that reads it. What was taken is kept, and not taken again.',
    cause,
  });
}

function badAnswer(address: string, status: number): BundleError {
  return new BundleError('bundle/bad-answer', `${address} answered with status ${status}, not with the bytes.`, {
    details: { address, status },
    retryable: status >= 500,
    hint: 'Name the address of the bytes themselves; a redirect is not followed.',
  });
}
