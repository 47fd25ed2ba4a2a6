import type { ByteReader } from './byte-reader.ts';
import { readTransaction, type Transaction } from './transaction.ts';

/**
 * Links a merge-mined block to the parent block whose work it borrows. Parsed here and judged by `checkMergeMining`.
 * The block's hash covers none of it.
 * Format: `CAuxPow` of the node's `src/auxpow.h` (github.com/syscoin/syscoin), the same as Namecoin's and Dogecoin's.
 * It holds the parent's coinbase transaction and 32 bytes of its block's hash (never read, zero since 2019). The branch
 * and index of the coinbase in the parent's Merkle tree follow. The branch and index of this block among the
 * merge-mined chains come next, then the parent's 80-byte header.
 * https://en.bitcoin.it/wiki/Merged_mining_specification
 */
export interface MergeMining {
  readonly coinbase: Transaction;
  readonly coinbaseBlockHash: Uint8Array;
  readonly coinbaseBranch: readonly Uint8Array[];
  readonly coinbaseIndex: number;
  readonly chainBranch: readonly Uint8Array[];
  readonly chainIndex: number;
  /** 80 bytes: of a block of another chain. */
  readonly parentHeader: Uint8Array;
  /** Everything behind the coinbase, as it travels. */
  readonly rest: Uint8Array;
}

const HASH_BYTES = 32;
const PARENT_HEADER_BYTES = 80;

/** @throws VerifyError */
export function readMergeMining(reader: ByteReader): MergeMining {
  const coinbase = readTransaction(reader);
  const restStart = reader.offset;
  const fields = {
    coinbaseBlockHash: reader.take(HASH_BYTES, "the coinbase's block hash"),
    coinbaseBranch: readBranch(reader, 'hashes of the coinbase branch'),
    coinbaseIndex: reader.i32('the index of the coinbase'),
    chainBranch: readBranch(reader, 'hashes of the chain branch'),
    chainIndex: reader.i32('the index of the chain'),
    parentHeader: reader.take(PARENT_HEADER_BYTES, 'the parent header'),
  };
  return { coinbase, ...fields, rest: reader.bytes.subarray(restStart, reader.offset) };
}

function readBranch(reader: ByteReader, what: string): Uint8Array[] {
  return Array.from({ length: reader.count(HASH_BYTES, what) }, () => reader.take(HASH_BYTES, what));
}
