import { type BlockHash, parseBlockHash } from '../core/blob/ids.ts';
import { ByteReader } from './byte-reader.ts';
import { doubleSha256 } from './double-sha256.ts';
import { toDisplayHex } from './hash-bytes.ts';
import { bytesOfHex } from './hex-field.ts';
import { type MergeMining, readMergeMining } from './merge-mining.ts';

/** Length of the header part that the block's hash covers. */
export const HEADER_BYTES = 80;
/** The version bit that says: merge-mining data follow (`VERSION_AUXPOW` in the node's `pureheader.h`). */
const MERGE_MINED = 0x100;
/** The version bit that says: a vector of execution-layer data follows the transactions (`VERSION_NEVM`, same file). */
const WITH_EXECUTION_DATA = 0x80;

/**
 * The 80 bytes that make a block. Reading a header does not check its work: `checkHeaderWork` does, and says what a forged
 * header costs. What decides is the chain: a run of headers (`checkHeaderRun`), or a node's branch and its ChainLocks
 * (`checkHeaderOnChain`).
 */
export interface BlockHeader {
  /** Double SHA-256 of the 80 bytes; merge-mining data are not in it. */
  readonly hash: BlockHash;
  /** Signed, as in the header. */
  readonly version: number;
  /** 64 zeros: a genesis block. */
  readonly previousHash: BlockHash;
  /** 32 bytes in the order of the wire. */
  readonly merkleRoot: Uint8Array;
  readonly timeSeconds: number;
  readonly bits: number;
  readonly nonce: number;
  /** The 80 bytes. */
  readonly raw: Uint8Array;
}

/** A header and what travels with it. */
export interface FullHeader {
  readonly header: BlockHeader;
  /** null: it is not merge-mined, or came without. */
  readonly mergeMining: MergeMining | null;
  /** The 80 bytes and the merge-mining data. */
  readonly raw: Uint8Array;
}

/** Reads 80 bytes. */
export function readHeader(reader: ByteReader): BlockHeader {
  const raw = reader.take(HEADER_BYTES, 'a block header');
  const fields = new ByteReader(raw);
  const version = fields.i32('the version');
  const previous = fields.take(32, 'the previous hash');
  const merkleRoot = fields.take(32, 'the Merkle root');
  return {
    hash: parseBlockHash(toDisplayHex(doubleSha256(raw))),
    version,
    previousHash: parseBlockHash(toDisplayHex(previous)),
    merkleRoot,
    timeSeconds: fields.u32('the time'),
    bits: fields.u32('the bits'),
    nonce: fields.u32('the nonce'),
    raw,
  };
}

/** Reads 80 bytes and, where the version says so, the merge-mining data behind them. */
export function readFullHeader(reader: ByteReader): FullHeader {
  const start = reader.offset;
  const header = readHeader(reader);
  const mergeMining = isMergeMined(header) ? readMergeMining(reader) : null;
  return { header, mergeMining, raw: reader.bytes.subarray(start, reader.offset) };
}

/**
 * A header as `getblockheader` or an occurrence record gives it: hex of 80 bytes, with or without merge-mining data.
 * @throws VerifyError
 */
export function parseHeaderHex(hex: string): FullHeader {
  return parseHeader(bytesOfHex(hex, 'A block header'));
}

/** @throws VerifyError */
export function parseHeader(bytes: Uint8Array): FullHeader {
  const reader = new ByteReader(bytes);
  if (bytes.length === HEADER_BYTES) {
    const header = readHeader(reader);
    return { header, mergeMining: null, raw: bytes };
  }
  const full = readFullHeader(reader);
  reader.end('the block header');
  return full;
}

export function isMergeMined({ version }: Pick<BlockHeader, 'version'>): boolean {
  return (version & MERGE_MINED) !== 0;
}

export function hasExecutionData({ version }: Pick<BlockHeader, 'version'>): boolean {
  return (version & WITH_EXECUTION_DATA) !== 0;
}
