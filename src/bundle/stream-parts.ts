import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BODY_LIMIT_BYTES } from '../backfill/source/candidates.ts';
import { clauseOf } from '../core/blob/errors.ts';
import { type ByteStream, behind, type Head, readHead } from './byte-stream.ts';
import { looksLikeCar } from './car-length.ts';
import type { Manifest } from './manifest.ts';
import { type Part, tooLarge } from './part.ts';

/** The consumer's judgement of parts while they are read. */
export interface StreamJudge {
  /** Reports whether the bytes are an expected blob, whatever else they look like. */
  isKnown(bytes: Uint8Array): Promise<boolean>;
  /** Reason to refuse a bundle with this manifest; null to read on. */
  refusal(manifest: Manifest): string | null;
}

/**
 * Parts of a stream of bytes: one file, or the files of a tarball, also packed with gzip. The bytes decide, never the
 * name; a blob that looks like a tarball and is known by its hash is that blob.
 */
export async function* streamParts(
  path: string,
  stream: ByteStream,
  judge: StreamJudge,
  mayUnpack = true,
): AsyncGenerator<Part> {
  const head = await readHead(stream, BODY_LIMIT_BYTES);
  const form = formOf(head.bytes);
  const isWhole = head.rest === null;
  if (form === 'file' || (isWhole && (await judge.isKnown(head.bytes.slice())))) {
    yield isWhole ? { kind: 'bytes', path, bytes: head.bytes } : tooLarge(path);
  } else if (form === 'car') yield* bundleParts(path, head, judge);
  else if (form === 'tar') {
    const { tarParts } = await import('./tar-parts.ts');
    yield* tarParts(path, behind(head));
  } else if (mayUnpack) yield* unpacked(path, head, judge);
  else yield { kind: 'unusable', path, why: 'It is packed with gzip twice.' };
}

async function* unpacked(path: string, head: Head, judge: StreamJudge): AsyncGenerator<Part> {
  // Takes from the source no faster than its own bytes are taken.
  const gunzip = createGunzip();
  const source = Readable.from(behind(head), { objectMode: false });
  source.on('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    yield* streamParts(path, gunzip, judge, false);
  } catch (error) {
    if (source.errored !== null) throw error;
    yield { kind: 'unusable', path, why: `It is damaged: ${clauseOf(error)}.` };
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function* bundleParts(path: string, head: Head, judge: StreamJudge): AsyncGenerator<Part> {
  const { carParts } = await import('./car-parts.ts');
  for await (const part of carParts(path, behind(head))) {
    // The blocks of a part repeat its list.
    if (part.kind === 'part') continue;
    yield part;
    const refusal = part.kind === 'manifest' ? judge.refusal(part.manifest) : null;
    if (refusal === null) continue;
    yield { kind: 'unusable', path, why: refusal };
    return;
  }
}

const USTAR = [0x75, 0x73, 0x74, 0x61, 0x72];
const USTAR_AT = 257;

function formOf(head: Uint8Array): 'file' | 'tar' | 'gzip' | 'car' {
  if (looksLikeCar(head)) return 'car';
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  return USTAR.every((byte, index) => head[USTAR_AT + index] === byte) ? 'tar' : 'file';
}
