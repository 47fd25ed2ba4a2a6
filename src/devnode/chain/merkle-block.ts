import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { doubleSha256, fromRpcHex, toRpcHex } from './double-sha256.ts';
import { merkleLevels } from './merkle-tree.ts';

const HEADER_BYTES = 80;

/** Encodes a header and the part of its Merkle tree that leads to the chosen transactions (BIP 37 `merkleblock`). */
export function encodeMerkleBlock(header: Buffer, txids: readonly string[], chosen: ReadonlySet<string>): Buffer {
  const levels = merkleLevels(txids.map(fromRpcHex));
  const marks: boolean[][] = [txids.map((txid) => chosen.has(txid))];
  for (let height = 1; height < levels.length; height++) {
    const below = marks[height - 1] ?? [];
    marks.push((levels[height] ?? []).map((_, index) => Boolean(below[2 * index]) || Boolean(below[2 * index + 1])));
  }
  const bits: boolean[] = [];
  const hashes: Buffer[] = [];
  const visit = (height: number, index: number): void => {
    const node = levels[height]?.[index];
    if (node === undefined) return;
    const marked = marks[height]?.[index] ?? false;
    bits.push(marked);
    if (height === 0 || !marked) {
      hashes.push(node);
      return;
    }
    visit(height - 1, 2 * index);
    visit(height - 1, 2 * index + 1);
  };
  visit(levels.length - 1, 0);
  const flags = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [index, bit] of bits.entries()) {
    if (bit) flags[index >> 3] = (flags[index >> 3] ?? 0) | (1 << (index & 7));
  }
  const writer = new ByteWriter().bytes(header).u32(txids.length).compactSize(hashes.length);
  for (const hash of hashes) writer.bytes(hash);
  return writer.prefixed(flags).finish();
}

/**
 * Decodes a tx-out proof to the header's hash and the transactions. null: the branch does not lead to the header's
 * root.
 */
export function decodeMerkleBlock(bytes: Buffer): { blockHash: string; txids: string[] } | null {
  const reader = new ByteReader(bytes);
  const header = reader.bytes(HEADER_BYTES);
  const total = reader.u32();
  const hashes: Buffer[] = [];
  for (let left = reader.compactSize(); left > 0; left--) hashes.push(reader.bytes(32));
  const flags = reader.bytes(reader.compactSize());
  const txids: string[] = [];
  let bit = 0;
  let used = 0;
  const walk = (height: number, index: number): Buffer => {
    const flag = ((flags[bit >> 3] ?? 0) >> (bit & 7)) & 1;
    bit += 1;
    if (height === 0 || flag === 0) {
      const hash = hashes[used];
      used += 1;
      if (hash === undefined) throw new RangeError('The proof has too few hashes.');
      if (height === 0 && flag === 1) txids.push(toRpcHex(hash));
      return hash;
    }
    const left = walk(height - 1, 2 * index);
    const hasRight = 2 * index + 1 < Math.ceil(total / 2 ** (height - 1));
    return doubleSha256(Buffer.concat([left, hasRight ? walk(height - 1, 2 * index + 1) : left]));
  };
  const top = Math.ceil(Math.log2(Math.max(1, total)));
  const root = walk(top, 0);
  if (total === 0 || used !== hashes.length || !root.equals(header.subarray(36, 68))) return null;
  return { blockHash: toRpcHex(doubleSha256(header)), txids };
}
