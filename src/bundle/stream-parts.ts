import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BODY_LIMIT_BYTES } from '../backfill/source/candidates.ts';
import { clauseOf } from '../core/blob/errors.ts';
import { type ByteStream, behind, type Head, readHead } from './byte-stream.ts';
import { type Part, tooLarge } from './part.ts';

/** Is this a blob that somebody asked for, whatever else its bytes look like? */
export type IsKnown = (bytes: Uint8Array) => Promise<boolean>;

/**
 * What a stream of bytes holds: one file, or the files of a tarball, also packed with gzip. The bytes say which, never the
 * name; a blob that looks like a tarball and is known by its hash is that blob.
 */
export async function* streamParts(
  path: string,
  stream: ByteStream,
  isKnown: IsKnown,
  mayUnpack = true,
): AsyncGenerator<Part> {
  const head = await readHead(stream, BODY_LIMIT_BYTES);
  const form = formOf(head.bytes);
  const isWhole = head.rest === null;
  if (form === 'file' || (isWhole && (await isKnown(head.bytes.slice())))) {
    yield isWhole ? { kind: 'bytes', path, bytes: head.bytes } : tooLarge(path);
  } else if (form === 'tar') {
    const { tarParts } = await import('./tar-parts.ts');
    yield* tarParts(path, behind(head));
  } else if (mayUnpack) yield* unpacked(path, head, isKnown);
  else yield { kind: 'unusable', path, why: 'It is packed with gzip twice.' };
}

async function* unpacked(path: string, head: Head, isKnown: IsKnown): AsyncGenerator<Part> {
  // Takes from the source no faster than its own bytes are taken.
  const gunzip = createGunzip();
  const source = Readable.from(behind(head), { objectMode: false });
  source.on('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    yield* streamParts(path, gunzip, isKnown, false);
  } catch (error) {
    if (source.errored !== null) throw error;
    yield { kind: 'unusable', path, why: `It is damaged: ${clauseOf(error)}.` };
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

const USTAR = [0x75, 0x73, 0x74, 0x61, 0x72];
const USTAR_AT = 257;

function formOf(head: Uint8Array): 'file' | 'tar' | 'gzip' {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  return USTAR.every((byte, index) => head[USTAR_AT + index] === byte) ? 'tar' : 'file';
}
