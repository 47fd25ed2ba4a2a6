import { createHash } from 'node:crypto';
import { createWriter, headerLength } from '@ipld/car/buffer-writer';
import { encode } from '@ipld/dag-cbor';
import { varint } from 'multiformats';
import { CID } from 'multiformats/cid';
import { create as createDigest } from 'multiformats/hashes/digest';

/** Codes of the multicodec table: https://github.com/multiformats/multicodec/blob/master/table.csv */
const DAG_CBOR = 0x71;
const RAW = 0x55;
const SHA2_256 = 0x12;

/** Bytes under the CID that follows from them. */
export interface CarBlock {
  readonly cid: CID;
  readonly bytes: Uint8Array;
}

/** A node of the bundle itself, in the one encoding that DAG-CBOR allows. */
export function nodeBlock(value: unknown): CarBlock {
  const bytes = encode(value);
  return { cid: cidOf(DAG_CBOR, bytes), bytes };
}

/** A document: an occurrence record. */
export function documentBlock(text: string): CarBlock {
  const bytes = new TextEncoder().encode(text);
  return { cid: cidOf(RAW, bytes), bytes };
}

export function isNode(cid: CID): boolean {
  return cid.code === DAG_CBOR && cid.multihash.code === SHA2_256;
}

export function isDocument(cid: CID): boolean {
  return cid.code === RAW && cid.multihash.code === SHA2_256;
}

/** Reports whether the bytes hash to their CID, for a CID that `isNode` or `isDocument` accepts. */
export function isWhole({ cid, bytes }: CarBlock): boolean {
  return cidOf(cid.code, bytes).equals(cid);
}

/** Header of a bundle. */
export function carHeader(root: CID): Uint8Array {
  const roots = [root];
  return createWriter(new ArrayBuffer(headerLength({ roots })), { roots }).close();
}

/** Header of a block's section in a bundle. */
export function sectionHead(cid: CID, sizeBytes: number): Uint8Array {
  const length = cid.bytes.length + sizeBytes;
  const head = new Uint8Array(varint.encodingLength(length) + cid.bytes.length);
  varint.encodeTo(length, head);
  head.set(cid.bytes, head.length - cid.bytes.length);
  return head;
}

function cidOf(code: number, bytes: Uint8Array): CID {
  return CID.createV1(code, createDigest(SHA2_256, createHash('sha256').update(bytes).digest()));
}
