import { Parser, type ReadEntry } from 'tar';
import { BODY_LIMIT_BYTES } from '../backfill/source/candidates.ts';
import { clauseOf } from '../core/blob/errors.ts';
import type { ByteStream } from './byte-stream.ts';
import { type Part, tooLarge } from './part.ts';

/** A name in a tarball is never a path here, so that a long one has no use. */
const MAX_META_BYTES = 65_536;
const FILES = new Set(['File', 'OldFile', 'ContiguousFile']);
const FOLDERS = new Set(['Directory', 'GNUDumpDir']);

/**
 * The files in a tarball, one after the other. Nothing is unpacked: a name is only shown, a link is not followed, and of a
 * file that is longer than any blob no byte is kept.
 */
export async function* tarParts(path: string, stream: ByteStream): AsyncGenerator<Part> {
  const found: Part[] = [];
  let isDamaged = false;
  let isBroken = false;
  // Once: in garbage every 512 bytes are a damaged entry.
  const tellDamage = (error: unknown) => {
    if (!isDamaged) found.push({ kind: 'unusable', path, why: `The tarball is damaged: ${clauseOf(error)}.` });
    isDamaged = true;
  };
  const parser = new Parser({ maxMetaEntrySize: MAX_META_BYTES });
  parser.on('entry', (entry: ReadEntry) => collect(path, entry, found));
  parser.on('ignoredEntry', (entry: ReadEntry) => found.push(notAFile(path, entry)));
  parser.on('warn', (_code: string, message: unknown) => tellDamage(message));
  parser.on('error', (error: unknown) => {
    isBroken = true;
    tellDamage(error);
  });
  for await (const chunk of stream) {
    // The listener takes every entry within this call.
    parser.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    yield* found.splice(0);
    if (isBroken) return;
  }
  parser.end();
  yield* found.splice(0);
}

function collect(path: string, entry: ReadEntry, found: Part[]): void {
  const name = `${path}: ${entry.path}`;
  if (FOLDERS.has(entry.type)) {
    entry.resume();
    return;
  }
  if (!FILES.has(entry.type) || entry.size > BODY_LIMIT_BYTES) {
    found.push(FILES.has(entry.type) ? tooLarge(name) : notAFile(path, entry));
    entry.resume();
    return;
  }
  const bytes = new Uint8Array(entry.size);
  let length = 0;
  entry.on('data', (chunk) => {
    bytes.set(chunk, length);
    length += chunk.length;
  });
  // The parser ends what is cut off as well, and tells the damage besides.
  entry.on('end', () => {
    if (length === bytes.length) found.push({ kind: 'bytes', path: name, bytes });
  });
}

function notAFile(path: string, { path: name, type }: ReadEntry): Part {
  return { kind: 'unusable', path: `${path}: ${name}`, why: `It is no file in the tarball, but a ${type}.` };
}
