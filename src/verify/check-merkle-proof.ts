import { parseTxId, type TxId } from '../core/blob/ids.ts';
import { type BlockHeader, HEADER_BYTES, isMergeMined, readFullHeader, readHeader } from './block-header.ts';
import { ByteReader } from './byte-reader.ts';
import { doubleSha256 } from './double-sha256.ts';
import { VerifyError } from './errors.ts';
import { sameBytes, toDisplayHex } from './hash-bytes.ts';
import { treeHeight, widthAt } from './merkle-tree.ts';

/**
 * The most transactions of a block, 4,000,000 weight units of at least 4 × 60 each: the node refuses proofs that claim
 * more (`CPartialMerkleTree::ExtractMatches`).
 */
export const MAX_BLOCK_TRANSACTIONS = Math.floor(4_000_000 / 240);

/** A proof that holds: these transactions are under this header's Merkle root. Whether the header is on chain is open. */
export interface CheckedMerkleProof {
  readonly header: BlockHeader;
  /**
   * Number of transactions as the proof claims it: the root commits to the depth, but not to the leaves beyond the
   * proven ones.
   */
  readonly transactionCount: number;
  /**
   * Proven transactions in block order; at least one. The author of a proof can also mark a neighbour that it contains.
   */
  readonly proven: readonly { readonly txid: TxId; readonly transactionIndex: number }[];
}

/**
 * Checks the bytes of `gettxoutproof` as strictly as the node's `verifytxoutproof`, and in two more points: padding
 * bits must be zero, and nothing may follow. Memory use is bounded by the given bytes.
 * A known limit of the format: a transaction whose stripped form is 64 bytes can be shown as an inner node of a deeper
 * tree (CVE-2017-12842). Making one for a given lie takes brute force over 60 to 70 bits, by its discoverer's estimate.
 * Nodes do not relay transactions of that size.
 * @throws VerifyError
 */
export function checkMerkleProof(bytes: Uint8Array): CheckedMerkleProof {
  const reader = new ByteReader(bytes);
  const { header, start } = headerOf(bytes);
  reader.skip(start, 'the header');
  const transactionCount = reader.u32('the number of transactions');
  const hashCount = reader.count(32, 'hashes of the proof');
  const hashes = Array.from({ length: hashCount }, () => reader.take(32, 'a hash of the proof'));
  const flags = reader.prefixed('flags of the proof');
  reader.end('the Merkle proof');
  if (transactionCount === 0) throw refused('It is of a block without transactions.', header);
  if (transactionCount > MAX_BLOCK_TRANSACTIONS)
    throw refused(`No block has ${transactionCount} transactions.`, header);
  if (hashCount > transactionCount) throw refused('It has more hashes than the block has transactions.', header);
  const walk = new Walk(hashes, flags, transactionCount, header);
  const root = walk.visit(treeHeight(transactionCount), 0);
  walk.end();
  if (!sameBytes(root, header.merkleRoot)) {
    throw refused(`It leads to ${toDisplayHex(root)}, the header has ${toDisplayHex(header.merkleRoot)}.`, header);
  }
  if (walk.proven.length === 0) throw refused('It names no transaction.', header);
  return { header, transactionCount, proven: walk.proven };
}

/** The depth-first walk that the proof was written by (BIP 37, "Parsing a partial merkle tree object"). */
class Walk {
  readonly proven: { txid: TxId; transactionIndex: number }[] = [];
  readonly #hashes: readonly Uint8Array[];
  readonly #flags: Uint8Array;
  readonly #leaves: number;
  readonly #header: BlockHeader;
  #hash = 0;
  #bit = 0;

  constructor(hashes: readonly Uint8Array[], flags: Uint8Array, leaves: number, header: BlockHeader) {
    this.#hashes = hashes;
    this.#flags = flags;
    this.#leaves = leaves;
    this.#header = header;
  }

  /** At most 15 deep: that is the height of the largest tree. */
  visit(height: number, index: number): Uint8Array {
    const marked = this.#nextBit();
    if (height === 0 || !marked) {
      const hash = this.#hashes[this.#hash];
      if (hash === undefined) throw refused('It has too few hashes.', this.#header);
      this.#hash += 1;
      if (marked) this.proven.push({ txid: parseTxId(toDisplayHex(hash)), transactionIndex: index });
      return hash;
    }
    const left = this.visit(height - 1, 2 * index);
    if (2 * index + 1 >= widthAt(height - 1, this.#leaves)) return doubleSha256(left, left);
    const right = this.visit(height - 1, 2 * index + 1);
    // Equal neighbours: the same root stands for fewer transactions (CVE-2012-2459).
    if (sameBytes(left, right)) throw refused('Two neighbours in its tree are equal.', this.#header);
    return doubleSha256(left, right);
  }

  end(): void {
    if (this.#hash !== this.#hashes.length) throw refused('It has hashes that nothing asks for.', this.#header);
    if (Math.ceil(this.#bit / 8) !== this.#flags.length) throw refused('It has too many flags.', this.#header);
    const padding = (this.#flags.at(-1) ?? 0) >> (((this.#bit - 1) & 7) + 1);
    if (padding !== 0) throw refused('Its padding bits are not zero.', this.#header);
  }

  #nextBit(): boolean {
    const byte = this.#flags[this.#bit >> 3];
    if (byte === undefined) throw refused('It has too few flags.', this.#header);
    const bit = (byte >> (this.#bit & 7)) & 1;
    this.#bit += 1;
    return bit === 1;
  }
}

/**
 * Reads the header and finds the start of the tree. A release that omits the merge-mining data of a merge-mined header
 * must not be refused: where that data does not parse, the tree starts right after the header.
 */
function headerOf(bytes: Uint8Array): { header: BlockHeader; start: number } {
  const header = readHeader(new ByteReader(bytes));
  if (!isMergeMined(header)) return { header, start: HEADER_BYTES };
  try {
    return { header, start: readFullHeader(new ByteReader(bytes)).raw.length };
  } catch (error) {
    if (!(error instanceof VerifyError)) throw error;
    return { header, start: HEADER_BYTES };
  }
}

function refused(why: string, header: BlockHeader): VerifyError {
  return new VerifyError('verify/merkle-proof', `The Merkle proof is refused: ${why}`, {
    details: { blockHash: header.hash },
  });
}
