import { CID } from 'multiformats/cid';
import { create as createDigest } from 'multiformats/hashes/digest';
import { decodeHex, encodeHex } from './hex.ts';
import { type ContentName, type HashType, parseVersionHash } from './ids.ts';

/** Codes of the multicodec table: https://github.com/multiformats/multicodec/blob/master/table.csv */
const RAW = 0x55;
const MULTIHASH_CODES: Readonly<Record<HashType, number>> = { keccak256: 0x1b, blake2s256: 0xb260 };

/**
 * The CID under which any IPFS node knows and verifies this blob: one raw block whose multihash is the version hash. It
 * follows from the version hash alone.
 */
export function blobCid(name: ContentName): CID {
  return CID.createV1(RAW, createDigest(MULTIHASH_CODES[name.hashType], decodeHex(name.versionHash)));
}

/** The blob that a CID names; null for another codec or hash. */
export function contentOfCid(cid: CID): ContentName | null {
  if (cid.version !== 1 || cid.code !== RAW || cid.multihash.digest.length !== 32) return null;
  const hashType = hashTypeOf(cid.multihash.code);
  if (hashType === null) return null;
  return { hashType, versionHash: parseVersionHash(encodeHex(cid.multihash.digest)) };
}

function hashTypeOf(code: number): HashType | null {
  if (code === MULTIHASH_CODES.keccak256) return 'keccak256';
  return code === MULTIHASH_CODES.blake2s256 ? 'blake2s256' : null;
}
