import { doubleSha256 } from './double-sha256.ts';

/** The next level up. Pairs are hashed together; an odd last node is hashed with itself. */
export function parentLevel(level: readonly Buffer[]): Buffer[] {
  const parents: Buffer[] = [];
  for (let index = 0; index < level.length; index += 2) {
    const left = level[index];
    if (left === undefined) break;
    parents.push(doubleSha256(Buffer.concat([left, level[index + 1] ?? left])));
  }
  return parents;
}

/** All levels of the tree, from the leaves to the root. */
export function merkleLevels(leaves: readonly Buffer[]): Buffer[][] {
  const levels: Buffer[][] = [[...leaves]];
  for (let level = [...leaves]; level.length > 1; ) {
    level = parentLevel(level);
    levels.push(level);
  }
  return levels;
}

export function merkleRoot(leaves: readonly Buffer[]): Buffer {
  return merkleLevels(leaves).at(-1)?.[0] ?? Buffer.alloc(32);
}
