import { doubleSha256, type Sha256, sameBytes } from './sha256.ts';

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

export function buildMerkleTree(leaves: readonly Uint8Array[], sha256: Sha256): MerkleTree {
  if (leaves.length === 0) return { levels: [], root: new Uint8Array(32), repeats: false };
  const levels: (readonly Uint8Array[])[] = [leaves];
  const join = joiner(sha256);
  let repeats = false;
  let level = leaves;
  while (level.length > 1) {
    const parents: Uint8Array[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const left = at(level, index);
      const right = level[index + 1];
      if (right !== undefined && sameBytes(left, right)) repeats = true;
      parents.push(join(left, right ?? left));
    }
    levels.push(parents);
    level = parents;
  }
  return { levels, root: at(level, 0), repeats };
}

/** Makes the parent of two nodes. One buffer serves all. */
export function joiner(sha256: Sha256): (left: Uint8Array, right: Uint8Array) => Uint8Array {
  const pair = new Uint8Array(64);
  return (left, right) => {
    pair.set(left, 0);
    pair.set(right, 32);
    return doubleSha256(pair, sha256);
  };
}

/** How many nodes a level has: `height` 0 is that of the leaves. */
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
