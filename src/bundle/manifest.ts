import { decode } from '@ipld/dag-cbor';
import { CID } from 'multiformats/cid';
import { z } from 'zod';
import { parseBlockHash } from '../core/blob/ids.ts';
import { OCCURRENCE_BYTES } from '../verify/inventory.ts';

/**
 * A bundle is a CARv1 whose root is the manifest. Each part follows: a node that lists some blocks, then the occurrence
 * records in chain order, and each blob at its first occurrence in the range. The manifest links the parts, and a part
 * its records and blobs, so that pinning the root keeps all of them. Two archives with the same holdings at the same
 * heights write the same bytes.
 */
export const BUNDLE_FORMAT = 'holdfast-bundle';
export const BUNDLE_VERSION = 1;
/** A manifest stays below the largest block that IPFS passes on. */
export const MAX_PARTS = 20_000;
/** A part ends with the block that brings it to so many occurrences. */
export const PART_OCCURRENCES = 1_024;
/** A part also ends at this many bytes of records: an exporter holds them in memory. */
export const PART_RECORD_BYTES = 4_194_304;

const MAX_HEIGHT = 0x7fffffff;
const HASH_BYTES = 32;
const height = z.int().min(0).max(MAX_HEIGHT);
const count = z.int().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const blockHash = digest.transform(parseBlockHash);
const link = z.custom<CID>((value) => CID.asCID(value) !== null).transform((value) => CID.parse(value.toString()));

const manifest = z.strictObject({
  format: z.literal(BUNDLE_FORMAT),
  version: z.literal(BUNDLE_VERSION),
  /** The genesis block. */
  chain: blockHash,
  from: height,
  to: height,
  /** The block at `to`. */
  blockHash,
  /** The answer of `GET /v1/inventory` for this range. */
  inventory: digest,
  counts: z.strictObject({
    missing: count,
    stored: count,
    lost: count,
    withheld: count,
    custom: count,
    'not-archived-by-rule': count,
  }),
  blobs: count,
  blobBytes: count,
  records: count,
  parts: z.array(link).max(MAX_PARTS),
});
export type Manifest = z.output<typeof manifest>;

const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array);
const part = z.strictObject({
  /** Height, hash and occurrences of each block that has any, as `InventoryBlock` has them. */
  blocks: z.array(
    z.tuple([
      height,
      bytes.refine(({ length }) => length === HASH_BYTES),
      bytes.refine(({ length }) => length > 0 && length % OCCURRENCE_BYTES === 0),
    ]),
  ),
  blobs: z.array(link),
  records: z.array(link),
});
export type BundlePart = z.output<typeof part>;

/** null: it is no manifest of a version that is known here. */
export function decodeManifest(encoded: Uint8Array): Manifest | null {
  return decoded(encoded, manifest);
}

/** null: it is no part of a bundle. */
export function decodePart(encoded: Uint8Array): BundlePart | null {
  return decoded(encoded, part);
}

function decoded<T>(encoded: Uint8Array, schema: z.ZodType<T>): T | null {
  try {
    return schema.safeParse(decode(encoded)).data ?? null;
  } catch {
    // Bytes that are not DAG-CBOR are a definite answer too.
    return null;
  }
}
