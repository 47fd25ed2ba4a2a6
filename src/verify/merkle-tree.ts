import { doubleSha256 } from './double-sha256.ts';
import { sameBytes } from './hash-bytes.ts';

/** The tree over the transactions of a block. All hashes in the order of the wire. */
export interface MerkleTree {
  /** Leaves first; the last level is the root alone. Empty for a block without transactions. */
  readonly levels: readonly (readonly Uint8Array[])[];
  /** 32 zeros for a block without transactions, as the node has it. */
  readonly root: Uint8Array;
  /**
   * Somewhere two neighbours are equal: the same root follows from fewer transactions, and a block with some of its
   * transactions repeated passes for the real one (CVE-2012-2459; `ComputeMerkleRoot` in Bitcoin Core).
   */
  readonly repeats: boolean;
}

export function buildMerkleTree(leaves: readonly Uint8Array[]): MerkleTree {
  if (leaves.length === 0) return { levels: [], root: new Uint8Array(32), repeats: false };
  const levels: (readonly Uint8Array[])[] = [leaves];
  let repeats = false;
  let level = leaves;
  while (level.length > 1) {
    const parents: Uint8Array[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const left = at(level, index);
      const right = level[index + 1];
      if (right !== undefined && sameBytes(left, right)) repeats = true;
      parents.push(doubleSha256(left, right ?? left));
    }
    levels.push(parents);
    level = parents;
  }
  return { levels, root: at(level, 0), repeats };
}

/** Number of nodes in a level; `height` 0 is the leaves. */
export function widthAt(height: number, leaves: number): number {
  return Math.ceil(leaves / 2 ** height);
}

/** The height of the root. */
export function treeHeight(leaves: number): number {
  let height = 0;
  while (widthAt(height, leaves) > 1) height += 1;
  return height;
}

function at(level: readonly Uint8Array[], index: number): Uint8Array {
  const node = level[index];
  if (node === undefined) throw new RangeError(`A level of ${level.length} nodes has no node ${index}.`);
  return node;
}
