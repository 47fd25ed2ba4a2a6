import { type FullHeader, hasExecutionData, readFullHeader } from './block-header.ts';
import { ByteReader } from './byte-reader.ts';
import { VerifyError } from './errors.ts';
import { sameBytes, toDisplayHex } from './hash-bytes.ts';
import { bytesOfHex } from './hex-field.ts';
import { buildMerkleTree, type MerkleTree } from './merkle-tree.ts';
import { readTransaction, type Transaction } from './transaction.ts';

/** Version, no inputs, no outputs, lock time. */
const MIN_TRANSACTION_BYTES = 10;

/** A block as `getblock` with verbosity 0 gives it. Nothing in it is checked against the header before `merkleTree`. */
export class Block {
  readonly fullHeader: FullHeader;
  readonly transactions: readonly Transaction[];
  /** null: none. Behind the transactions, covered by neither header hash nor Merkle root; kept unread. */
  readonly executionData: Uint8Array | null;
  #tree: MerkleTree | undefined;

  constructor(fullHeader: FullHeader, transactions: readonly Transaction[], executionData: Uint8Array | null) {
    this.fullHeader = fullHeader;
    this.transactions = transactions;
    this.executionData = executionData;
  }

  get header() {
    return this.fullHeader.header;
  }

  /**
   * The tree over all transactions, proven to be the one that the header commits to. Hashes everything once.
   * @throws VerifyError `verify/merkle-root`, `verify/duplicate-transactions`
   */
  merkleTree(): MerkleTree {
    this.#tree ??= this.#checkedTree();
    return this.#tree;
  }

  #checkedTree(): MerkleTree {
    const leaves = this.transactions.map(({ hash }) => hash);
    const tree = buildMerkleTree(leaves);
    const { hash, merkleRoot } = this.header;
    const details = { blockHash: hash, transactions: leaves.length };
    // Every block has a coinbase; without one, a root of zeros in a forged header would pass.
    if (leaves.length === 0) throw new VerifyError('verify/merkle-root', `Block ${hash} is empty.`, { details });
    // The same transaction at both ends of a pair is seen in the tree; anywhere else only by its name.
    if (tree.repeats || new Set(this.transactions.map(({ txid }) => txid)).size < leaves.length) {
      throw new VerifyError('verify/duplicate-transactions', `Block ${hash} has transactions twice.`, { details });
    }
    if (!sameBytes(tree.root, merkleRoot)) {
      const message = `The transactions of block ${hash} hash to ${toDisplayHex(tree.root)}, its header says ${toDisplayHex(merkleRoot)}.`;
      throw new VerifyError('verify/merkle-root', message, { details });
    }
    return tree;
  }
}

/** @throws VerifyError */
export function parseBlockHex(hex: string): Block {
  return parseBlock(bytesOfHex(hex, 'A block'));
}

/**
 * Header, merge-mining data where the version says so (bit 0x100), transactions, and where the version says so
 * (bit 0x80) a vector of execution-layer data: `CBlock` in the node's `primitives/block.h`. The block keeps `bytes`.
 * @throws VerifyError
 */
export function parseBlock(bytes: Uint8Array): Block {
  const reader = new ByteReader(bytes);
  const fullHeader = readFullHeader(reader);
  const count = reader.count(MIN_TRANSACTION_BYTES, 'transactions');
  const transactions = Array.from({ length: count }, () => readTransaction(reader));
  const executionData = hasExecutionData(fullHeader.header) ? readExecutionData(reader) : null;
  reader.end('the block');
  return new Block(fullHeader, transactions, executionData);
}

/** Other chains may use that version bit for something else, and then nothing follows. */
function readExecutionData(reader: ByteReader): Uint8Array | null {
  return reader.remaining === 0 ? null : reader.prefixed('the execution-layer data');
}
