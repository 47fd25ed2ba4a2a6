import type { TxId } from '../core/blob/ids.ts';
import type { Block } from './block.ts';
import type { FullHeader } from './block-header.ts';
import { ByteWriter } from './byte-writer.ts';
import { VerifyError } from './errors.ts';
import type { MerkleTree } from './merkle-tree.ts';

/**
 * Builds the bytes of `gettxoutproof` for these transactions of this block: header, number of transactions, hashes and
 * flags of the partial tree (BIP 37; `CMerkleBlock` and `CPartialMerkleTree` in Bitcoin Core).
 * @throws VerifyError `verify/not-in-block`, and the errors of `block.merkleTree()`
 */
export function buildMerkleProof(block: Block, txids: readonly TxId[]): Uint8Array {
  const tree = block.merkleTree();
  const wanted = new Set(txids);
  const chosen = block.transactions.map(({ txid }) => wanted.has(txid));
  if (wanted.size === 0 || chosen.filter(Boolean).length !== wanted.size) {
    const missing = txids.filter((txid) => !block.transactions.some((transaction) => transaction.txid === txid));
    throw new VerifyError(
      'verify/not-in-block',
      `Block ${block.header.hash} has no transaction ${missing[0] ?? '(none was named)'}.`,
      { details: { blockHash: block.header.hash, missing } },
    );
  }
  const { hashes, flags } = partialTree(tree, chosen);
  const writer = new ByteWriter().bytes(headerInProof(block.fullHeader)).u32(chosen.length).compactSize(hashes.length);
  for (const hash of hashes) writer.bytes(hash);
  return writer.compactSize(flags.length).bytes(flags).finish();
}

/**
 * The node writes its proofs without witnesses (`SERIALIZE_TRANSACTION_NO_WITNESS` in `gettxoutproof`), and the parent's
 * coinbase in the merge-mining data is a transaction like any other.
 */
function headerInProof({ header, mergeMining, raw }: FullHeader): Uint8Array {
  if (mergeMining === null) return raw;
  return new ByteWriter().bytes(header.raw).bytes(mergeMining.coinbase.stripped).bytes(mergeMining.rest).finish();
}

function partialTree({ levels }: MerkleTree, chosen: readonly boolean[]): { hashes: Uint8Array[]; flags: Uint8Array } {
  const marks: (readonly boolean[])[] = [chosen];
  for (const level of levels.slice(1)) {
    const below = marks.at(-1) ?? [];
    marks.push(level.map((_, index) => below[2 * index] === true || below[2 * index + 1] === true));
  }
  const hashes: Uint8Array[] = [];
  const bits: boolean[] = [];
  const visit = (height: number, index: number): void => {
    const node = levels[height]?.[index];
    // An odd level has no right neighbour.
    if (node === undefined) return;
    const marked = marks[height]?.[index] === true;
    bits.push(marked);
    if (height === 0 || !marked) {
      hashes.push(node);
      return;
    }
    visit(height - 1, 2 * index);
    visit(height - 1, 2 * index + 1);
  };
  visit(levels.length - 1, 0);
  return { hashes, flags: packBits(bits) };
}

/** Eight to a byte, lowest first. */
function packBits(bits: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  for (const [index, bit] of bits.entries()) {
    if (bit) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return bytes;
}
