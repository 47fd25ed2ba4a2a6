import { asyncIterableReader, bytesReader, readHeader } from '@ipld/car/decoder';
import { CID } from 'multiformats/cid';
import { contentOfCid } from '../core/blob/cid.ts';
import type { ContentName } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { MAX_RECORD_BYTES } from '../storage/record-path.ts';
import type { ByteStream } from './byte-stream.ts';
import { isDocument, isNode, isWhole } from './car-block.ts';
import { lengthOf, MAX_VARINT_BYTES } from './car-length.ts';
import { type BundlePart, decodeManifest, decodePart, type Manifest } from './manifest.ts';

/** What a CARv1 holds, one block after the other. The bytes of a blob are still to be hashed; all others were. */
export type CarPart =
  | { readonly kind: 'manifest'; readonly path: string; readonly cid: CID; readonly manifest: Manifest }
  | { readonly kind: 'part'; readonly path: string; readonly cid: CID; readonly part: BundlePart }
  | { readonly kind: 'record'; readonly path: string; readonly cid: CID; readonly text: string }
  | {
      readonly kind: 'named';
      readonly path: string;
      readonly cid: CID;
      readonly name: ContentName;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'unusable'; readonly path: string; readonly why: string };

const MAX_HEADER_BYTES = 65_536;
const MAX_CID_BYTES = 256;
/** A manifest, a part or a record: a part is far smaller. */
const MAX_SECTION_BYTES = MAX_RECORD_BYTES + MAX_CID_BYTES;

type BytesReader = ReturnType<typeof asyncIterableReader>;

/**
 * The blocks of a CARv1. One that is damaged or of no use here is named, and the others are given all the same; where it cannot be
 * told any more where a block begins, the rest is named as one.
 */
export async function* carParts(path: string, stream: ByteStream): AsyncGenerator<CarPart> {
  const reader = asyncIterableReader(stream);
  const root = await rootOf(reader);
  if (typeof root === 'string') {
    yield { kind: 'unusable', path, why: root };
    return;
  }
  for (;;) {
    const begin = reader.pos;
    const length = lengthOf(await reader.upTo(MAX_VARINT_BYTES));
    if (length === null) {
      if ((await reader.upTo(1)).length > 0) yield lost(path, begin, 'no length of a block stands there');
      return;
    }
    if (length.value > MAX_SECTION_BYTES || length.value < 1) {
      yield lost(path, begin, `a block of ${length.value} bytes is said to stand there`);
      return;
    }
    const whole = await reader.upTo(length.size + length.value);
    if (whole.length < length.size + length.value) {
      yield lost(path, begin, 'it ends inside of a block');
      return;
    }
    // Memory of its own: it is handed on, and what is read next must not change it.
    const section = whole.slice(length.size, length.size + length.value);
    reader.seek(length.size + length.value);
    yield blockOf(path, section, begin, root);
  }
}

function blockOf(path: string, section: Uint8Array, begin: number, root: CID): CarPart {
  const found = cidIn(section);
  const at = `${path}: ${found === null ? `byte ${begin}` : found.cid}`;
  if (found === null) return { kind: 'unusable', path: at, why: 'It is named by no CID.' };
  const { cid, size } = found;
  const name = contentOfCid(cid);
  if (name !== null && section.length - size <= MAX_BLOB_BYTES) {
    // A view on memory that nobody else has could not be handed to another thread.
    return { kind: 'named', path: at, cid, name, bytes: section.slice(size) };
  }
  const bytes = section.subarray(size);
  if (!isNode(cid) && !isDocument(cid))
    return { kind: 'unusable', path: at, why: 'It is neither a blob nor a record.' };
  if (!isWhole({ cid, bytes })) return { kind: 'unusable', path: at, why: 'Its bytes are not what its CID says.' };
  if (isDocument(cid)) return { kind: 'record', path: at, cid, text: new TextDecoder().decode(bytes) };
  const manifest = cid.equals(root) ? decodeManifest(bytes) : null;
  if (manifest !== null) return { kind: 'manifest', path: at, cid, manifest };
  const part = decodePart(bytes);
  if (part !== null) return { kind: 'part', path: at, cid, part };
  return { kind: 'unusable', path: at, why: 'It is no node of a bundle.' };
}

/** Or why there is none. */
async function rootOf(reader: BytesReader): Promise<CID | string> {
  const length = lengthOf(await reader.upTo(MAX_VARINT_BYTES));
  if (length === null || length.value > MAX_HEADER_BYTES) return 'It does not begin as a CARv1 does.';
  try {
    const header = await reader.exactly(length.size + length.value, true);
    const { version, roots } = await readHeader(bytesReader(header), 1);
    const [root] = roots;
    if (version !== 1 || root === undefined) return 'Its header names no root.';
    return CID.decode(root.bytes);
  } catch {
    return 'Its header is damaged.';
  }
}

function cidIn(section: Uint8Array): { readonly cid: CID; readonly size: number } | null {
  try {
    const [, rest] = CID.decodeFirst(section.subarray(0, Math.min(section.length, MAX_CID_BYTES)));
    const size = Math.min(section.length, MAX_CID_BYTES) - rest.length;
    // Memory of its own, for the section may be long and its name is kept.
    return { cid: CID.decode(section.slice(0, size)), size };
  } catch {
    return null;
  }
}

function lost(path: string, begin: number, why: string): CarPart {
  return { kind: 'unusable', path, why: `From byte ${begin} on it cannot be read: ${why}.` };
}
