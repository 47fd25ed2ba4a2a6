import { bytesReader, readHeader } from '@ipld/car/decoder';
import { CID } from 'multiformats/cid';
import { contentOfCid } from '../core/blob/cid.ts';
import type { ContentName } from '../core/blob/ids.ts';
import { MAX_BLOB_BYTES } from '../core/blob/limits.ts';
import { MAX_RECORD_BYTES } from '../storage/record-path.ts';
import { type ByteStream, StreamReader } from './byte-stream.ts';
import { isDocument, isNode, isWhole } from './car-block.ts';
import { lengthOf, MAX_VARINT_BYTES } from './car-length.ts';
import { type BundlePart, decodeManifest, decodePart, type Manifest } from './manifest.ts';

/** Contents of a CARv1, one block after the other. The bytes of a blob are not hashed yet; all others are. */
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

/**
 * The blocks of a CARv1. One that is damaged or of no use here is named, and the others are given all the same; where it cannot be
 * told any more where a block begins, the rest is named as one.
 */
export async function* carParts(path: string, stream: ByteStream): AsyncGenerator<CarPart> {
  const reader = new StreamReader(stream);
  const root = await rootOf(reader);
  if (typeof root === 'string') {
    yield { kind: 'unusable', path, why: root };
    return;
  }
  for (;;) {
    const begin = reader.position;
    const head = await reader.peek(MAX_VARINT_BYTES + MAX_CID_BYTES);
    if (head.length === 0) return;
    const length = lengthOf(head);
    if (length === null || length.value > MAX_SECTION_BYTES || length.value < 1) {
      const what = length === null ? 'no length of a block' : `a block of ${length.value} bytes`;
      yield lost(path, begin, `${what} is said to stand there`);
      return;
    }
    const cid = cidIn(head.subarray(length.size, length.size + length.value));
    const cidBytes = cid?.bytes.length ?? 0;
    await reader.take(length.size + cidBytes);
    const bytes = await reader.take(length.value - cidBytes);
    if (bytes === null) {
      yield lost(path, begin, 'it ends inside of a block');
      return;
    }
    if (cid === null) yield { kind: 'unusable', path: `${path}: byte ${begin}`, why: 'It is named by no CID.' };
    else yield blockOf(path, cid, bytes, root);
  }
}

function blockOf(path: string, cid: CID, bytes: Uint8Array, root: CID): CarPart {
  const at = `${path}: ${cid}`;
  const name = contentOfCid(cid);
  if (name !== null && bytes.length <= MAX_BLOB_BYTES) return { kind: 'named', path: at, cid, name, bytes };
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

/** Returns the root, or the reason why there is none. */
async function rootOf(reader: StreamReader): Promise<CID | string> {
  const length = lengthOf(await reader.peek(MAX_VARINT_BYTES));
  if (length === null || length.value > MAX_HEADER_BYTES) return 'It does not begin as a CARv1 does.';
  try {
    const header = await reader.take(length.size + length.value);
    if (header === null) return 'It ends inside of its header.';
    const { version, roots } = await readHeader(bytesReader(header), 1);
    const [root] = roots;
    if (version !== 1 || root === undefined) return 'Its header names no root.';
    return CID.decode(root.bytes);
  } catch {
    return 'Its header is damaged.';
  }
}

/** null: none stands there. */
function cidIn(section: Uint8Array): CID | null {
  try {
    const [cid] = CID.decodeFirst(section.subarray(0, MAX_CID_BYTES));
    return cid;
  } catch {
    return null;
  }
}

function lost(path: string, begin: number, why: string): CarPart {
  return { kind: 'unusable', path, why: `From byte ${begin} on it cannot be read: ${why}.` };
}
